import { z } from '#kernel'
import { AMONG, defineEffect, isoTime, listed, type Statement, type Store } from '#platform/store/contract'
import type { IdentityRecord } from './contract.ts'
import { CHAPTERS, NOTES, OPINIONS, QUESTIONS } from './limits.ts'
import type { Story } from './narrative.ts'

const agent_id = z.string()
const count = z.number().int().min(0)
/** Milliseconds, up to the last time that a date can name. */
const time = z.number().int().min(0).max(8.64e15)
const StoryShape = z.object({
  seq: count,
  narrative: z.string(),
  entries: count,
  since: time.nullable(),
  until: time.nullable(),
  first_line: z.string(),
  last_line: z.string(),
})
const ChapterShape = z.object({
  summary: z.string(),
  entry_count: count,
  started_at: time,
  ended_at: time,
})
const NoteShape = z.object({
  at: time,
  kind: z.enum(['opinion', 'worldview', 'question', 'answer']),
  note: z.string(),
})

/** All that is kept of an identity. */
export const IdentityRow = z.object({
  story: StoryShape.omit({ seq: true }),
  worldview: z.string(),
  chapters: z.array(ChapterShape.extend({ n: count })),
  opinions: z.array(z.object({ domain: z.string(), opinion: z.string(), formed_at: time })),
  questions: z.array(z.object({ question_id: z.string(), question: z.string(), asked_at: time })),
  notes: z.array(NoteShape),
})
export type IdentityRow = z.infer<typeof IdentityRow>

const STORY = 'seq, narrative, entries, since, until, first_line, last_line'

const FIND_STORY = `SELECT ${STORY}, worldview FROM identities WHERE agent_id = ?`

export function findStory(store: Store, id: string): Promise<(Story & { worldview: string }) | undefined> {
  return store.get(FIND_STORY, [id])
}

/** Up to where a story is told, and which event of the agent is the newest: what each cycle asks. */
export async function standingOf(store: Store, id: string): Promise<{ told: number; newest: number }> {
  const row = await store.get<{ told: number; newest: number }>(
    `SELECT coalesce((SELECT seq FROM identities WHERE agent_id = ?), 0) AS told,
       coalesce((SELECT max(seq) FROM events WHERE agent_id = ?), 0) AS newest`,
    [id, id],
  )
  return row ?? { told: 0, newest: 0 }
}

/** Of these agents, those to whom something has happened since their story was told. */
export async function untoldAmong(store: Store, agents: readonly string[]): Promise<string[]> {
  const rows = await store.all<{ agent_id: string }>(
    `SELECT a.agent_id FROM agents a WHERE a.agent_id ${AMONG}
       AND coalesce((SELECT max(seq) FROM events e WHERE e.agent_id = a.agent_id), 0)
         > coalesce((SELECT seq FROM identities i WHERE i.agent_id = a.agent_id), 0)`,
    [listed(agents)],
  )
  return rows.map(({ agent_id }) => agent_id)
}

/** Oldest first. */
export function listChapters(store: Store, id: string) {
  return store.all<IdentityRow['chapters'][number]>(
    'SELECT n, summary, entry_count, started_at, ended_at FROM identity_chapters WHERE agent_id = ? ORDER BY n',
    [id],
  )
}

/** Oldest first. */
export function listOpinions(store: Store, id: string) {
  return store.all<IdentityRow['opinions'][number]>(
    'SELECT domain, opinion, formed_at FROM identity_opinions WHERE agent_id = ? ORDER BY formed_at, domain',
    [id],
  )
}

/** Oldest first. */
export function listQuestions(store: Store, id: string) {
  return store.all<IdentityRow['questions'][number]>(
    'SELECT question_id, question, asked_at FROM identity_questions WHERE agent_id = ? ORDER BY asked_at, question_id',
    [id],
  )
}

/** Oldest first. */
export function listNotes(store: Store, id: string) {
  return store.all<IdentityRow['notes'][number]>(
    'SELECT at, kind, note FROM identity_notes WHERE agent_id = ? ORDER BY note_id',
    [id],
  )
}

export interface EventRow {
  seq: number
  type: string
  at: number
  data: Record<string, unknown>
}

/** What of these kinds happened to an agent since, oldest first, and up to which event there is anything at all. */
export async function happenedSince(store: Store, id: string, seq: number, types: readonly string[], limit: number) {
  const places = types.map(() => '?').join(', ')
  const rows = await store.all<Omit<EventRow, 'data'> & { data: string }>(
    `SELECT seq, type, at, data FROM events WHERE agent_id = ? AND seq > ? AND type IN (${places}) ORDER BY seq LIMIT ?`,
    [id, seq, ...types, limit],
  )
  return rows.map((row): EventRow => ({ ...row, data: JSON.parse(row.data) as Record<string, unknown> }))
}

