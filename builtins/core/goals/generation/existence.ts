import { imagesOf } from '#core/images/contract'
import { Models } from '#core/models/contract'
import { outlineOf, Profiles } from '#core/profiles/contract'
import { type PluginHandle, z } from '#kernel'
import { generationMessage, selfPrompt } from '../context/prompt.ts'
import type { GeneratedGoal, GoalContext, GoalStrategy } from '../contract.ts'

/** A null goal means that there is nothing to do. */
const Answer = z.object({ goal: z.string().nullable(), reasoning: z.string().nullish() })

/** Why an agent without goals of its own has nothing to do. */
const WAITS = 'Its profile sets own_goals to false, so it waits for a goal or a message.'

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
          { role: 'system', content: selfPrompt(profile, skills) },
          { role: 'user', content: generationMessage(context), ...imagesOf(context.images) },
        ],
        tools: [],
        temperature: profile.temperature,
        max_tokens: profile.max_tokens,
        parameters: profile.parameters,
        purpose: { agent_id, goal_id: null, cycle_num, kind: 'goal_generation', root_agent_id, max_total_cost_usd },
        signal,
      })
      const found = readGoal(answer.text)
      const { cost_micros, input_tokens, output_tokens } = answer.spend
      return {
        objective: found?.goal ?? null,
        reasoning: found ? (found.reasoning ?? '') : 'Its model did not answer in the requested format.',
        is_unreadable: found === undefined,
        cost_usd: cost_micros / 1e6,
        tokens: input_tokens + output_tokens,
        spend: answer.spend,
      }
    },
  }
}

/**
 * Maximum number of searched characters and of tried opening braces: enough for any valid answer, and a bound for the
 * work on others.
 */
const SEARCHED = 20_000
const TRIED = 20

/** Returns the JSON object in an answer, also between code fences, thoughts or prose. */
function readGoal(text: string): z.infer<typeof Answer> | undefined {
  const plain = text.slice(-SEARCHED).replace(/<think>[\s\S]*?<\/think>/g, '')
  let from = plain.indexOf('{')
  for (let tries = 0; from >= 0 && tries < TRIED; tries++, from = plain.indexOf('{', from + 1)) {
    const to = closingBrace(plain, from)
    if (to < 0) continue
    try {
      const parsed = Answer.safeParse(JSON.parse(plain.slice(from, to + 1)))
      if (parsed.success) return parsed.data
    } catch {
      // The braces enclose something else; try the next ones.
    }
  }
  return undefined
}

function closingBrace(text: string, from: number): number {
  let depth = 0
  let quoted = false
  for (let at = from; at < text.length; at++) {
    const letter = text[at]
    if (letter === '\\') at++
    else if (letter === '"') quoted = !quoted
    else if (!quoted && letter === '{') depth++
    else if (!quoted && letter === '}' && --depth === 0) return at
  }
  return -1
}
