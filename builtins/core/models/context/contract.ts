import { z } from '#kernel'

/** Ways of shortening a request, from the one that removes most to the one that removes least. */
export const Shortening = z.enum(['summary', 'digest', 'cleared', 'cut'])
export type Shortening = z.infer<typeof Shortening>

const Sections = z.object({
  system: z.int(),
  tools: z.int(),
  messages: z.int(),
  answer: z.int().describe('Tokens reserved for the answer, including its reasoning'),
})
/** Estimated tokens of a request by section. */
export type ContextSections = z.infer<typeof Sections>

const window = z.int().describe("The model's context window, in tokens")
const ratio = z.number().describe('Ratio of the tokens counted by the provider to the estimated tokens')

/** Content of one request, in estimated tokens. */
export const ContextUse = Sections.extend({
  window,
  ratio: ratio.optional(),
  room_made: Shortening.optional().describe('How this request was shortened; absent when it was not'),
}).describe('Tokens of the request by section, and the context window of its model')
export type ContextUse = z.infer<typeof ContextUse>

/** Content that was left out of a request, and what replaces it. */
const LeftOut = {
  cleared: z.int().describe('Number of old tool results and long arguments that were cut to one line'),
  summarized: z.int().describe('Number of messages replaced by a summary of a model'),
  digested: z.int().describe('Number of messages replaced by a rule-based digest'),
  cut: z.int().describe('Number of messages whose middle was cut out'),
}

/** Use of the model's context window by a request, in estimated tokens. */
export const ContextReport = z
  .object({
    model: z.string(),
    window,
    sections: Sections,
    total: z.int().describe('Tokens of all sections'),
    ratio,
    ...LeftOut,
  })
  .meta({ id: 'ContextReport' })
export type ContextReport = z.infer<typeof ContextReport>

/** Marks a message as the summary of earlier messages. */
export const SummaryMark = z.object({
  keeps: z.int().min(0).describe('Number of messages directly before the summary that it does not cover'),
  model: z.string().describe('Model that wrote the summary, as `provider:model`'),
  orders: z.array(z.string()).describe('Messages of users that are kept word for word, oldest first'),
  older_orders: z.int().describe('Number of older messages of users, which only the summary mentions'),
})
export type SummaryMark = z.infer<typeof SummaryMark>

/** Limits of a summary; all but `keeps` in tokens. */
export interface SummaryDue {
  /** Model that writes the summary, as configured; null for the model of the call. */
  model: string | null
  /** Number of newest messages that stay unchanged. */
  keeps: number
  /** Maximum size of the summary. */
  limit: number
  /** Maximum size of the users' messages that are kept verbatim. */
  orders_limit: number
  /** Maximum size of the conversation that is summarized. */
  source_limit: number
}

const ContextFacts = {
  agent_id: z.string().nullable(),
  goal_id: z.string().nullable(),
  model: z.string(),
  window,
  tokens: z.int().describe('Estimated tokens of the request and its answer'),
}

export const ContextCompacted = z
  .object({
    ...ContextFacts,
    how: Shortening,
    summary_model: z
      .string()
      .nullable()
      .describe('Model that wrote the summary, as `provider:model`; null without a summary'),
    ...LeftOut,
  })
  .describe(
    "A conversation was shortened to fit its model's context window, by a new summary or for the first time in this way",
  )

export const ContextRefused = z
  .object({
    ...ContextFacts,
    reason: z.string(),
    given_up: z.boolean().describe('Whether even the smallest request was refused'),
  })
  .describe('A provider refused a request because it is larger than the context window')