export function goalsOf(store: Store, goal_ids: readonly string[]) {
  return store.all<{ goal_id: string; objective: string; result: string | null }>(
    `SELECT goal_id, objective, result FROM goals WHERE goal_id ${AMONG}`,
    [listed(goal_ids)],
  )
}

export async function countGoals(store: Store, id: string): Promise<{ completed: number; abandoned: number }> {
  const row = await store.get<{ completed: number; abandoned: number }>(
    `SELECT count(*) FILTER (WHERE status = 'completed') AS completed, count(*) FILTER (WHERE status = 'abandoned') AS abandoned
     FROM goals WHERE agent_id = ?`,
    [id],
  )
  return row ?? { completed: 0, abandoned: 0 }
}

/** There is a row for the agent, if there is such an agent. */
const ensureIdentity = (id: string): Statement => ({
  sql: `INSERT INTO identities (agent_id) SELECT ? WHERE EXISTS (SELECT 1 FROM agents WHERE agent_id = ?)
        ON CONFLICT (agent_id) DO NOTHING`,
  params: [id, id],
})

/** Goes on with a story from where it was read; nothing happens when somebody else has told it further meanwhile. */
export const tellStory = defineEffect({
  name: 'identity.tell',
  schema: z.object({ agent_id, from: z.number().int(), story: StoryShape, sealed: z.array(ChapterShape) }),
  statements: ({ agent_id: id, from, story, sealed }) => [
    ensureIdentity(id),
    ...sealed.map(({ summary, entry_count, started_at, ended_at }) => ({
      sql: `INSERT INTO identity_chapters (agent_id, n, summary, entry_count, started_at, ended_at)
            SELECT ?, (SELECT coalesce(max(n), 0) + 1 FROM identity_chapters WHERE agent_id = ?), ?, ?, ?, ?
            WHERE EXISTS (SELECT 1 FROM identities WHERE agent_id = ? AND seq = ?)`,
      params: [id, id, summary, entry_count, started_at, ended_at, id, from],
    })),
    {
      sql: `DELETE FROM identity_chapters WHERE agent_id = ?
            AND n <= (SELECT max(n) FROM identity_chapters WHERE agent_id = ?) - ${CHAPTERS}`,
      params: [id, id],
    },
    {
      sql: `UPDATE identities SET seq = ?, narrative = ?, entries = ?, since = ?, until = ?, first_line = ?, last_line = ?
            WHERE agent_id = ? AND seq = ?`,
      params: [
        ...[story.seq, story.narrative, story.entries, story.since, story.until, story.first_line, story.last_line],
        ...[id, from],
      ],
    },
  ],
})

function insertNotes(id: string, at: number, kind: IdentityRow['notes'][number]['kind'], note: string): Statement[] {
  return [
    {
      sql: `INSERT INTO identity_notes (agent_id, at, kind, note) SELECT ?, ?, ?, ?
            WHERE EXISTS (SELECT 1 FROM agents WHERE agent_id = ?)`,
      params: [id, at, kind, note, id],
    },
    {
      sql: `DELETE FROM identity_notes WHERE agent_id = ? AND note_id NOT IN (SELECT note_id FROM identity_notes
            WHERE agent_id = ? ORDER BY note_id DESC LIMIT ${NOTES})`,
      params: [id, id],
    },
  ]
}

/** One opinion a domain; the oldest gives way where there are too many. */
export const formOpinion = defineEffect({
  name: 'identity.form_opinion',
  schema: z.object({ agent_id, domain: z.string(), opinion: z.string(), note: z.string() }),
  statements: ({ agent_id: id, domain, opinion, note }, now) => [
    ensureIdentity(id),
    {
      sql: `INSERT INTO identity_opinions (agent_id, domain, opinion, formed_at) VALUES (?, ?, ?, ?)
            ON CONFLICT (agent_id, domain) DO UPDATE SET opinion = excluded.opinion, formed_at = excluded.formed_at`,
      params: [id, domain, opinion, now],
    },
    {
      sql: `DELETE FROM identity_opinions WHERE agent_id = ? AND domain NOT IN (SELECT domain FROM identity_opinions
            WHERE agent_id = ? ORDER BY formed_at DESC, domain DESC LIMIT ${OPINIONS})`,
      params: [id, id],
    },
    ...insertNotes(id, now, 'opinion', note),
  ],
})

