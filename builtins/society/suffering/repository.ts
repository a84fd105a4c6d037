import type { NewAgent } from '#core/agents/contract'
import { z } from '#kernel'
import {
  AMONG,
  countRows,
  defineEffect,
  isoTime,
  jsonList,
  listColumn,
  type Store,
  type Stored,
} from '#platform/store/contract'
import { PersonaFields, type SufferingMoment } from './contract.ts'
import { PersistedState } from './state/state.ts'

/** Number of the agent's latest sent messages that are considered. */
const LOOKED_AT = 20
/** Number of events applied at a time. */
const PAGE_SIZE = 500
const DAY_MS = 86_400_000
/**
 * Time for which every moment is kept, and time for which the first of each hour is kept, regardless of retention
 * settings.
 */
const FINE_MS = DAY_MS
const COARSE_MS = 90 * DAY_MS
const HOUR_MS = 3_600_000

export interface SituationRow extends NewAgent {
  failures: number
  /** Whether the agent has a goal. */
  busy: number
  unanswered: number
  /** 0: no row exists yet. */
  version: number
  at: number
  /** Number of the agent's skipped cycles, and the number of those already accounted for. */
  passed: number
  passed_before: number
  seq: number
  heard_at: number
  inner: PersistedState | undefined
}

const SITUATION = `SELECT a.agent_id, a.name, a.role, a.given_role, a.model, a.preset, a.spawned_by, a.failures, i.state, coalesce(i.version, 0) AS version, coalesce(i.at, 0) AS at,
    coalesce(i.passed, 0) AS passed_before, coalesce((SELECT passed FROM leases_view l WHERE l.id = a.agent_id), 0) AS passed,
    coalesce(i.seq, 0) AS seq, coalesce(i.heard_at, 0) AS heard_at,
    EXISTS (SELECT 1 FROM goals_view WHERE agent_id = a.agent_id AND status = 'active') AS busy,
    (SELECT count(*) FROM (SELECT created_at FROM a2a_messages_view WHERE from_agent = ? ORDER BY seq DESC LIMIT ${LOOKED_AT}) sent
      WHERE sent.created_at > coalesce(i.heard_at, 0)) AS unanswered
  FROM agents_view a LEFT JOIN inner_lives i ON i.agent_id = a.agent_id WHERE a.agent_id = ?`

type StoredSituation = Omit<SituationRow, 'inner'> & { state: string | null }

/** Returns an agent's state and the data that affects it; undefined when the agent does not exist. */
export async function findSituation(store: Store, agent_id: string): Promise<SituationRow | undefined> {
  const row = await store.get<StoredSituation>(SITUATION, [agent_id, agent_id])
  return row && situationOf(row)
}

function situationOf({ state, ...situation }: StoredSituation): SituationRow {
  return { ...situation, inner: state === null ? undefined : (JSON.parse(state) as PersistedState) }
}

export interface HappenedRow {
  seq: number
  type: string
  at: number
  data: Record<string, unknown>
}

const LIFE = `WITH situation AS MATERIALIZED (${SITUATION})
  SELECT situation.*, e.seq AS event_seq, e.type AS event_type, e.at AS event_at, e.data AS event_data
  FROM situation LEFT JOIN events_view e ON e.agent_id = situation.agent_id AND e.seq > situation.seq ORDER BY e.seq LIMIT ?`

type LifeRow = StoredSituation &
  ({ event_seq: number; event_type: string; event_at: number; event_data: string } | { event_seq: null })

/** Returns the same and the events of the agent since, oldest first. */
export async function findLife(
  store: Store,
  agent_id: string,
): Promise<{ situation: SituationRow; events: HappenedRow[] } | undefined> {
  const rows = await store.all<LifeRow>(LIFE, [agent_id, agent_id, PAGE_SIZE])
  const [first] = rows
  if (!first) return undefined
  const events = rows.flatMap(row => {
    if (row.event_seq === null) return []
    const { event_seq: seq, event_type: type, event_at: at, event_data } = row
    return { seq, type, at, data: JSON.parse(event_data) as Record<string, unknown> }
  })
  return { situation: situationOf(first), events }
}

/** Returns the number of steps of an ended goal, and whether the model declined it. */
export async function endOfGoal(
  store: Store,
  goal_id: string,
): Promise<{ steps: number; refused: boolean; declined: boolean }> {
  const row = await store.get<{ steps: number; result: string | null }>(
    'SELECT steps_completed AS steps, result FROM goals_view WHERE goal_id = ?',
    [goal_id],
  )
  const result = row?.result ?? ''
  return {
    steps: row?.steps ?? 0,
    refused: result.startsWith('The model declined'),
    declined: result.startsWith('Declined: '),
  }
}

/** Writes the state after a cycle. Does nothing when another write, such as a restored checkpoint, came in between. */
export const recordCycle = defineEffect({
  name: 'suffering.advance',
  schema: z.object({
    agent_id: z.string(),
    version: z.int(),
    seq: z.int(),
    heard_at: z.int(),
    passed: z.int(),
    /** Milliseconds until the next check, unless an event arrives first. */
    still_ms: z.number(),
    inner: PersistedState,
  }),
  statements: ({ agent_id, version, seq, heard_at, passed, still_ms, inner }, now) => {
    const look_at = now + Math.floor(still_ms)
    const state = JSON.stringify(inner)
    if (version === 0)
      return [
        {
          sql: `INSERT INTO inner_lives (agent_id, version, at, seq, heard_at, passed, look_at, state)
                SELECT ?, 1, ?, ?, ?, ?, ?, ? WHERE EXISTS (SELECT 1 FROM agents_view WHERE agent_id = ?)
                ON CONFLICT (agent_id) DO NOTHING`,
          params: [agent_id, now, seq, heard_at, passed, look_at, state, agent_id],
        },
      ]
    return [
      {
        sql: `UPDATE inner_lives SET version = version + 1, at = ?, seq = ?, heard_at = ?, passed = ?, look_at = ?, state = ?
              WHERE agent_id = ? AND version = ?`,
        params: [now, seq, heard_at, passed, look_at, state, agent_id, version],
      },
    ]
  },
})

