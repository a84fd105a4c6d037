import { z } from '#kernel'

/** Facts about a model at one address, learned from refusals. */
export const LearnedFacts = z.object({
  context_window: z
    .number()
    .int()
    .nullable()
    .describe('Tokens of input and output together; null: nothing was learned'),
  omitted: z.array(z.string()).describe('Keys of requests that it does not take: they are left out'),
  lacks: z.array(z.enum(['tools', 'schemas', 'vision'])).describe('What it cannot do: it is asked in another way'),
})
export type LearnedFacts = z.infer<typeof LearnedFacts>

/** Learned facts as shown to operators. */
export const LearnedModel = LearnedFacts.extend({
  model: z.string().describe('`provider:model`'),
  endpoint: z.string().describe('Address of its server; empty where it has none'),
  learned_at: z.iso.datetime().describe('When the last of it was learned'),
})
export type LearnedModel = z.infer<typeof LearnedModel>

/** A model of which nothing was learned. */
export const NOTHING_LEARNED: LearnedFacts = { context_window: null, omitted: [], lacks: [] }
