import { z } from '#kernel'
import {
  AMONG,
  defineEffect,
  insertIf,
  insertInto,
  isoTime,
  jsonList,
  listColumn,
  type Statement,
  type Store,
} from '#platform/store/contract'
import type { IdentityRecord } from './contract.ts'
import { CHAPTERS, NOTES, OPINIONS, QUESTIONS } from './limits.ts'
import { EMPTY_STORY, SealedChapter, Story, time } from './narrative.ts'

const agent_id = z.string()
const NoteShape = z.object({
  at: time,
  kind: z.enum(['opinion', 'worldview', 'question', 'answer']),
  note: z.string(),
})

/** The complete stored identity. */
export const IdentityRow = z.object({
  story: Story.omit({ seq: true }),
  worldview: z.string(),
  chapters: z.array(SealedChapter.extend({ n: z.int().min(0) })),
  opinions: z.array(z.object({ domain: z.string(), opinion: z.string(), formed_at: time })),
  questions: z.array(z.object({ question_id: z.string(), question: z.string(), asked_at: time })),
  notes: z.array(NoteShape),
})
export type IdentityRow = z.infer<typeof IdentityRow>

/** Returns an agent's view of the world; undefined when it has not stated one. */
export async function worldviewOf(store: Store, id: string): Promise<string | undefined> {
  const row = await store.get<{ worldview: string }>('SELECT worldview FROM identities WHERE agent_id = ?', [id])
  return row?.worldview
}

/** Returns those of these agents that have events after the end of their story. */
export function agentsWithNewEvents(store: Store, agents: readonly string[]): Promise<string[]> {
  return listColumn(
    store,
    `SELECT a.agent_id FROM agents_view a WHERE a.agent_id ${AMONG}
       AND coalesce((SELECT max(seq) FROM events_view e WHERE e.agent_id = a.agent_id), 0)
         > coalesce((SELECT seq FROM identities i WHERE i.agent_id = a.agent_id), 0)`,
    [jsonList(agents)],
  )
}

/** Returns an agent's opinions, oldest first. */
export function listOpinions(store: Store, id: string) {
  return store.all<IdentityRow['opinions'][number]>(
    'SELECT domain, opinion, formed_at FROM identity_opinions WHERE agent_id = ? ORDER BY formed_at, domain',
    [id],
  )
}

/** Returns an agent's open questions, oldest first. */
export function listQuestions(store: Store, id: string) {
  return store.all<IdentityRow['questions'][number]>(
    'SELECT question_id, question, asked_at FROM identity_questions WHERE agent_id = ? ORDER BY asked_at, question_id',
    [id],
  )
}

export interface EventRow {
  seq: number
  type: string
  at: number
  data: Record<string, unknown>
}

/** A stored identity, with the events of its agent after the end of its narrative. */
export interface Stored extends Pick<IdentityRow, 'worldview' | 'chapters' | 'opinions' | 'questions' | 'notes'> {
  story: Story
  /** Events after the end of the narrative, oldest first. */
  since: EventRow[]
  /** Sequence number of the agent's newest event of any type. */
  newest: number
}

/** A row of any identity table under common column names; missing columns are 0 or empty. */
interface PartRow {
  part: 'chapter' | 'event' | 'newest' | 'note' | 'opinion' | 'question' | 'story'
  n: number
  about: string
  text: string
  count: number
  at: number
  until: number
  first: string
  last: string
}

