import { type CommitResult, crashPoint, type Effect, type PluginHandle } from '#kernel'
import {
  type EffectPlanner,
  type EventEnvelope,
  isoTime,
  type PlannedEffect,
  RemovedMeanwhileError,
  type Statement,
  type Store,
  wakeAgents,
} from '../store/contract.ts'
import { type Connections, codeOf } from './connection.ts'
import { Asked } from './kept.ts'
import type { ClusterScheduler } from './scheduler.ts'
import { FENCED, REFUSED, TURN } from './schema.ts'

/** What was read is told again for so long, in milliseconds, when nobody has written; what depends on the time may change. */
const KNOWN_MS = 500
/** So many answers are kept. */
const KNOWN = 50
const WAKE = wakeAgents.kind.name

interface StoreParts {
  connections: Connections
  planner: EffectPlanner
  /** This process, and the machine and project that it is of. */
  owner: string
  place: string
  /** Milliseconds of the wall clock of the database. */
  now: () => number
}

/**
 * Writes effects in one message: one round trip, in which all happens or nothing. All writers take their turn under one lock
 * that lasts from the message's arrival to its end, so that each sees what those before it did, as on SQLite; a process that
 * freezes holds up nobody, because the server has all of what it wanted.
 */
export class ClusterStore implements Store {
  readonly owner: string
  readonly place: string
  readonly #svc: PluginHandle
  readonly #parts: StoreParts
  readonly #known = new Map<string, { state: string; at: number; value: unknown }>()
  #writes = 0
  /** Set right after construction: the two know each other. */
  scheduler!: ClusterScheduler

  constructor(svc: PluginHandle, parts: StoreParts) {
    this.#svc = svc
    this.#parts = parts
    this.owner = parts.owner
    this.place = parts.place
  }

  commit(...[lease, effects, next]: Parameters<Store['commit']>): Promise<CommitResult> {
    return this.scheduler.commit(lease, effects, next)
  }

  async apply(effects: readonly Effect[]): Promise<boolean> {
    return (await this.write(effects, undefined)) === 'ok'
  }

  /** @param fence a statement that changes one row as long as the lease is held */
  async write(effects: readonly Effect[], fence: Statement | undefined, limit_ms?: number): Promise<CommitResult> {
    for (const { effect } of effects) crashPoint('before', effect)
    const planned = this.#parts.planner.plan(effects, this.#parts.now())
    const notice = effects.some(({ effect }) => effect === WAKE) ? this.scheduler.notice() : undefined
    let result = await this.#transact(planned, fence, limit_ms, notice)
    // What has happened in any case is booked, and a lease that was to be given back is.
    const booked = planned.filter(({ always }) => always)
    if (result === 'refused' && (fence || booked.length > 0)) {
      if ((await this.#transact(booked, fence, limit_ms)) === 'fenced') result = 'fenced'
    }
    if (result === 'fenced' && booked.length > 0) await this.#transact(booked, undefined, limit_ms)
    for (const { effect } of effects) crashPoint('after', effect)
    if (result === 'ok') await this.#parts.planner.tell(effects, () => this.scheduler.woken(notice !== undefined))
    return result
  }

  async all<R>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    const { connections } = this.#parts
    const asked = [new Asked(sql, params)]
    const [result] = await connections.trying(() => connections.ask(asked))
    return result!.rows as R[]
  }

  many<R>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    return this.all<R>(sql, params)
  }

  glance<R>(sql: string, params?: readonly unknown[]): Promise<R | undefined> {
    return this.get<R>(sql, params)
  }

  async get<R>(sql: string, params?: readonly unknown[]): Promise<R | undefined> {
    return (await this.all<R>(sql, params))[0]
  }

  async unchanged<T>(key: string, read: () => Promise<T>): Promise<T> {
    const state = await this.#state()
    const now = this.#svc.clock.monotonic()
    const known = this.#known.get(key)
    if (known && known.state === state && now - known.at < KNOWN_MS) return known.value as T
    if (this.#known.size >= KNOWN) this.#known.clear()
    const value = await read()
    if ((await this.#state()) === state) this.#known.set(key, { state, at: now, value })
    return value
  }

  async health(): Promise<void> {
    await this.get('SELECT 1 AS one')
  }

  async events(after: number, limit: number): Promise<EventEnvelope[]> {
    const rows = await this.all<Omit<EventEnvelope, 'at' | 'data'> & { at: number; data: string }>(
      'SELECT seq, type, v, at, agent_id, cycle_num, run_id, data FROM events WHERE seq > ? ORDER BY seq LIMIT ?',
      [after, limit],
    )
    return rows.map(row => ({ ...row, at: isoTime(row.at), data: JSON.parse(row.data) as Record<string, unknown> }))
  }

  /** PostgreSQL gives room back by itself. */
  async shrink(): Promise<number> {
    return 0
  }

  async trimLog(): Promise<void> {}

  elsewhere(place?: string): Promise<boolean> {
    return this.scheduler.nodes.elsewhere(place)
  }

  recover(living: readonly string[]): Promise<number> {
    return this.scheduler.recover(living)
  }

  free(owners: readonly string[]): Promise<number> {
    return this.scheduler.free(owners)
  }

  /** The same text again means that nobody has written anything in between. */
  async #state(): Promise<string> {
    return (await this.get<{ state: string }>('SELECT CAST(pg_current_snapshot() AS text) AS state'))!.state
  }

  /**
   * Whether a write that broke off arrived is known by its row, which goes with it: trying again finds it, or writes it anew.
   * @param notice what else is said with it, to those who listen
   * @returns also `ok` for what an earlier try has written
   */
  async #transact(
    planned: readonly PlannedEffect[],
    fence: Statement | undefined,
    limit_ms: number | undefined,
    notice?: string,
  ): Promise<CommitResult> {
    const { connections } = this.#parts
    const id = `${this.owner}/${++this.#writes}`
    const message = [
      TURN,
      new Asked('INSERT INTO svc_writes (write_id) VALUES (?)', [id]),
      ...(fence ? [changing(fence, FENCED)] : []),
      ...planned.flatMap(({ statements, must }) =>
        statements.map(each => (must ? changing(each, REFUSED) : new Asked(each.sql, each.params))),
      ),
      ...(notice ? [notice] : []),
    ]
    try {
      await connections.trying(() => connections.ask(message), limit_ms)
      return 'ok'
    } catch (error) {
      const code = codeOf(error)
      if (code === REFUSED) return 'refused'
      if (code === FENCED) return 'fenced'
      if (code === '23503') throw new RemovedMeanwhileError(undefined, { cause: error })
      if (code === '23505' && (error as { table?: string }).table === 'svc_writes') return 'ok'
      throw error
    }
  }
}

/** A statement that raises an error unless it changes exactly one row. */
function changing({ sql, params }: Statement, otherwise: string): Asked {
  const counted = `WITH svc_change AS (${sql} RETURNING 1) SELECT svc_changed(count(*), '${otherwise}') FROM svc_change`
  return new Asked(counted, params)
}
