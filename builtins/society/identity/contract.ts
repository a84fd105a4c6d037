import type { AgentRow } from '#core/agents/contract'
import { point, token, z } from '#kernel'

const Opinion = z.object({ domain: z.string(), opinion: z.string(), formed_at: z.iso.datetime() })
const Question = z.object({
  question_id: z.string().meta({ examples: ['q-1a2b3c4d'] }),
  question: z.string(),
  asked_at: z.iso.datetime(),
})
/** A part of the story that is summed up in one sentence. */
const Chapter = z.object({
  index: z.number().int().describe('From 1'),
  summary: z.string(),
  entry_count: z.number().int(),
  started: z.iso.datetime(),
  ended: z.iso.datetime(),
})
/** How the agent changed. */
const EvolutionNote = z.object({
  at: z.iso.datetime(),
  kind: z.enum(['opinion', 'worldview', 'question', 'answer']),
  note: z.string(),
})

/** Who an agent has become. */
export const IdentityRecord = z
  .object({
    agent_id: z.string(),
    display_name: z.string().meta({ examples: ['Juniper'] }),
    traits: z.array(z.string()),
    domains: z.array(z.string()),
    narrative: z
      .string()
      .describe('A dated line for each goal that ended and each event of its life, since the last chapter'),
    chapters: z.array(Chapter),
    worldview: z.string(),
    opinions: z.array(Opinion),
    open_questions: z.array(Question),
    evolution: z.array(EvolutionNote).describe('Newest first'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Identity' })
export type IdentityRecord = z.infer<typeof IdentityRecord>

export interface Identity {
  /** @param when as `Agents.profileOf` takes it */
  of(agent: AgentRow, when?: 'now' | 'beat'): Promise<IdentityRecord>
  /** Returns the agent's life as a page of Markdown, with what other modules know of it. */
  biography(agent: AgentRow): Promise<string>
  /** What `summary.json` of a life and `svc lives` hold: who it is, its goals, and what `LifeSummaries` add. */
  summary(agent: AgentRow): Promise<Record<string, unknown>>
}
export const Identity = token<Identity>('identity')

/** What a module knows of an agent's life, for its summary and its biography. */
export interface LifeSummary {
  /** The key under which it stands in a summary. */
  name: string
  /** The heading in the biography. */
  title: string
  /** A few fields, of texts, numbers and lists of texts; undefined when there is nothing to say. */
  summarize(agent: AgentRow): Promise<Record<string, unknown> | undefined>
}
export const LifeSummaries = point<LifeSummary>('life_summaries', {
  key: ({ name }) => name,
  has: { name: 'text', title: 'text', summarize: 'function' },
})

/**
 * Types of events that become lines of an agent's narrative, each with the line made of its data; undefined makes none.
 * Ended goals are always narrated.
 */
export interface NarrativeSource {
  event: string
  line(data: Record<string, unknown>): string | undefined
}
export const NarrativeSources = point<NarrativeSource>('narrative_sources', {
  key: ({ event }) => event,
  has: { event: 'text', line: 'function' },
})

declare module '#kernel' {
  interface Replaceable {
    identity: { identity: Identity }
  }
}

declare module '#core/goals/contract' {
  interface GoalContext {
    /** Who the agent has become. */
    identity?: IdentityRecord
  }
}