const NARRATED_UNTIL = 'coalesce((SELECT seq FROM identities WHERE agent_id = ?), 0)'
const PARTS = `SELECT 'story' AS part, seq AS n, worldview AS about, narrative AS text, entries AS count, coalesce(since, 0) AS at,
    coalesce(until, 0) AS until, first_line AS first, last_line AS last FROM identities WHERE agent_id = ?
  UNION ALL SELECT 'newest', coalesce(max(seq), 0), '', '', 0, 0, 0, '', '' FROM events_view WHERE agent_id = ?
  UNION ALL SELECT 'event', seq, type, data, 0, at, 0, '', '' FROM (SELECT seq, type, data, at FROM events_view
    WHERE agent_id = ? AND seq > ${NARRATED_UNTIL} AND type ${AMONG} ORDER BY seq LIMIT ?) since
  UNION ALL SELECT 'chapter', n, '', summary, entry_count, started_at, ended_at, '', '' FROM identity_chapters WHERE agent_id = ?
  UNION ALL SELECT 'opinion', 0, domain, opinion, 0, formed_at, 0, '', '' FROM identity_opinions WHERE agent_id = ?
  UNION ALL SELECT 'question', 0, question_id, question, 0, asked_at, 0, '', '' FROM identity_questions WHERE agent_id = ?
  UNION ALL SELECT 'note', note_id, kind, note, 0, at, 0, '', '' FROM identity_notes WHERE agent_id = ?
  ORDER BY part, n, at, about`

/**
 * Reads an identity in one statement.
 * @param types event types that are narrated
 * @param limit maximum number of these events
 */
export async function readIdentity(store: Store, id: string, types: readonly string[], limit: number): Promise<Stored> {
  const rows = await store.all<PartRow>(PARTS, [id, id, id, id, jsonList(types), limit, id, id, id, id])
  const of = (part: PartRow['part']) => rows.filter(row => row.part === part)
  const [story] = of('story')
  return {
    story: story ? storyOf(story) : EMPTY_STORY,
    worldview: story?.about ?? '',
    newest: of('newest')[0]?.n ?? 0,
    since: of('event').map(({ n, about, text, at }) => {
      return { seq: n, type: about, at, data: JSON.parse(text) as Record<string, unknown> }
    }),
    chapters: of('chapter').map(({ n, text, count, at, until }) => {
      return { n, summary: text, entry_count: count, started_at: at, ended_at: until }
    }),
    opinions: of('opinion').map(({ about, text, at }) => ({ domain: about, opinion: text, formed_at: at })),
    questions: of('question').map(({ about, text, at }) => ({ question_id: about, question: text, asked_at: at })),
    notes: of('note').map(({ about, text, at }) => ({
      at,
      kind: about as IdentityRow['notes'][number]['kind'],
      note: text,
    })),
  }
}

/** Times are set only when the story has entries. */
function storyOf({ n, text, count, at, until, first, last }: PartRow): Story {
  const times = count > 0 ? { since: at, until } : { since: null, until: null }
  return { seq: n, narrative: text, entries: count, ...times, first_line: first, last_line: last }
}

export function goalsOf(store: Store, goal_ids: readonly string[]) {
  return store.all<{ goal_id: string; objective: string; result: string | null; unconfirmed: number }>(
    `SELECT goal_id, objective, result, unconfirmed FROM goals_view WHERE goal_id ${AMONG}`,
    [jsonList(goal_ids)],
  )
}

/** Creates the identity row of an existing agent. */
const ensureIdentity = (id: string): Statement =>
  insertIf(
    'identities',
    { agent_id: id },
    { where: 'EXISTS (SELECT 1 FROM agents_view WHERE agent_id = ?)', params: [id] },
    'ON CONFLICT (agent_id) DO NOTHING',
  )

/** Appends to the narrative if its revision is unchanged; otherwise does nothing. */
export const tellStory = defineEffect({
  name: 'identity.tell',
  schema: z.object({ agent_id, from: z.int(), story: Story, sealed: z.array(SealedChapter) }),
  statements: ({ agent_id: id, from, story, sealed }) => [
    ...(sealed.length > 0 ? sealing(id, from, sealed) : []),
    insertIf(
      'identities',
      { agent_id: id, ...story },
      // The last parameter is that of the conflict clause.
      { where: 'EXISTS (SELECT 1 FROM agents_view WHERE agent_id = ?)', params: [id, from] },
      `ON CONFLICT (agent_id) DO UPDATE SET seq = excluded.seq, narrative = excluded.narrative, entries = excluded.entries,
         since = excluded.since, until = excluded.until, first_line = excluded.first_line, last_line = excluded.last_line
       WHERE identities.seq = ?`,
    ),
  ],
})

