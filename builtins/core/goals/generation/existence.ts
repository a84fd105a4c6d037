import { imagesOf } from '#core/images/contract'
import { lineOf } from '#core/memory/contract'
import { type ModelAnswer, Models, nearJsonAt } from '#core/models/contract'
import { constantPrompt, outlineOf, Profiles } from '#core/profiles/contract'
import { type PluginHandle, z } from '#kernel'
import { generationMessage } from '../context/prompt.ts'
import type { GeneratedGoal, GoalContext, GoalStrategy } from '../contract.ts'

/** A null goal means that there is nothing to do. */
const Answer = z.object({ goal: z.string().nullable(), reasoning: z.string().nullish() })

/** Why an agent without goals of its own has nothing to do. */
const WAITS = 'Its profile sets own_goals to false, so it waits for a goal or a message.'

/** Beginning of the reason of an answer that has no goal. */
export const UNREADABLE = 'Its model was asked for a goal and did not answer with the JSON object that was requested'
/** Maximum length of such an answer in that reason, in characters. */
const QUOTED = 160

export const EXISTENCE_LOOP = 'existence-loop'

/** The built-in strategy, called last: asks the agent's own model what is worth doing, if anything. */
export function existenceLoop(svc: PluginHandle): GoalStrategy {
  return {
    name: EXISTENCE_LOOP,
    stage: 1000,
    async generateGoal(context: GoalContext): Promise<GeneratedGoal> {
      const { profile, agent_id, root_agent_id, cycle_num, signal, nudges, news } = context
      if (!profile.own_goals && nudges.length + news.length === 0)
        return { objective: null, reasoning: WAITS, cost_usd: 0, tokens: 0 }
      const { max_total_cost_usd } = profile
      const skills = outlineOf(await svc.use(Profiles).skills(profile))
      const answer = await svc.use(Models).call({
        model: context.model,
        fallback: profile.fallback,
        messages: [
          { role: 'system', content: constantPrompt(profile, skills) },
          { role: 'user', content: generationMessage(context), ...imagesOf(context.images) },
        ],
        tools: [],
        temperature: profile.temperature,
        max_tokens: profile.max_tokens,
        parameters: profile.parameters,
        purpose: { agent_id, goal_id: null, cycle_num, kind: 'goal_generation', root_agent_id, max_total_cost_usd },
        signal,
      })
      const found = readGoal(answer)
      const { cost_micros, input_tokens, output_tokens } = answer.spend
      return {
        objective: found?.goal ?? null,
        reasoning: found ? (found.reasoning ?? '') : `${UNREADABLE}: ${quoteAnswer(answer)}.`,
        is_unreadable: found === undefined,
        cost_usd: cost_micros / 1e6,
        tokens: input_tokens + output_tokens,
        spend: answer.spend,
      }
    },
  }
}

function quoteAnswer({ text, reasoning, finish_reason }: ModelAnswer): string {
  const cut = finish_reason === 'length' ? ', and was cut at max_tokens' : ''
  if (text.trim() !== '') return `it wrote "${lineOf(text, QUOTED)}"${cut}`
  return reasoning ? `it only thought "${lineOf(reasoning, QUOTED)}"${cut}` : `it wrote nothing${cut}`
}

/** Limits of searched characters, and of opening braces tried at the beginning and at the end, which bound the work. */
const SEARCHED = 20_000
const TRIED = 20

/**
 * Returns the JSON object in an answer, also between code fences, thoughts or prose, and with small mistakes. A model
 * that never ends its thoughts may have it at their end.
 */
function readGoal({ text, reasoning = '' }: ModelAnswer): z.infer<typeof Answer> | undefined {
  const plain = text.slice(-SEARCHED).replace(/<think>[\s\S]*?<\/think>/g, '')
  const objects = plain.trim() === '' ? objectsIn(reasoning.slice(-SEARCHED)).reverse() : objectsIn(plain)
  for (const at of objects) {
    const parsed = Answer.safeParse(at())
    if (parsed.success) return parsed.data
  }
  return undefined
}

/** Returns a function for each place where an object may begin, which reads it. */
function objectsIn(text: string): (() => unknown)[] {
  const places = [...text.matchAll(/\{/g)].map(({ index }) => index)
  return [...places.slice(0, TRIED), ...places.slice(TRIED).slice(-TRIED)].map(at => () => nearJsonAt(text, at))
}