export const reviseWorldview = defineEffect({
  name: 'identity.revise_worldview',
  schema: z.object({ agent_id, worldview: z.string(), note: z.string() }),
  statements: ({ agent_id: id, worldview, note }, now) => [
    ensureIdentity(id),
    { sql: 'UPDATE identities SET worldview = ? WHERE agent_id = ?', params: [worldview, id] },
    ...insertNotes(id, now, 'worldview', note),
  ],
})

export const askQuestion = defineEffect({
  name: 'identity.ask_question',
  schema: z.object({ agent_id, question_id: z.string(), question: z.string(), note: z.string() }),
  statements: ({ agent_id: id, question_id, question, note }, now) => [
    ensureIdentity(id),
    {
      sql: `INSERT INTO identity_questions (question_id, agent_id, question, asked_at) SELECT ?, ?, ?, ?
            WHERE (SELECT count(*) FROM identity_questions WHERE agent_id = ?) < ${QUESTIONS}
            ON CONFLICT (agent_id, question_id) DO NOTHING`,
      params: [question_id, id, question, now, id],
    },
    ...insertNotes(id, now, 'question', note),
  ],
})

export const resolveQuestion = defineEffect({
  name: 'identity.resolve_question',
  schema: z.object({ agent_id, question_id: z.string(), note: z.string() }),
  statements: ({ agent_id: id, question_id, note }, now) => [
    { sql: 'DELETE FROM identity_questions WHERE agent_id = ? AND question_id = ?', params: [id, question_id] },
    ...insertNotes(id, now, 'answer', note),
  ],
})

/** Makes an agent who it was. What happened until now is not told again. */
export const restoreIdentity = defineEffect({
  name: 'identity.restore',
  schema: z.object({ agent_id, kept: IdentityRow }),
  statements: ({ agent_id: id, kept }) => {
    const tables = ['identity_chapters', 'identity_opinions', 'identity_questions', 'identity_notes', 'identities']
    const cleared = tables.map(table => ({ sql: `DELETE FROM ${table} WHERE agent_id = ?`, params: [id] }))
    const { story, worldview } = kept
    return [
      ...cleared,
      {
        sql: `INSERT INTO identities (agent_id, ${STORY}, worldview)
              VALUES (?, (SELECT coalesce(max(seq), 0) FROM events WHERE agent_id = ?), ?, ?, ?, ?, ?, ?, ?)`,
        params: [
          ...[id, id, story.narrative, story.entries, story.since, story.until, story.first_line, story.last_line],
          worldview,
        ],
      },
      ...kept.chapters.map(({ n, summary, entry_count, started_at, ended_at }) => ({
        sql: `INSERT INTO identity_chapters (agent_id, n, summary, entry_count, started_at, ended_at) VALUES (?, ?, ?, ?, ?, ?)`,
        params: [id, n, summary, entry_count, started_at, ended_at],
      })),
      ...kept.opinions.map(({ domain, opinion, formed_at }) => ({
        sql: 'INSERT INTO identity_opinions (agent_id, domain, opinion, formed_at) VALUES (?, ?, ?, ?)',
        params: [id, domain, opinion, formed_at],
      })),
      ...kept.questions.map(({ question_id, question, asked_at }) => ({
        sql: `INSERT INTO identity_questions (question_id, agent_id, question, asked_at) VALUES (?, ?, ?, ?)
              ON CONFLICT (agent_id, question_id) DO NOTHING`,
        params: [question_id, id, question, asked_at],
      })),
      ...kept.notes.map(({ at, kind, note }) => ({
        sql: 'INSERT INTO identity_notes (agent_id, at, kind, note) VALUES (?, ?, ?, ?)',
        params: [id, at, kind, note],
      })),
    ]
  },
})

/** What is kept of an identity as it is shown. */
export function toIdentityRecord(
  kept: IdentityRow,
): Pick<IdentityRecord, 'narrative' | 'chapters' | 'worldview' | 'opinions' | 'open_questions' | 'evolution'> {
  return {
    narrative: kept.story.narrative,
    chapters: kept.chapters.map(({ n, summary, entry_count, started_at, ended_at }) => ({
      ...{ index: n, summary, entry_count, started: isoTime(started_at), ended: isoTime(ended_at) },
    })),
    worldview: kept.worldview,
    opinions: kept.opinions.map(({ formed_at, ...rest }) => ({ ...rest, formed_at: isoTime(formed_at) })),
    open_questions: kept.questions.map(({ asked_at, ...rest }) => ({ ...rest, asked_at: isoTime(asked_at) })),
    evolution: kept.notes.map(({ at, ...rest }) => ({ at: isoTime(at), ...rest })).reverse(),
  }
}

export const IDENTITY_EFFECTS = [tellStory, formOpinion, reviseWorldview, askQuestion, resolveQuestion, restoreIdentity]