function sealing(id: string, from: number, sealed: readonly SealedChapter[]): Statement[] {
  return [
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
  ]
}

function insertNotes(id: string, at: number, kind: IdentityRow['notes'][number]['kind'], note: string): Statement[] {
  return [
    insertIf(
      'identity_notes',
      { agent_id: id, at, kind, note },
      { where: 'EXISTS (SELECT 1 FROM agents_view WHERE agent_id = ?)', params: [id] },
    ),
    {
      sql: `DELETE FROM identity_notes WHERE agent_id = ? AND note_id NOT IN (SELECT note_id FROM identity_notes
            WHERE agent_id = ? ORDER BY note_id DESC LIMIT ${NOTES})`,
      params: [id, id],
    },
  ]
}

/** Stores an opinion, one for each domain. Beyond the maximum, the oldest is deleted. */
export const formOpinion = defineEffect({
  name: 'identity.form_opinion',
  schema: z.object({ agent_id, domain: z.string(), opinion: z.string(), note: z.string() }),
  statements: ({ agent_id: id, domain, opinion, note }, now) => [
    ensureIdentity(id),
    insertInto(
      'identity_opinions',
      { agent_id: id, domain, opinion, formed_at: now },
      'ON CONFLICT (agent_id, domain) DO UPDATE SET opinion = excluded.opinion, formed_at = excluded.formed_at',
    ),
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
    insertIf(
      'identity_questions',
      { question_id, agent_id: id, question, asked_at: now },
      { where: `(SELECT count(*) FROM identity_questions WHERE agent_id = ?) < ${QUESTIONS}`, params: [id] },
      'ON CONFLICT (agent_id, question_id) DO NOTHING',
    ),
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

/** Restores an agent's identity. Earlier events are not narrated again. */
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
        sql: `INSERT INTO identities (agent_id, seq, narrative, entries, since, until, first_line, last_line, worldview)
              VALUES (?, (SELECT coalesce(max(seq), 0) FROM events_view WHERE agent_id = ?), ?, ?, ?, ?, ?, ?, ?)`,
        params: [
          id,
          id,
          story.narrative,
          story.entries,
          story.since,
          story.until,
          story.first_line,
          story.last_line,
          worldview,
        ],
      },
      ...kept.chapters.map(({ n, summary, entry_count, started_at, ended_at }) =>
        insertInto('identity_chapters', { agent_id: id, n, summary, entry_count, started_at, ended_at }),
      ),
      ...kept.opinions.map(({ domain, opinion, formed_at }) =>
        insertInto('identity_opinions', { agent_id: id, domain, opinion, formed_at }),
      ),
      ...kept.questions.map(({ question_id, question, asked_at }) =>
        insertInto(
          'identity_questions',
          { question_id, agent_id: id, question, asked_at },
          'ON CONFLICT (agent_id, question_id) DO NOTHING',
        ),
      ),
      ...kept.notes.map(({ at, kind, note }) => insertInto('identity_notes', { agent_id: id, at, kind, note })),
    ]
  },
})

/** Converts a stored identity to its public form. */
export function toIdentityRecord(
  kept: IdentityRow,
): Pick<IdentityRecord, 'narrative' | 'chapters' | 'worldview' | 'opinions' | 'open_questions' | 'evolution'> {
  return {
    narrative: kept.story.narrative,
    chapters: kept.chapters.map(({ n, summary, entry_count, started_at, ended_at }) => ({
      index: n,
      summary,
      entry_count,
      started: isoTime(started_at),
      ended: isoTime(ended_at),
    })),
    worldview: kept.worldview,
    opinions: kept.opinions.map(({ formed_at, ...rest }) => ({ ...rest, formed_at: isoTime(formed_at) })),
    open_questions: kept.questions.map(({ asked_at, ...rest }) => ({ ...rest, asked_at: isoTime(asked_at) })),
    evolution: kept.notes.map(({ at, ...rest }) => ({ at: isoTime(at), ...rest })).reverse(),
  }
}

export const IDENTITY_EFFECTS = [tellStory, formOpinion, reviseWorldview, askQuestion, resolveQuestion, restoreIdentity]
