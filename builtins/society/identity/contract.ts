import type { AgentRow } from '#core/agents/contract'
import { point, token, z } from '#kernel'

const Opinion = z.object({ domain: z.string(), opinion: z.string(), formed_at: z.iso.datetime() })
const Question = z.object({
  question_id: z.string().meta({ examples: ['q-1a2b3c4d'] }),
  question: z.string(),
  asked_at: z.iso.datetime(),
})
/** A sealed part of the narrative, with a summary in one sentence. */
const Chapter = z.object({
  index: z.int().describe('Number of the chapter, from 1'),
  summary: z.string(),
  entry_count: z.int(),
  started: z.iso.datetime(),
  ended: z.iso.datetime(),
})
/** A recorded change of the agent's identity. */
const EvolutionNote = z.object({
  at: z.iso.datetime(),
  kind: z.enum(['opinion', 'worldview', 'question', 'answer']),
  note: z.string(),
})

/** An agent's identity. */
export const IdentityRecord = z
  .object({
    agent_id: z.string(),
    display_name: z.string().meta({ examples: ['Juniper'] }),
    traits: z.array(z.string()),
    domains: z.array(z.string()),
    narrative: z.string().describe('One dated line for each ended goal and each life event since the last chapter'),
    chapters: z.array(Chapter),
    worldview: z.string(),
    opinions: z.array(Opinion),
    open_questions: z.array(Question),
    evolution: z.array(EvolutionNote).describe('Changes of the identity, newest first'),
    created_at: z.iso.datetime(),
  })
  .meta({ id: 'Identity' })
export type IdentityRecord = z.infer<typeof IdentityRecord>

export interface Identity {
  /** @param when see `Agents.profileOf` */
  of(agent: AgentRow, when?: 'now' | 'beat'): Promise<IdentityRecord>
  /** Returns the agent's biography as Markdown, including facts from other modules. */
  biography(agent: AgentRow): Promise<string>
  /** Returns the content of `summary.json` and `svc lives`: identity, goals, and the parts of `LifeSummaries`. */
  summary(agent: AgentRow): Promise<Record<string, unknown>>
}
export const Identity = token<Identity>('identity', { of: 'function', biography: 'function', summary: 'function' })

/** Facts of a module about an agent's life, for its summary and its biography. */
export interface LifeSummary {
  /** Key of this part in the summary. */
  name: string
  /** The heading in the biography. */
  title: string
  /** Returns a few fields: strings, numbers and arrays of strings; undefined when there is nothing to report. */
  summarize(agent: AgentRow): Promise<Record<string, unknown> | undefined>
}
export const LifeSummaries = point<LifeSummary>('life_summaries', {
  key: ({ name }) => name,
  has: { name: 'text', title: 'text', summarize: 'function' },
})

/**
 * An event type that becomes a line of an agent's narrative. `line` formats the event's data; undefined skips the
 * event. Ended goals are always narrated.
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
    /** The agent's identity. */
    identity?: IdentityRecord
  }
}
