import { z } from '#kernel'
import {
  AMONG,
  allOf,
  type Condition,
  countRows,
  type Dates,
  datesIn,
  defineEffect,
  EVENT_COLUMNS,
  type EventRow,
  insertInto,
  jsonList,
  type ListWindow,
  listColumn,
  type Store,
} from '#platform/store/contract'
import type { Run } from './contract.ts'
import { COUNTED, Counts } from './counts.ts'

export interface RunRow extends Counts {
  run_id: string
  kind: string
  pid: number
  started_at: number
  ended_at: number | null
  exit: string | null
  /** `RunFacts` as JSON, without those in `settings`. */
  facts: string
  /** `RunSettings` as JSON; null in runs whose `facts` include them. */
  settings: string | null
  agents: number
  /** `seq` of the last event counted in the totals. */
  counted_seq: number
}

export interface RunAgentRow extends Counts {
  agent_id: string
  name: string
  model: string
  first_at: number
  last_at: number
}

/** An event of a run, as it is stored. */
export type RunEventRow = EventRow & { run_id: string }

const TOTALS = COUNTED.join(', ')
const OWN = `run_id, kind, pid, started_at, ended_at, exit, facts, agents, ${TOTALS}, counted_seq`
const COLUMNS = `${OWN}, (SELECT s.facts FROM run_settings s WHERE s.settings_id = runs.settings_id) AS settings`

export function findRun(store: Store, run_id: string): Promise<RunRow | undefined> {
  return store.get<RunRow>(`SELECT ${COLUMNS} FROM runs WHERE run_id = ?`, [run_id])
}

/** Columns of a run's own row, without the settings that it shares with other runs. */
export type BriefRun = Omit<RunRow, 'settings'> & { settings_id: string | null }

/** Returns several runs. */
export function briefRuns(store: Store, run_ids: readonly string[]): Promise<BriefRun[]> {
  return store.many<BriefRun>(`SELECT ${OWN}, settings_id FROM runs WHERE run_id ${AMONG}`, [jsonList(run_ids)])
}

/** Returns recent ended runs without totals: their process may have died before it added them up. */
export function uncountedRuns(store: Store): Promise<RunRow[]> {
  return store.all<RunRow>(
    `SELECT ${COLUMNS} FROM runs WHERE ended_at IS NOT NULL AND counted_seq = 0 AND run_id IN
       (SELECT run_id FROM runs ORDER BY started_at DESC, run_id DESC LIMIT 1000)`,
  )
}

/** Filter of a list of runs. */
export interface RunFilter extends Dates {
  kind?: string | undefined
  status?: Run['status'] | undefined
  agent_id?: string | undefined
  /** Open runs whose process is alive. */
  alive: readonly string[]
}

export function listRuns(
  store: Store,
  filter: RunFilter,
  { limit = -1, offset = 0, order = 'newest' }: ListWindow,
): Promise<RunRow[]> {
  const { where, params } = condition(filter)
  const way = order === 'newest' ? 'DESC' : 'ASC'
  return store.all<RunRow>(
    `SELECT ${COLUMNS} FROM runs WHERE ${where} ORDER BY started_at ${way}, run_id ${way} LIMIT ? OFFSET ?`,
    [...params, limit, offset],
  )
}

export function countRuns(store: Store, filter: RunFilter): Promise<number> {
  const { where, params } = condition(filter)
  return countRows(store, `FROM runs WHERE ${where}`, params)
}

function condition({ kind, status, agent_id, alive, ...dates }: RunFilter): Condition {
  const parts: Condition[] = datesIn('started_at', dates)
  const living = { where: `run_id ${AMONG}`, params: [jsonList(alive)] }
  if (kind !== undefined) parts.push({ where: 'kind = ?', params: [kind] })
  if (status === 'running') parts.push(living)
  if (status === 'ended') parts.push({ where: "ended_at IS NOT NULL AND exit <> 'crashed'", params: [] })
  if (status === 'crashed')
    parts.push({ where: `(exit = 'crashed' OR ended_at IS NULL AND NOT ${living.where})`, params: living.params })
  if (agent_id !== undefined)
    parts.push({
      where: 'EXISTS (SELECT 1 FROM run_agents a WHERE a.run_id = runs.run_id AND a.agent_id = ?)',
      params: [agent_id],
    })
  return allOf(parts)
}

