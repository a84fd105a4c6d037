import type { Effect, PluginHandle } from '#kernel'
import { crashPoint } from '#lib/crash-point'
import type { CommitResult } from '#platform/heartbeat/contract'
import {
  type EffectPlanner,
  EVENT_COLUMNS,
  type EventEnvelope,
  type EventRow,
  type PlannedEffect,
  type Store,
  shownEvent,
  wakeAgents,
} from '#platform/store/contract'
import type { Connections } from './postgres/connection.ts'
import { PreparedQuery } from './postgres/prepared-statements.ts'
import { type Fence, type WriteRequest, Writes } from './postgres/writes.ts'
import type { ClusterScheduler } from './scheduler.ts'

/** Maximum age of a cached read without writes in between, in milliseconds, because reads may depend on the time. */
const KNOWN_MS = 500
/** Polling interval of followers, in milliseconds. Other nodes write all the time. */
const LOOK_MS = 1_000
/** Maximum number of cached answers. */
const KNOWN = 50
const WAKE = wakeAgents.kind.name

interface StoreParts {
  connections: Connections
  planner: EffectPlanner
  /** Name of this process, and of its machine and project. */
  owner: string
  place: string
  /** Time of the database's clock, in milliseconds. */
  now: () => number
}

/** Writes effects atomically, in one round trip. */
export class ClusterStore implements Store {
  readonly owner: string
  readonly place: string
  readonly #svc: PluginHandle
  readonly #parts: StoreParts
  readonly #known = new Map<string, { state: string; at: number; value: unknown }>()
  readonly #writes: Writes
  /** Set right after construction, because the two reference each other. */
  scheduler!: ClusterScheduler

  constructor(svc: PluginHandle, parts: StoreParts) {
    this.#svc = svc
    this.#parts = parts
    this.#writes = new Writes(parts.connections, svc.clock, parts.owner, {
      claiming: limit => this.scheduler.claiming(limit),
      addClaimed: (rows, sent_at) => this.scheduler.addClaimed(rows, sent_at),
    })
    this.owner = parts.owner
    this.place = parts.place
  }

  commit(...[lease, effects, next]: Parameters<Store['commit']>): Promise<CommitResult> {
    return this.scheduler.commit(lease, effects, next)
  }

  async apply(effects: readonly Effect[]): Promise<boolean> {
    return (await this.write(effects, undefined)) === 'ok'
  }

  /**
   * @param fence the lease that must still be held
   * @param how see `WriteRequest`
   */
  async write(
    effects: readonly Effect[],
    fence: Fence | undefined,
    how: Pick<WriteRequest, 'patient' | 'claims'> = {},
  ): Promise<CommitResult> {
    for (const { effect } of effects) crashPoint?.('before', effect)
    const { planner } = this.#parts
    let planned: PlannedEffect[]
    try {
      planned = planner.plan(effects, this.#parts.now())
    } catch (error) {
      const booked = planner.planAlways(effects, this.#parts.now())
      if (booked.length > 0) await this.#writes.transact({ planned: booked })
      throw error
    }
    const notice = effects.some(({ effect }) => effect === WAKE) ? this.scheduler.notice() : undefined
    let result = await this.#writes.transact({ planned, fence, notice, ...how })
    // Effects that are always written are written without the refused ones, and the lease is released.
    const booked = planned.filter(({ always }) => always)
    if (result === 'refused' && (fence || booked.length > 0)) {
      if ((await this.#writes.transact({ planned: booked, fence })) === 'fenced') result = 'fenced'
    }
    if (result === 'fenced' && booked.length > 0) await this.#writes.transact({ planned: booked })
    for (const { effect } of effects) crashPoint?.('after', effect)
    if (result === 'ok') await planner.announce(effects, () => this.scheduler.notifyWake(notice !== undefined))
    return result
  }

  async all<R>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    const { connections } = this.#parts
    const queries = [new PreparedQuery(sql, params)]
    const [result] = await connections.retry(() => connections.ask(queries))
    return result!.rows as R[]
  }

  many<R>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    return this.all<R>(sql, params)
  }

  async waitForChange(seen: string, signal?: AbortSignal): Promise<string> {
    await this.#svc.clock.sleep(LOOK_MS, signal)
    return `${seen === '1' ? 2 : 1}`
  }

  glance<R>(sql: string, params?: readonly unknown[]): Promise<R | undefined> {
    return this.get<R>(sql, params)
  }

  async get<R>(sql: string, params?: readonly unknown[]): Promise<R | undefined> {
    return (await this.all<R>(sql, params))[0]
  }

  async readCached<T>(key: string, read: () => Promise<T>): Promise<T> {
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
    const sql = `SELECT ${EVENT_COLUMNS} FROM events WHERE seq > ? ORDER BY seq LIMIT ?`
    return (await this.all<EventRow>(sql, [after, limit])).map(shownEvent)
  }

  /** PostgreSQL frees space by itself. */
  async shrink(): Promise<number> {
    return 0
  }

  async trimLog(): Promise<void> {}

  async shortLog(): Promise<void> {}

  hasOtherDaemons(place?: string): Promise<boolean> {
    return this.scheduler.nodes.hasActiveNodes(place)
  }

  recover(living: readonly string[]): Promise<number> {
    return this.scheduler.recover(living)
  }

  free(owners: readonly string[]): Promise<number> {
    return this.scheduler.free(owners)
  }

  /** Returns a string that changes with each write. */
  async #state(): Promise<string> {
    return (await this.get<{ state: string }>('SELECT CAST(pg_current_snapshot() AS text) AS state'))!.state
  }
}
