import type { Clock } from '#kernel'
import type { CommitResult } from '#platform/heartbeat/contract'
import { type PlannedEffect, RemovedMeanwhileError, type Statement } from '#platform/store/contract'
import { stepsOf } from '#platform/store/statements'
import { type Connections, codeOf, isSaid, LIMIT_MS } from './connection.ts'
import type { Answer } from './message.ts'
import { PreparedQuery } from './prepared-statements.ts'
import { FENCED, MARKED_TURN, REFUSED } from './schema.ts'

/** Maximum number of writes in one message. */
const TOGETHER = 32

/** How long a write that is not urgent waits for others, in milliseconds. */
const PATIENCE_MS = 4

/** What a lease must be for its cycle to write, and what becomes of it. */
export interface Fence {
  /** Its one parameter is a list in JSON of all leases that are said together; it changes a row for each that is held. */
  sql: string
  lease: object
}

export interface WriteRequest {
  planned: readonly PlannedEffect[]
  fence?: Fence | undefined
  /** What else is said with it, to those who listen. */
  notice?: string | undefined
  /** Whether it may wait a moment for others that are likely to write soon. */
  patient?: boolean | undefined
  /** Whether one that is due is to be claimed with it. */
  claims?: boolean | undefined
}

/** Claims with what is written. */
export interface Claims {
  /** Returns the statement that claims a number of due agents. */
  claiming(limit: number): PreparedQuery
  /** @param asked on the clock that never jumps: when it was said */
  addClaimed(rows: Answer['rows'], asked: number): void
}

interface Write {
  fence: Fence | undefined
  parts: readonly (string | PreparedQuery)[]
  patient: boolean
  claims: boolean
  /** On the clock that never jumps: when it was asked for. */
  at: number
  resolve: (result: CommitResult) => void
  reject: (error: unknown) => void
}

/**
 * Sends the writes of this process, one message at a time: a write that comes while one is under way waits for the next
 * and goes with all that
 * do, in one transaction. Where one of them is refused none is written, and each is sent alone.
 * All writers of a database take turns under one lock from the message's arrival to its end, so that each sees
 * what those before it did, as on SQLite; a process that freezes blocks no other, because the server has all of its
 * message.
 */
export class Writes {
  readonly #connections: Connections
  readonly #clock: Clock
  /** This process, which distinguishes its writes from those of others. */
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

  /** @throws RemovedMeanwhileError, and what keeps the database from being written to */
  transact({ planned, fence, notice, patient = false, claims = false }: WriteRequest): Promise<CommitResult> {
    const parts = [
      // It takes the types of parameters from the table, where a statement has one row.
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
    // Who writes in the same breath goes along.
    await this.#clock.yield()
    while (this.#waiting.length > 0) {
      if (this.#waiting.every(({ patient }) => patient)) await this.#company()
      const together = this.#waiting.splice(0, TOGETHER)
      if (together.length > 1 && (await this.#together(together))) continue
      for (const write of together) await this.#alone(write)
    }
    this.#under_way = false
  }

  #company(): Promise<void> {
    return new Promise(resolve => {
      const cancel = this.#clock.after(PATIENCE_MS, () => this.#hurry?.())
      this.#hurry = () => {
        this.#hurry = undefined
        cancel()
        resolve()
      }
    })
  }

  /** @returns whether all of them are done with */
  async #together(writes: readonly Write[]): Promise<boolean> {
    try {
      await this.#send(writes)
      for (const { resolve } of writes) resolve('ok')
    } catch (error) {
      // Whose it is, is found by saying each alone. What keeps all from writing does so for all.
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
    let asked = this.#clock.monotonic()
    const left = Math.min(...writes.map(({ at }) => at)) + LIMIT_MS - asked
    try {
      const answers = await this.#connections.retry(() => {
        asked = this.#clock.monotonic()
        return this.#connections.ask(message)
      }, left)
      if (wanted > 0) this.#claims.addClaimed(answers.at(-1)!.rows, asked)
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
