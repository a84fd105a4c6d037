import { Models } from '#core/models/contract'
import { errorMessage, type PluginHandle } from '#kernel'
import type { Plan } from './bench.ts'
import type { Forecast, Scenario } from './contract.ts'

/**
 * Typical tokens of a run, over all its prompts and answers. Work goals take more, since the conversation is sent again
 * in each turn.
 */
const TOKENS = { models: { input: 8_000, output: 600 }, work: { input: 50_000, output: 2_000 } }

/** Returns the planned runs for each model, and their cost at catalogue prices. */
export async function forecast(
  svc: PluginHandle,
  models: readonly string[],
  { scenarios, runs }: Pick<Plan, 'scenarios' | 'runs'>,
): Promise<Forecast[]> {
  const sum = (of: 'input' | 'output') => runs * scenarios.reduce((all, each) => all + TOKENS[kindOf(each)][of], 0)
  const [input, output] = [sum('input'), sum('output')]
  return Promise.all(
    models.map(async modelName => {
      const all = { asked: modelName, runs: runs * scenarios.length, tokens: input + output }
      // A model that cannot be called is part of the report.
      const facts = await svc.use(Models).describe(modelName).catch(errorMessage)
      if (typeof facts === 'string') return { ...all, cost_usd: null, problem: facts }
      const { price } = facts
      if (price === 'unknown') return { ...all, cost_usd: null }
      return { ...all, cost_usd: price === 'free' ? 0 : (input * price.input + output * price.output) / 1e6 }
    }),
  )
}

function kindOf({ category }: Scenario): keyof typeof TOKENS {
  return category === 'models' ? 'models' : 'work'
}
