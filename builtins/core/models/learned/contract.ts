import { z } from '#kernel'

/** Facts about a model at one address, learned from refusals. */
export const LearnedFacts = z.object({
  context_window: z
    .int()
    .nullable()
    .describe('Maximum number of input and output tokens together; null if nothing was learned'),
  reported_window: z
    .int()
    .nullable()
    .default(null)
    .describe('Context window that the server reported when another one was learned; null if it reported none'),
  omitted: z.array(z.string()).describe('Keys that the model does not accept in requests, which are left out'),
  lacks: z
    .array(z.enum(['tools', 'schemas', 'vision']))
    .describe('Abilities that the model lacks; requests work around them'),
})
export type LearnedFacts = z.infer<typeof LearnedFacts>

/** Learned facts as shown to operators. */
export const LearnedModel = LearnedFacts.omit({ reported_window: true }).extend({
  model: z.string().describe('`provider:model`'),
  endpoint: z.string().describe('Address of the server; empty if there is none'),
  learned_at: z.iso.datetime().describe('Time at which the latest of these facts was learned'),
})
export type LearnedModel = z.infer<typeof LearnedModel>

/** A model of which nothing was learned. */
export const NOTHING_LEARNED: LearnedFacts = { context_window: null, reported_window: null, omitted: [], lacks: [] }
