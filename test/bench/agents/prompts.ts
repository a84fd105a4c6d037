import { generationParts } from '#core/goals/context/prompt'
import type { GoalContext } from '#core/goals/contract'
import { constantPrompt, outlineOf, Profiles } from '#core/profiles/contract'
import { definePlugin } from '#kernel'
import { textTokens } from '#lib/text-tokens'
import { BUILTINS } from '../../../builtins/index.ts'
import { waitUntilIdle } from '../../support/heartbeat.ts'
import { testHost } from '../../support/index.ts'
import { type Row, row } from '../row.ts'

/** Maximum size of a prompt of goal generation for a shipped profile, in tokens. */
export const AIM = 1_500

export const SHIPPED = [
  'coder',
  'researcher',
  'philosopher',
  'writer',
  'hustler',
  'tester',
  'reviewer',
  'gambler',
  'oracle',
]

/** Returns the parts of a prompt for a goal in estimated tokens, for agents of these presets in their first cycle. */
export async function promptsOf(presets: readonly string[]): Promise<Map<string, Map<string, number>>> {
  const contexts: GoalContext[] = []
  const watching = definePlugin({
    name: 'watching',
    setup(svc) {
      svc.goalStrategy({
        name: 'watching',
        stage: 1,
        async generateGoal(context) {
          contexts.push(context)
          return { objective: null, cost_usd: 0, tokens: 0 }
        },
      })
    },
  })
  await using home = await testHost({ builtins: [...BUILTINS, watching], config: { model: { sim_delay: 0 } } })
  for (const preset of presets) await home.kernel.invoke('agents.spawn', { preset })
  await waitUntilIdle(home)
  const made = new Map<string, Map<string, number>>()
  for (const context of contexts) {
    const skills = outlineOf(await home.kernel.use(Profiles).skills(context.profile))
    const parts = [{ name: 'self', text: constantPrompt(context.profile, skills) }, ...generationParts(context)]
    made.set(context.profile.name, new Map(parts.map(({ name, text }) => [name, textTokens(text)])))
  }
  return made
}

/** Measures the size of a prompt for a goal, part by part. */
export async function prompts(): Promise<Row[]> {
  return [...(await promptsOf(SHIPPED))].map(([preset, parts]) =>
    row({
      what: `prompt of goal generation, ${preset}`,
      figure: sumOf(parts),
      unit: 'tokens',
      aim: { atMost: AIM },
      note: [...parts].flatMap(([name, tokens]) => (tokens > 0 ? [`${name} ${tokens}`] : [])).join(', '),
    }),
  )
}

export const sumOf = (parts: Map<string, number>) => [...parts.values()].reduce((sum, tokens) => sum + tokens, 0)
