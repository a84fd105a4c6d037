import { operation, z } from '#kernel'
import { formatCount } from '#lib/format-count'
import { Store } from '#platform/store/contract'
import { LearnedModel } from './contract.ts'
import { OwnLearned } from './learned-models.ts'
import { forgetLearned, listLearned } from './repository.ts'

/** Removes what was learned about a model from refusals. */
export const modelsForget = operation({
  name: 'models.forget',
  summary: 'Remove what was learned about a model from refusals',
  description:
    "The model's context window, parameters and abilities are learned anew; other processes follow within ten seconds. Changing the configuration of the model has the same effect.",
  input: z.strictObject({
    model: z
      .string()
      .min(1)
      .max(200)
      .describe('Model as provider:model, as listed by svc models')
      .meta({ examples: ['openai:gpt-5.4-mini'] }),
  }),
  output: z.array(LearnedModel).describe('Removed facts about the model'),
  http: { method: 'POST', path: '/models/forget' },
  cli: { usage: 'models forget <model>' },
  mcp: true,
  render: forgotten =>
    forgotten.map(learnedLine).join('\n') ||
    'Nothing was learned about this model. List what was learned with: svc models',
  async run({ model }, { svc }) {
    const store = svc.use(Store)
    const forgotten = (await listLearned(store)).filter(each => each.model === model)
    if (forgotten.length > 0) await store.apply([forgetLearned({ model })])
    svc.use(OwnLearned).invalidate()
    return forgotten
  },
})

const LACKS = {
  tools: 'its server does not support tools',
  schemas: 'its server does not support answer schemas',
  vision: 'it does not accept images',
} as const

/** Renders what was learned about a model as one line. */
export function learnedLine({ model, endpoint, context_window, omitted, lacks, learned_at }: LearnedModel): string {
  const facts = [
    ...(context_window === null ? [] : [`a context window of ${formatCount(context_window)} tokens`]),
    ...omitted.map(key => `it does not accept ${key}`),
    ...lacks.map(ability => LACKS[ability]),
  ]
  return `${model}${endpoint ? ` at ${endpoint}` : ''}, ${learned_at.slice(0, 10)}: ${facts.join('; ')}`
}