export function openRuns(store: Store): Promise<RunRow[]> {
  return store.all<RunRow>(`SELECT ${COLUMNS} FROM runs WHERE ended_at IS NULL`)
}

/** Returns ended runs, without the newest `keep`. */
export function oldRuns(store: Store, keep: number): Promise<string[]> {
  return listColumn(
    store,
    'SELECT run_id FROM runs WHERE ended_at IS NOT NULL ORDER BY started_at DESC, run_id DESC LIMIT 9223372036854775807 OFFSET ?',
    [keep],
  )
}

/** Returns the `seq` before the first uncounted event of any open run. An idle run delays no other. */
export async function lastCountedSeq(store: Store): Promise<number> {
  const row = await store.get<{ seq: number | null }>(
    `SELECT min(first) AS seq FROM (SELECT (SELECT min(seq) FROM events_view e WHERE e.run_id = runs.run_id AND seq > runs.counted_seq) AS first
       FROM runs WHERE ended_at IS NULL) uncounted`,
  )
  return row?.seq == null ? Number.MAX_SAFE_INTEGER : row.seq - 1
}

/** Returns a run's agents, in the order of their first event. */
export function listRunAgents(store: Store, run_id: string): Promise<RunAgentRow[]> {
  return store.all<RunAgentRow>(
    `SELECT agent_id, name, model, first_at, last_at, ${TOTALS} FROM run_agents WHERE run_id = ? ORDER BY first_at, agent_id`,
    [run_id],
  )
}

/** Returns a run's agents that match a reference: one by id, or all with that name. */
export function findRunAgents(store: Store, run_id: string, ref: string): Promise<RunAgentRow[]> {
  return store.all<RunAgentRow>(
    `SELECT agent_id, name, model, first_at, last_at, ${TOTALS} FROM run_agents
     WHERE run_id = ? AND (agent_id = ? OR name = ?) ORDER BY agent_id`,
    [run_id, ref, ref],
  )
}

export function agentNamed(store: Store, agent_id: string) {
  return store.get<{ name: string; model: string }>('SELECT name, model FROM agents_view WHERE agent_id = ?', [
    agent_id,
  ])
}

/** Returns a run's events after `seq`, oldest first. */
export function runEvents(store: Store, run_id: string, after: number, limit: number): Promise<RunEventRow[]> {
  return store.all<RunEventRow>(
    `SELECT ${EVENT_COLUMNS} FROM events_view WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?`,
    [run_id, after, limit],
  )
}

/** Returns the events of several runs, run by run, oldest first. */
export function eventsOf(store: Store, run_ids: readonly string[], limit: number): Promise<RunEventRow[]> {
  return store.many<RunEventRow>(
    `SELECT ${EVENT_COLUMNS} FROM events_view WHERE run_id ${AMONG} ORDER BY run_id, seq LIMIT ?`,
    [jsonList(run_ids), limit],
  )
}

/** Returns the runs that have events after `seq`. */
export async function runsSince(store: Store, seq: number): Promise<string[]> {
  const rows = await store.all<{ run_id: string | null }>('SELECT DISTINCT run_id FROM events_view WHERE seq > ?', [
    seq,
  ])
  return rows.flatMap(({ run_id }) => run_id ?? [])
}

export async function lastEventAt(store: Store, run_id: string): Promise<number | undefined> {
  const row = await store.get<{ at: number }>('SELECT at FROM events_view WHERE run_id = ? ORDER BY seq DESC LIMIT 1', [
    run_id,
  ])
  return row?.at
}

/** Returns the objectives of goals whose agents still exist. */
export async function objectivesOf(store: Store, goal_ids: readonly string[]): Promise<Map<string, string>> {
  const rows = await store.all<{ goal_id: string; objective: string }>(
    `SELECT goal_id, objective FROM goals_view WHERE goal_id ${AMONG}`,
    [jsonList(goal_ids)],
  )
  return new Map(rows.map(({ goal_id, objective }) => [goal_id, objective]))
}

