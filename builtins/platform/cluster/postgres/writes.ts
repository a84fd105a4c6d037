import type { Clock } from '#kernel'
import type { CommitResult } from '#platform/heartbeat/contract'
import { type PlannedEffect, RemovedMeanwhileError, type Statement } from '#platform/store/contract'
import { stepsOf } from '#platform/store/statements'
import { type Connections, codeOf, isSaid, LIMIT_MS } from './connection.ts'
import type { Answer } from './message.ts'
import { PreparedQuery } from './prepared-statements.ts'
import { FENCED, MARKED_TURN, REFUSED } from './schema.ts'

/** Maximum number of writes in one message. */
const BATCH_SIZE = 32

/** How long a write that is not urgent waits for others, in milliseconds. */
const PATIENCE_MS = 4

/** Condition that a lease must meet for its cycle to write, and the change to the lease. */
export interface Fence {
  /** Statement with one parameter, a JSON list of leases; it changes one row for each lease that is held. */
  sql: string
  lease: object
}

export interface WriteRequest {
  planned: readonly PlannedEffect[]
  fence?: Fence | undefined
  /** Statement that notifies listeners, sent with the write. */
  notice?: string | undefined
  /** Whether the write may wait a moment for others that are likely to come soon. */
  patient?: boolean | undefined
  /** Whether to claim one due agent in the same message. */
  claims?: boolean | undefined
}

/** Claims that are sent with writes. */
export interface Claims {
  /** Returns the statement that claims a number of due agents. */
  claiming(limit: number): PreparedQuery
  /** @param sent_at time at which the claim was sent, by the monotonic clock */
  addClaimed(rows: Answer['rows'], sent_at: number): void
}

interface Write {
  fence: Fence | undefined
  parts: readonly (string | PreparedQuery)[]
  patient: boolean
  claims: boolean
  /** Time of the request, by the monotonic clock. */
  at: number
  resolve: (result: CommitResult) => void
  reject: (error: unknown) => void
}

/**
 * Sends the writes of this process, one message at a time. Writes that arrive meanwhile are sent together in the next
 * message, as one transaction. If one of them is refused, none is written, and each is sent alone. All writers of a
 * database take turns under one lock, held from the arrival of the message to its end, so that each sees all earlier
 * writes, as on SQLite. A process that freezes blocks no other, because the server has the whole message.
 */
export class Writes {
  readonly #connections: Connections
  readonly #clock: Clock
  /** Name of this process, which distinguishes its writes from those of others. */
  readonly #owner: string
  readonly #claims: Claims
  #waiting: Write[] = []
  #under_way = false
  #hurry: (() => void) | undefined
  #count = 0

  constructor(connections: Connections, clock: Clock, owner: string, claims: Claims) {
    this.#connections = connections
    this.#clock = clock
    this.#owner = owner
    this.#claims = claims
  }

  /** @throws RemovedMeanwhileError, and errors that keep the database from being written to */
  transact({ planned, fence, notice, patient = false, claims = false }: WriteRequest): Promise<CommitResult> {
    const parts = [
      // One row per statement, so that the server takes the parameter types from the table.
      ...stepsOf(planned, 1).map(({ statement, must }) =>
        must ? changing(statement, 1, REFUSED) : new PreparedQuery(statement.sql, statement.params),
      ),
      ...(notice ? [notice] : []),
    ]
    const at = this.#clock.monotonic()
    return new Promise((resolve, reject) => {
      this.#waiting.push({ fence, parts, patient, claims, at, resolve, reject })
      if (!patient) this.#hurry?.()
      if (!this.#under_way) void this.#go()
    })
  }

  async #go(): Promise<void> {
    this.#under_way = true
    // Writes of the same event loop turn are sent together.
    await this.#clock.yield()
    while (this.#waiting.length > 0) {
      if (this.#waiting.every(({ patient }) => patient)) await this.#waitForOthers()
      const together = this.#waiting.splice(0, BATCH_SIZE)
      if (together.length > 1 && (await this.#together(together))) continue
      for (const write of together) await this.#alone(write)
    }
    this.#under_way = false
  }

  #waitForOthers(): Promise<void> {
    return new Promise(resolve => {
      const cancel = this.#clock.after(PATIENCE_MS, () => this.#hurry?.())
      this.#hurry = () => {
        this.#hurry = undefined
        cancel()
        resolve()
      }
    })
  }

  /** @returns whether all of them are settled; otherwise each must be sent alone */
  async #together(writes: readonly Write[]): Promise<boolean> {
    try {
      await this.#send(writes)
      for (const { resolve } of writes) resolve('ok')
    } catch (error) {
      // Sending each write alone finds the refused one. An error of another kind concerns all writes.
      if (isSaid(error)) return false
      for (const { reject } of writes) reject(error)
    }
    return true
  }

  async #alone(write: Write): Promise<void> {
    try {
      await this.#send([write])
      write.resolve('ok')
    } catch (error) {
      const code = codeOf(error)
      if (code === REFUSED) write.resolve('refused')
      else if (code === FENCED) write.resolve('fenced')
      else write.reject(code === '23503' ? new RemovedMeanwhileError(undefined, { cause: error }) : error)
    }
  }

  /** Sends writes with a marker row. After a lost connection a retry finds the row, or writes again. */
  async #send(writes: readonly Write[]): Promise<void> {
    const turn = new PreparedQuery(MARKED_TURN, [`${this.#owner}/${++this.#count}`])
    const message = [turn, ...fencesOf(writes), ...writes.flatMap(({ parts }) => parts)]
    const wanted = writes.filter(({ claims }) => claims).length
    if (wanted > 0) message.push(this.#claims.claiming(wanted))
    let sent_at = this.#clock.monotonic()
    const left = Math.min(...writes.map(({ at }) => at)) + LIMIT_MS - sent_at
    try {
      const answers = await this.#connections.retry(() => {
        sent_at = this.#clock.monotonic()
        return this.#connections.ask(message)
      }, left)
      if (wanted > 0) this.#claims.addClaimed(answers.at(-1)!.rows, sent_at)
    } catch (error) {
      if (codeOf(error) !== '23505' || (error as { table?: string }).table !== 'svc_writes') throw error
    }
  }
}

/** Returns the fences of writes, one statement for all leases with the same condition. */
function fencesOf(writes: readonly Write[]): PreparedQuery[] {
  const leases = new Map<string, Set<string>>()
  for (const { fence } of writes) {
    if (!fence) continue
    const same = leases.get(fence.sql) ?? new Set()
    leases.set(fence.sql, same.add(JSON.stringify(fence.lease)))
  }
  return [...leases].map(([sql, list]) => changing({ sql, params: [`[${[...list].join()}]`] }, list.size, FENCED))
}

/** Returns a statement that raises an error unless it changes exactly this number of rows. */
function changing({ sql, params = [] }: Statement, rows: number, otherwise: string): PreparedQuery {
  const counted = `WITH svc_change AS (${sql} RETURNING 1) SELECT CASE WHEN count(*) <> ? THEN svc_changed(0, '${otherwise}') END FROM svc_change`
  return new PreparedQuery(counted, [...params, rows])
}
