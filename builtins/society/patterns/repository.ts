import { z } from '#kernel'
import {
  AMONG,
  countRows,
  defineEffect,
  insertInto,
  isoTime,
  jsonList,
  listColumn,
  type Statement,
  type Store,
  type Stored,
  usdOf,
} from '#platform/store/contract'
import type { A2AMessage } from '#society/a2a/contract'
import { withdrawMessages } from '#society/a2a/statements'
import { PATTERN_ENDS, type PatternRun } from './contract.ts'

const COLUMNS = `pattern_id, name, initiator, participants, task, rounds, max_micros, max_tokens, spent_micros, spent_tokens, status,
  result, created_at, deadline, ended_at,
  (SELECT count(*) FROM a2a_messages_view m WHERE m.pattern_id = p.pattern_id) AS messages`

export interface PatternRow
  extends Stored<
    Omit<PatternRun, 'participants' | 'budget' | 'spent' | 'waits_for' | 'result'>,
    'created_at' | 'deadline' | 'ended_at'
  > {
  participants: string
  /** null: no limit. */
  max_micros: number | null
  max_tokens: number | null
  /** Set when the run has ended. */
  spent_micros: number
  spent_tokens: number
  result: string | null
}

export interface SpendSum {
  micros: number
  tokens: number
}

/**
 * Returns what a run has cost: the model calls of the agents that it asked, from question to answer, without a goal or
 * on goals created since the question. Calls on older goals are not counted.
 */
export async function spendOfRun(store: Store, pattern_id: string): Promise<SpendSum> {
  const row = await store.get<{ micros: number | null; tokens: number | null }>(
    `SELECT sum(cost_micros) AS micros, sum(input_tokens + output_tokens) AS tokens FROM spend_view s WHERE EXISTS (
       SELECT 1 FROM a2a_messages_view q WHERE q.pattern_id = ? AND q.expects_reply = 1 AND q.to_agent = s.agent_id
         AND s.at >= q.created_at AND s.at <= coalesce((SELECT min(r.created_at) FROM a2a_messages_view r WHERE
           r.reply_to = q.message_id AND r.from_agent = q.to_agent AND r.type <> 'ack'), s.at)
         AND (s.goal_id IS NULL OR EXISTS
           (SELECT 1 FROM goals_view g WHERE g.goal_id = s.goal_id AND g.created_at >= q.created_at)))
     AND s.at >= (SELECT created_at FROM a2a_patterns WHERE pattern_id = ?)`,
    [pattern_id, pattern_id],
  )
  return { micros: row?.micros ?? 0, tokens: row?.tokens ?? 0 }
}

const WAITING = `FROM a2a_patterns p JOIN a2a_messages_view q ON q.pattern_id = p.pattern_id
  WHERE p.status = 'running' AND (p.max_micros IS NOT NULL OR p.max_tokens IS NOT NULL) AND q.to_agent = ? AND q.expects_reply = 1`

/** Returns the SQL condition that a running pattern with a limit waits for an answer of this agent. */
export function isWaitedFor(agent_id: string): Statement {
  return { sql: `EXISTS (SELECT 1 ${WAITING})`, params: [agent_id] }
}

/** Returns the running patterns with a limit that wait for an answer of this agent. */
export function waitingFor(store: Store, agent_id: string): Promise<{ pattern_id: string }[]> {
  return store.all(`SELECT DISTINCT p.pattern_id ${WAITING}`, [agent_id])
}

/** Returns those of these agents that are not alive. */
export async function findMissingAgents(store: Store, agents: readonly string[]): Promise<Set<string>> {
  const rows = await store.all<{ agent_id: string }>(
    `SELECT agent_id FROM agents_view WHERE died_at IS NULL AND agent_id ${AMONG}`,
    [jsonList(agents)],
  )
  const alive = new Set(rows.map(({ agent_id }) => agent_id))
  return new Set(agents.filter(agent_id => !alive.has(agent_id)))
}

/** Returns the delegated goals of a run that have not ended. */
export function openGoals(store: Store, pattern_id: string): Promise<{ goal_id: string; agent_id: string }[]> {
  return store.all(
    `SELECT g.goal_id, g.agent_id FROM delegations_view d JOIN a2a_messages_view m ON m.message_id = d.message_id
     JOIN goals_view g ON g.goal_id = d.goal_id WHERE m.pattern_id = ? AND d.status = 'pending' AND g.status = 'active'`,
    [pattern_id],
  )
}

export function participantsOf({ participants }: Pick<PatternRow, 'participants'>): string[] {
  return JSON.parse(participants) as string[]
}

/** @param spent cost so far, for a running pattern @param waits_for the agents that it waits for */
export function runOf(
  { max_micros, max_tokens, spent_micros, spent_tokens, ...row }: PatternRow,
  spent?: SpendSum,
  waits_for: string[] = [],
): PatternRun {
  const { micros, tokens } = spent ?? { micros: spent_micros, tokens: spent_tokens }
  return {
    ...row,
    budget: { usd: max_micros === null ? null : usdOf(max_micros), tokens: max_tokens },
    spent: { usd: usdOf(micros), tokens },
    participants: participantsOf(row),
    waits_for,
    result: row.result === null ? null : (JSON.parse(row.result) as Record<string, unknown>),
    created_at: isoTime(row.created_at),
    deadline: isoTime(row.deadline),
    ended_at: isoTime(row.ended_at),
  }
}

