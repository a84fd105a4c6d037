import type { AgentRow } from '#core/agents/contract'
import type { ToolSpec } from '#core/models/contract'
import type { Profile } from '#core/profiles/contract'
import { Runtime } from '#core/runtime/contract'
import { type PluginHandle, parse, z } from '#kernel'
import { type GoalContext, GoalContextParts, type GoalRow, type PromptSection, PromptSections } from '../contract.ts'

const SectionText = z.string().optional()

/** Returns the sections that modules contribute to one kind of prompt: by stage, without empty ones. */
export async function sectionsFor(
  svc: PluginHandle,
  prompt: PromptSection['prompts'][number],
  agent: AgentRow,
  profile: Profile,
  known: Partial<GoalContext> = {},
  goal?: GoalRow,
): Promise<GoalContext['sections']> {
  const isShown = ({ value: { prompts, inner } }: { value: PromptSection }) =>
    prompts.includes(prompt) && (prompt === 'goal_generation' || !inner || profile.inner_life.includes(inner))
  const shown = svc.contributions(PromptSections).filter(isShown)
  const sections = await Promise.all(
    shown.map(async ({ owner, value: { name, stage, text } }) => {
      const returned = await text(agent, profile, known, goal)
      return {
        name,
        stage,
        text: parse(SectionText, returned, `The text of the prompt section "${name}" of ${owner}`)?.trim() ?? '',
      }
    }),
  )
  return sections
    .filter(({ text }) => text !== '')
    .sort((a, b) => a.stage - b.stage)
    .map(({ name, text }) => ({ name, text }))
}

/** Returns the fields that modules contribute to the context of goal strategies. */
export async function contextPartsFor(
  svc: PluginHandle,
  agent: AgentRow,
  profile: Profile,
): Promise<Partial<GoalContext>> {
  return Object.assign({}, ...(await Promise.all(svc.list(GoalContextParts).map(each => each.part(agent, profile)))))
}

/** Results of `toolsDescription`, by the list of tools. */
const descriptions = new WeakMap<readonly ToolSpec[], string>()

/** Lists a profile's tools, one line each, for goal generation. Pursuit shows how to use them. */
export function toolsDescription(svc: PluginHandle, profile: Profile): string {
  const { specs } = svc.use(Runtime).toolsFor(profile)
  let text = descriptions.get(specs)
  if (text === undefined) {
    text = specs.map(({ name, description }) => `- ${name}: ${firstSentence(description)}`).join('\n')
    descriptions.set(specs, text)
  }
  return text
}

/** Returns the first sentence of a tool's description, which is enough for choosing a goal. */
function firstSentence(text: string): string {
  return /^.*?[.!?](?=\s|$)/s.exec(text)?.[0] ?? text
}
