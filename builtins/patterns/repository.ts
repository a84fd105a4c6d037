import { z } from '#kernel'
import type { A2AMessage } from '../a2a/contract.ts'
import { defineEffect, isoTime, type Store } from '../store/contract.ts'
import { PATTERN_ENDS, type PatternRun } from './contract.ts'

const COLUMNS = `pattern_id, name, initiator, participants, task, rounds, status, result, created_at, deadline, ended_at,
  (SELECT count(*) FROM a2a_messages m WHERE m.pattern_id = p.pattern_id) AS messages`

export interface PatternRow {
  pattern_id: string
  name: string
  initiator: string
  participants: string
  task: string
  rounds: number
  status: PatternRun['status']
  result: string | null
  messages: number
  created_at: number
  deadline: number
  ended_at: number | null
}

export function participantsOf({ participants }: PatternRow): string[] {
  return JSON.parse(participants) as string[]
}

export function runOf(row: PatternRow): PatternRun {
  return {
    ...row,
    participants: participantsOf(row),
    result: row.result === null ? null : (JSON.parse(row.result) as Record<string, unknown>),
    created_at: isoTime(row.created_at),
    deadline: isoTime(row.deadline),
    ended_at: row.ended_at === null ? null : isoTime(row.ended_at),
  }
}

export function findRun(store: Store, pattern_id: string): Promise<PatternRow | undefined> {
  return store.get<PatternRow>(`SELECT ${COLUMNS} FROM a2a_patterns p WHERE pattern_id = ?`, [pattern_id])
}

/** Newest first. */
export function listRuns(store: Store, limit: number, offset: number): Promise<PatternRow[]> {
  return store.all<PatternRow>(
    `SELECT ${COLUMNS} FROM a2a_patterns p ORDER BY created_at DESC, pattern_id LIMIT ? OFFSET ?`,
    [limit, offset],
  )
}

export async function countRuns(store: Store): Promise<number> {
  return (await store.get<{ n: number }>('SELECT count(*) AS n FROM a2a_patterns'))?.n ?? 0
}

export async function runningOf(store: Store, initiator: string): Promise<number> {
  const row = await store.get<{ n: number }>(
    "SELECT count(*) AS n FROM a2a_patterns WHERE initiator = ? AND status = 'running'",
    [initiator],
  )
  return row?.n ?? 0
}

export function running(store: Store): Promise<{ pattern_id: string }[]> {
  return store.all("SELECT pattern_id FROM a2a_patterns WHERE status = 'running' ORDER BY deadline LIMIT 1000")
}

/** The run's messages as a pattern sees them, oldest first. */
export async function messagesOf(store: Store, pattern_id: string): Promise<A2AMessage[]> {
  const rows = await store.all<Omit<A2AMessage, 'ts' | 'metadata' | 'read' | 'expects_reply'> & { at: number }>(
    `SELECT message_id, type, from_agent, coalesce(to_agent, 'operator') AS to_agent, subject, body, reply_to, thread_id,
       priority, created_at AS at FROM a2a_messages WHERE pattern_id = ? ORDER BY seq`,
    [pattern_id],
  )
  return rows.map(({ at, ...row }) => ({ ...row, expects_reply: false, read: true, metadata: {}, ts: isoTime(at) }))
}

export const insertRun = defineEffect({
  name: 'patterns.insert',
  schema: z.object({
    pattern_id: z.string(),
    name: z.string(),
    initiator: z.string(),
    participants: z.array(z.string()),
    task: z.string(),
    rounds: z.number().int(),
    /** Milliseconds from now. */
    within: z.number().int(),
  }),
  statements: ({ pattern_id, name, initiator, participants, task, rounds, within }, now) => [
    {
      sql: `INSERT INTO a2a_patterns (pattern_id, name, initiator, participants, task, rounds, created_at, deadline)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      params: [pattern_id, name, initiator, JSON.stringify(participants), task, rounds, now, now + within],
    },
  ],
})

/** Refused when it does not run any more: it ends once, and sends nothing after that. */
export const endRun = defineEffect({
  name: 'patterns.end',
  mustChange: true,
  schema: z.object({
    pattern_id: z.string(),
    status: z.enum(PATTERN_ENDS),
    result: z.record(z.string(), z.unknown()),
  }),
  statements: ({ pattern_id, status, result }, now) => [
    {
      sql: "UPDATE a2a_patterns SET status = ?, result = ?, ended_at = ? WHERE pattern_id = ? AND status = 'running'",
      params: [status, JSON.stringify(result), now, pattern_id],
    },
  ],
})

export const PATTERN_EFFECTS = [insertRun, endRun]