/** Inserts a run; refused when the id exists. */
export const insertRun = defineEffect({
  name: 'runs.insert',
  mustChange: true,
  schema: z.object({
    run_id: z.string(),
    kind: z.string(),
    pid: z.int(),
    facts: z.string(),
    settings_id: z.string(),
  }),
  statements: (row, now) => insertInto('runs', { ...row, started_at: now }, 'ON CONFLICT (run_id) DO NOTHING'),
})

/** Stores settings that runs share, or records that they are still in use. */
export const keepSettings = defineEffect({
  name: 'runs.keep_settings',
  schema: z.object({ settings_id: z.string(), facts: z.string() }),
  statements: ({ settings_id, facts }, now) =>
    insertInto(
      'run_settings',
      { settings_id, facts, used_at: now },
      'ON CONFLICT (settings_id) DO UPDATE SET used_at = excluded.used_at',
    ),
})

/** How long unused settings are kept, in milliseconds. A process rewrites those in use each hour. */
const SETTINGS_STAY_MS = 86_400_000

/** Removes settings that no run uses. */
export const dropSettings = defineEffect({
  name: 'runs.drop_settings',
  schema: z.object({}),
  statements: (_, now) => ({
    sql: `DELETE FROM run_settings WHERE used_at < ? AND settings_id NOT IN
              (SELECT settings_id FROM runs WHERE settings_id IS NOT NULL)`,
    params: [now - SETTINGS_STAY_MS],
  }),
})

export const endRun = defineEffect({
  name: 'runs.end',
  schema: z.object({ run_id: z.string(), exit: z.string(), at: z.int().optional() }),
  statements: ({ run_id, exit, at }, now) => ({
    sql: 'UPDATE runs SET ended_at = ?, exit = ? WHERE run_id = ? AND ended_at IS NULL',
    params: [at ?? now, exit, run_id],
  }),
})

export const deleteRun = defineEffect({
  name: 'runs.delete',
  schema: z.object({ run_id: z.string() }),
  statements: ({ run_id }) => ({ sql: 'DELETE FROM runs WHERE run_id = ?', params: [run_id] }),
})

const addColumns = (table: string) => COUNTED.map(name => `${name} = ${table}.${name} + ?`).join(', ')

/** Adds the events between two `seq`s to a run's totals; refused when another process has done so. */
export const countRun = defineEffect({
  name: 'runs.count',
  mustChange: true,
  schema: z.object({
    run_id: z.string(),
    from: z.int(),
    to: z.int(),
    totals: Counts,
    agents: z.array(z.object({ agent_id: z.string(), first_at: z.number(), last_at: z.number(), counts: Counts })),
  }),
  statements: ({ run_id, from, to, totals, agents }) => [
    ...agents.map(({ agent_id, first_at, last_at, counts }) => ({
      sql: `INSERT INTO run_agents (run_id, agent_id, name, model, first_at, last_at, ${TOTALS})
            VALUES (?, ?, coalesce((SELECT name FROM agents_view WHERE agent_id = ?), ''),
              coalesce((SELECT model FROM agents_view WHERE agent_id = ?), ''), ?, ?, ${COUNTED.map(() => '?').join(', ')})
            ON CONFLICT (run_id, agent_id) DO UPDATE SET last_at = ?, ${addColumns('run_agents')}`,
      params: [
        run_id,
        agent_id,
        agent_id,
        agent_id,
        first_at,
        last_at,
        ...valuesOf(counts),
        last_at,
        ...valuesOf(counts),
      ],
    })),
    {
      sql: `UPDATE runs SET counted_seq = ?, agents = (SELECT count(*) FROM run_agents WHERE run_id = ?), ${addColumns('runs')}
            WHERE run_id = ? AND counted_seq = ?`,
      params: [to, run_id, ...valuesOf(totals), run_id, from],
    },
  ],
})

function valuesOf(counts: Counts): number[] {
  return COUNTED.map(name => counts[name])
}

export const RUN_EFFECTS = [insertRun, keepSettings, endRun, deleteRun, dropSettings, countRun]
