import { z } from '#kernel'

/** How a request was made smaller: the way that leaves out most comes first. */
export const Shortening = z.enum(['summary', 'digest', 'cleared', 'cut'])
export type Shortening = z.infer<typeof Shortening>

const Sections = z.object({
  system: z.number().int(),
  tools: z.number().int(),
  messages: z.number().int(),
  answer: z.number().int().describe('Kept free for the answer, with the thinking before it'),
})
/** Tokens of a request by section, as estimated. */
export type ContextSections = z.infer<typeof Sections>

const window = z.number().int().describe("The model's context window, in tokens")
const ratio = z.number().describe('Tokens that the provider counted for each token of the estimate')

/** What one request held, in tokens as estimated. */
export const ContextUse = Sections.extend({
  window,
  ratio: ratio.optional(),
  room_made: Shortening.optional().describe('How room was made for this request; absent when none was'),
}).describe('What the request held by section, in tokens, against the context window of its model')
export type ContextUse = z.infer<typeof ContextUse>

/** What is left out of a request, and what stands for it. */
const LeftOut = {
  cleared: z.number().int().describe('Old tool results and long arguments that became one line'),
  summarized: z.number().int().describe('Messages that a summary by a model stands for'),
  digested: z.number().int().describe('Messages that a digest made by rule stands for'),
  cut: z.number().int().describe('Messages of which the middle was cut out'),
}

/** How much of its model's context window a request takes, in tokens as estimated. */
export const ContextReport = z
  .object({
    model: z.string(),
    window,
    sections: Sections,
    total: z.number().int().describe('Tokens of all sections'),
    ratio,
    ...LeftOut,
  })
  .meta({ id: 'ContextReport' })
export type ContextReport = z.infer<typeof ContextReport>

/** What marks a message as the summary of what was said before it. */
export const SummaryMark = z.object({
  keeps: z.number().int().min(0).describe('The last messages before it that it does not stand for'),
  model: z.string().describe('`provider:model` that wrote it'),
  orders: z.array(z.string()).describe('Messages of users that are kept word for word, oldest first'),
  older_orders: z.number().int().describe('Older ones, which the summary names only'),
})
export type SummaryMark = z.infer<typeof SummaryMark>

/** What a summary has to keep to; all but `keeps` in tokens. */
export interface SummaryDue {
  /** Who writes it: as people write it, or null for the model of the call. */
  model: string | null
  /** The newest messages, which stay as they are. */
  keeps: number
  /** The summary takes at most this. */
  limit: number
  /** The messages of users that are kept word for word take at most this. */
  orders_limit: number
  /** The conversation that its writer is given takes at most this. */
  source_limit: number
}

const ContextFacts = {
  agent_id: z.string().nullable(),
  goal_id: z.string().nullable(),
  model: z.string(),
  window,
  tokens: z.number().int().describe('Tokens of the request and its answer, as estimated'),
}

export const ContextCompacted = z
  .object({
    ...ContextFacts,
    how: Shortening,
    summary_model: z.string().nullable().describe('`provider:model` that wrote the summary; null without one'),
    ...LeftOut,
  })
  .describe("A conversation was shortened to fit its model's context window")

export const ContextRefused = z
  .object({
    ...ContextFacts,
    reason: z.string(),
    given_up: z.boolean().describe('Whether even the smallest request was refused'),
  })
  .describe('A provider refused a request because it is larger than the context window')