export function findRun(store: Store, pattern_id: string): Promise<PatternRow | undefined> {
  return store.get<PatternRow>(`SELECT ${COLUMNS} FROM a2a_patterns p WHERE pattern_id = ?`, [pattern_id])
}

/** Returns the runs, newest first. */
export function listRuns(store: Store, limit: number, offset: number): Promise<PatternRow[]> {
  return store.all<PatternRow>(
    `SELECT ${COLUMNS} FROM a2a_patterns p ORDER BY created_at DESC, pattern_id LIMIT ? OFFSET ?`,
    [limit, offset],
  )
}

export function countRuns(store: Store): Promise<number> {
  return countRows(store, 'FROM a2a_patterns')
}

export function runningOf(store: Store, initiator: string): Promise<number> {
  return countRows(store, "FROM a2a_patterns WHERE initiator = ? AND status = 'running'", [initiator])
}

const IS_RUNNING_FOR = "p.status = 'running' AND p.initiator = g.agent_id AND p.created_at >= g.created_at"
/** SQL condition on a goal `g`: a pattern that its agent started during it still runs. */
export const HAS_RUNNING = `EXISTS (SELECT 1 FROM a2a_patterns p WHERE ${IS_RUNNING_FOR})`
/** Returns the running patterns that the agent of a goal started during it, oldest first. */
export function runningFor(store: Store, goal_id: string): Promise<{ pattern_id: string; name: string }[]> {
  return store.all(
    `SELECT p.pattern_id, p.name FROM a2a_patterns p JOIN goals_view g ON ${IS_RUNNING_FOR} WHERE g.goal_id = ?
     ORDER BY p.created_at`,
    [goal_id],
  )
}

/** Returns the active goal that an agent has had since a time, in milliseconds; the newest of several. */
export async function goalSince(store: Store, agent_id: string, time: number): Promise<string | undefined> {
  const goal = await store.get<{ goal_id: string }>(
    `SELECT goal_id FROM goals_view WHERE agent_id = ? AND status = 'active' AND created_at <= ?
     ORDER BY created_at DESC LIMIT 1`,
    [agent_id, time],
  )
  return goal?.goal_id
}

/** Returns the agents that a running pattern waits for. */
export function agentsAsked(store: Store, pattern_id: string): Promise<string[]> {
  return listColumn(
    store,
    `SELECT DISTINCT to_agent FROM a2a_messages_view q WHERE pattern_id = ? AND expects_reply = 1 AND NOT EXISTS
       (SELECT 1 FROM a2a_messages_view r WHERE r.reply_to = q.message_id AND r.from_agent = q.to_agent AND r.type <> 'ack')
     ORDER BY to_agent`,
    [pattern_id],
  )
}

export function listRunning(store: Store): Promise<{ pattern_id: string }[]> {
  return store.all("SELECT pattern_id FROM a2a_patterns WHERE status = 'running' ORDER BY deadline LIMIT 1000")
}

/** Returns the messages of a run in the form for patterns, oldest first. */
export async function messagesOf(store: Store, pattern_id: string): Promise<A2AMessage[]> {
  type Row = Omit<A2AMessage, 'ts' | 'metadata' | 'read' | 'expects_reply'> & { at: number; metadata: string }
  const rows = await store.all<Row>(
    `SELECT message_id, type, from_agent, coalesce(to_agent, 'operator') AS to_agent, subject, body, reply_to, thread_id,
       priority, metadata, created_at AS at FROM a2a_messages_view WHERE pattern_id = ? ORDER BY seq`,
    [pattern_id],
  )
  return rows.map(({ at, metadata, ...row }) => ({
    ...row,
    expects_reply: false,
    read: true,
    metadata: JSON.parse(metadata) as A2AMessage['metadata'],
    ts: isoTime(at),
  }))
}

export const insertRun = defineEffect({
  name: 'patterns.insert',
  schema: z.object({
    pattern_id: z.string(),
    name: z.string(),
    initiator: z.string(),
    participants: z.array(z.string()),
    task: z.string(),
    rounds: z.int(),
    max_micros: z.int().nullable(),
    max_tokens: z.int().nullable(),
    /** Time limit from now, in milliseconds. */
    within: z.int(),
  }),
  statements: ({ participants, within, ...row }, now) =>
    insertInto('a2a_patterns', {
      ...row,
      participants: JSON.stringify(participants),
      created_at: now,
      deadline: now + within,
    }),
})

/** Ends a run. Refused when it is not running, so that it ends once and sends nothing afterwards. */
export const endRun = defineEffect({
  name: 'patterns.end',
  mustChange: true,
  schema: z.object({
    pattern_id: z.string(),
    status: z.enum(PATTERN_ENDS),
    result: z.record(z.string(), z.unknown()),
    spent: z.object({ micros: z.int(), tokens: z.int() }),
  }),
  statements: ({ pattern_id, status, result, spent }, now) => ({
    sql: `UPDATE a2a_patterns SET status = ?, result = ?, spent_micros = ?, spent_tokens = ?, ended_at = ?
          WHERE pattern_id = ? AND status = 'running'`,
    params: [status, JSON.stringify(result), spent.micros, spent.tokens, now, pattern_id],
  }),
})

/** Withdraws the unread messages of an ended run. */
export const withdraw = defineEffect({
  name: 'patterns.withdraw',
  schema: z.object({ pattern_id: z.string() }),
  statements: ({ pattern_id }, now) => withdrawMessages(pattern_id, now),
})

export const PATTERN_EFFECTS = [insertRun, endRun, withdraw]
