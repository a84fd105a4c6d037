import type { AgentRow } from '#core/agents/contract'
import type { ToolSpec } from '#core/models/contract'
import type { Profile } from '#core/profiles/contract'
import { Runtime } from '#core/runtime/contract'
import { type PluginHandle, parse, z } from '#kernel'
import { type GoalContext, GoalContextParts, type PromptSection, PromptSections } from '../contract.ts'

const Said = z.string().optional()

/** Returns the sections of modules for one kind of prompt, in order. */
export async function sectionsFor(
  svc: PluginHandle,
  prompt: PromptSection['prompts'][number],
  agent: AgentRow,
  profile: Profile,
  known: Partial<GoalContext> = {},
): Promise<GoalContext['sections']> {
  const isShown = ({ prompts, inner }: PromptSection) =>
    prompts.includes(prompt) && (prompt === 'goal_generation' || !inner || profile.inner_life.includes(inner))
  const asked = svc.contributions(PromptSections).filter(({ value }) => isShown(value))
  const redacted = await Promise.all(
    asked.map(async ({ owner, value: { name, stage, text } }) => {
      const given = await text(agent, profile, known)
      return {
        name,
        stage,
        text: parse(Said, given, `The text of the prompt section "${name}" of ${owner}`)?.trim() ?? '',
      }
    }),
  )
  return redacted
    .filter(({ text }) => text !== '')
    .sort((a, b) => a.stage - b.stage)
    .map(({ name, text }) => ({ name, text }))
}

/** Returns the modules' parts of the context for goal strategies. */
export async function partsFor(svc: PluginHandle, agent: AgentRow, profile: Profile): Promise<Partial<GoalContext>> {
  return Object.assign({}, ...(await Promise.all(svc.list(GoalContextParts).map(each => each.part(agent, profile)))))
}

const described = new WeakMap<readonly ToolSpec[], string>()

/** Lists a profile's tools, one line each, for goal generation. Pursuit shows how to use them. */
export function toolsDescription(svc: PluginHandle, profile: Profile): string {
  const { specs } = svc.use(Runtime).toolsFor(profile)
  let text = described.get(specs)
  if (text === undefined) {
    text = specs.map(({ name, description }) => `- ${name}: ${firstSentence(description)}`).join('\n')
    described.set(specs, text)
  }
  return text
}

/** Returns the first sentence of a tool's description, which is enough for choosing a goal. */
function firstSentence(text: string): string {
  return /^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text
}