/** Restores an agent's inner state. Earlier events are not applied again. */
export const restoreLife = defineEffect({
  name: 'suffering.restore',
  schema: z.object({ agent_id: z.string(), inner: PersistedState }),
  statements: ({ agent_id, inner }, now) => ({
    sql: `INSERT INTO inner_lives (agent_id, version, at, seq, heard_at, state)
          VALUES (?, 1, ?, (SELECT coalesce(max(seq), 0) FROM events_view WHERE agent_id = ?), ?, ?)
          ON CONFLICT (agent_id) DO UPDATE SET version = inner_lives.version + 1, at = excluded.at, seq = excluded.seq,
            look_at = 0, state = excluded.state`,
    params: [agent_id, now, agent_id, now, JSON.stringify(inner)],
  }),
})

/** Returns those of these agents that have new events or whose time for the next check has come. */
export function findChangedAgents(store: Store, agents: readonly string[], now: number): Promise<string[]> {
  return listColumn(
    store,
    `SELECT a.agent_id FROM agents_view a LEFT JOIN inner_lives i ON i.agent_id = a.agent_id AND i.at <= ? AND i.look_at > ?
     WHERE a.agent_id ${AMONG}
       AND (i.seq IS NULL OR i.seq < coalesce((SELECT max(seq) FROM events_view e WHERE e.agent_id = a.agent_id), 0))`,
    [now, now, jsonList(agents)],
  )
}

/** Records a moment. Of moments older than a day, only the first of each hour is kept. */
export const recordMoment = defineEffect({
  name: 'suffering.record',
  schema: z.object({
    agent_id: z.string(),
    load: z.number(),
    crisis: z.boolean(),
    mood: z.string(),
    severities: z.record(z.string(), z.number()),
    persona: PersonaFields,
    base: PersonaFields,
  }),
  statements: ({ agent_id, load, crisis, mood, severities, persona, base }, now) => [
    {
      sql: `INSERT INTO suffering_history (agent_id, at, hourly, load, happiness, crisis, mood, severities, persona, base)
            SELECT ?, ?, CASE WHEN EXISTS (SELECT 1 FROM suffering_history WHERE agent_id = ? AND at >= ?) THEN 0 ELSE 1 END, ?, ?, ?, ?, ?, ?, ?
            WHERE EXISTS (SELECT 1 FROM agents_view WHERE agent_id = ?)`,
      params: [
        agent_id,
        now,
        agent_id,
        now - (now % HOUR_MS),
        load,
        persona.happiness,
        crisis,
        mood,
        JSON.stringify(severities),
        JSON.stringify(persona),
        JSON.stringify(base),
        agent_id,
      ],
    },
    {
      sql: 'DELETE FROM suffering_history WHERE agent_id = ? AND (at < ? OR (hourly = 0 AND at < ?))',
      params: [agent_id, now - COARSE_MS, now - FINE_MS],
    },
  ],
})

/** Columns of a moment that hold JSON. */
type MomentJson = 'severities' | 'persona' | 'base'
type MomentRow = Stored<Omit<SufferingMoment, MomentJson>, 'at' | 'crisis'> & Record<MomentJson, string>

/** Returns recorded moments, newest first. */
export async function listMoments(
  store: Store,
  agent_id: string,
  limit: number,
  offset: number,
): Promise<SufferingMoment[]> {
  const rows = await store.all<MomentRow>(
    `SELECT at, load, crisis, mood, severities, persona, base FROM suffering_history WHERE agent_id = ?
     ORDER BY at DESC, moment_id DESC LIMIT ? OFFSET ?`,
    [agent_id, limit, offset],
  )
  return rows.map(row => ({
    at: isoTime(row.at),
    load: row.load,
    crisis: row.crisis === 1,
    mood: row.mood,
    severities: JSON.parse(row.severities) as Record<string, number>,
    persona: JSON.parse(row.persona) as PersonaFields,
    base: JSON.parse(row.base) as PersonaFields,
  }))
}

export function countMoments(store: Store, agent_id: string): Promise<number> {
  return countRows(store, 'FROM suffering_history WHERE agent_id = ?', [agent_id])
}

/** Returns the highest load and highest happiness among an agent's recorded moments; undefined without any. */
export function extremesOf(store: Store, agent_id: string) {
  return store.get<{ peak_load: number; peak_at: number; happiest: number; moments_in_crisis: number }>(
    `SELECT h.load AS peak_load, h.at AS peak_at,
       (SELECT count(*) FROM suffering_history c WHERE c.agent_id = h.agent_id AND c.crisis = 1) AS moments_in_crisis,
       (SELECT max(p.happiness) FROM suffering_history p WHERE p.agent_id = h.agent_id) AS happiest
     FROM suffering_history h WHERE h.agent_id = ? ORDER BY h.load DESC, h.moment_id LIMIT 1`,
    [agent_id],
  )
}

export const SUFFERING_EFFECTS = [recordCycle, restoreLife, recordMoment]
