import { type Effect, errorMessage, type PluginHandle } from '#kernel'
import { crashPoint } from '#lib/crash-point'
import { inRound } from '#lib/poller'
import { recordInput, recordingContext } from '#lib/recording-context'
import type { CommitResult } from '#platform/heartbeat/contract'
import {
  type EffectPlanner,
  EVENT_COLUMNS,
  type EventEnvelope,
  type EventRow,
  type NeighbourWrites,
  type PlannedEffect,
  RemovedMeanwhileError,
  type Store,
  shownEvent,
} from './contract.ts'
import type { Fence, LocalScheduler } from './scheduler.ts'
import type { Database } from './sqlite/database.ts'
import { shortLog, shrink, trimLog } from './sqlite/shrink.ts'
import { stepsOf } from './statements.ts'
import { WriteNames } from './write-names.ts'

/** Thrown when a must-change effect changed nothing, to roll the transaction back. */
class MustChangeRefused extends Error {}

/**
 * Maximum number of events per INSERT. SQLite allows 500; more than 100 saves little, and each count needs its own
 * prepared statement.
 */
const EVENTS_TOGETHER = 100

/**
 * How long a read is cached while nothing is written, in milliseconds. It is short because results may depend on the
 * time.
 */
const KNOWN_MS = 500
/** Interval of the check for writes, in milliseconds. */
const LOOK_MS = 1_000
/** Maximum number of cached results. */
const KNOWN = 50

/** Applies effects in one transaction, and emits the recorded events after the commit. */
export class SqliteStore implements Store {
  readonly #svc: PluginHandle
  readonly #database: Database
  readonly #planner: EffectPlanner
  readonly #names = new WriteNames()
  /** Callers that wait for a write; each receives the current state. */
  readonly #followers = new Set<(state: string) => void>()
  #cancelLook: (() => void) | undefined
  readonly #known = new Map<string, { state: string; at: number; value: unknown }>()
  /** Set right after construction, because the two refer to each other. */
  scheduler!: LocalScheduler
  readonly place = ''

  constructor(svc: PluginHandle, database: Database, planner: EffectPlanner) {
    this.#svc = svc
    this.#database = database
    this.#planner = planner
  }

  commit(...[lease, effects, next]: Parameters<Store['commit']>): Promise<CommitResult> {
    return this.scheduler.commit(lease, effects, next)
  }

  async apply(effects: readonly Effect[]): Promise<boolean> {
    this.#database.present(this.#svc.ports)
    return (await this.write(effects, undefined, this.#svc.clock.ms())) === 'ok'
  }

  async write(
    effects: readonly Effect[],
    fence: Fence | undefined,
    now: number,
    beside?: () => void,
  ): Promise<CommitResult> {
    reach('before', effects)
    let planned: PlannedEffect[]
    try {
      planned = this.#planner.plan(effects, now)
    } catch (error) {
      const booked = this.#planner.planAlways(effects, now)
      if (booked.length > 0) await this.#database.write(() => this.#transact(booked, undefined))
      throw error
    }
    const what = recordingContext() ? this.#names.of(effects) : undefined
    let result: CommitResult
    try {
      result = await this.#database.write(
        () => {
          const transacted = this.#transact(planned, fence)
          reach('inside', effects)
          return transacted
        },
        what,
        beside,
      )
    } catch (error) {
      if ((error as { code?: string } | undefined)?.code === 'SQLITE_CONSTRAINT_FOREIGNKEY')
        throw new RemovedMeanwhileError(undefined, { cause: error })
      if (!(error instanceof MustChangeRefused)) throw error
      // `always` effects are still written, and a lease that was to be released is released.
      const booked = planned.filter(({ always }) => always)
      if (fence || booked.length > 0) await this.#database.write(() => this.#transact(booked, fence), undefined, beside)
      result = 'refused'
    }
    reach('after', effects)
    const notified = result === 'ok' ? this.#planner.announce(effects, () => this.scheduler.notify()) : undefined
    if (notified) await notified
    return result
  }

  all<R>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    return this.#database.read(sql, () => this.#database.all<R>(sql, params))
  }

  many<R>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    return this.#database.read(sql, () => this.#database.many<R>(sql, params))
  }

  readCached<T>(key: string, read: () => Promise<T>): Promise<T> {
    return recordInput(key, () => this.#readAgainIfChanged(key, read))
  }

  async #readAgainIfChanged<T>(key: string, read: () => Promise<T>): Promise<T> {
    const state = await this.#database.waiting(() => this.#database.state())
    const now = this.#svc.clock.monotonic()
    const known = this.#known.get(key)
    if (known && known.state === state && now - known.at < KNOWN_MS) return known.value as T
    if (this.#known.size >= KNOWN) this.#known.clear()
    const value = await read()
    if (this.#database.state() === state) this.#known.set(key, { state, at: now, value })
    return value
  }

  waitForChange(seen: string, signal?: AbortSignal): Promise<string> {
    return new Promise(resolve => {
      const tell = (state: string) => {
        if (state === seen && !signal?.aborted) return
        signal?.removeEventListener('abort', leave)
        this.#followers.delete(tell)
        if (this.#followers.size === 0) this.#rest()
        resolve(state)
      }
      const leave = () => tell(seen)
      signal?.addEventListener('abort', leave, { once: true })
      this.#followers.add(tell)
      if (signal?.aborted) leave()
      else this.#follow()
    })
  }

  /** Checks for writes once for all waiting callers. */
  #follow(): void {
    this.#cancelLook ??= inRound(this.#svc.clock, LOOK_MS, () => {
      this.#cancelLook = undefined
      const state = this.#stateNow()
      if (state !== undefined) for (const tell of this.#followers) tell(state)
      if (this.#followers.size > 0) this.#follow()
    })
  }

  #rest(): void {
    this.#cancelLook?.()
    this.#cancelLook = undefined
  }

  /** Returns the current state; undefined when it cannot be read, so that the next check tries again. */
  #stateNow(): string | undefined {
    try {
      return this.#database.state()
    } catch (error) {
      this.#svc.log.debug({}, `cannot check whether the database has changed: ${errorMessage(error)}`)
      return undefined
    }
  }

  get<R>(sql: string, params?: readonly unknown[]): Promise<R | undefined> {
    return this.#database.read(sql, () => this.#database.get<R>(sql, params))
  }

  glance<R>(sql: string, params?: readonly unknown[]): R | undefined | Promise<R | undefined> {
    if (recordingContext()) return this.get<R>(sql, params)
    try {
      return this.#database.get<R>(sql, params)
    } catch {
      // `get` waits for a lock, and reports errors.
      return this.get<R>(sql, params)
    }
  }

  health(): Promise<void> {
    return this.#database.health(this.#svc.ports)
  }

  async events(after: number, limit: number): Promise<EventEnvelope[]> {
    const sql = `SELECT ${EVENT_COLUMNS} FROM events WHERE seq > ? ORDER BY seq LIMIT ?`
    return (await this.all<EventRow>(sql, [after, limit])).map(shownEvent)
  }

  shrink(signal: AbortSignal): Promise<number> {
    return shrink(this.#database, this.#svc.clock, signal)
  }

  async copyTo(file: string): Promise<void> {
    await this.#database.waiting(() => this.#database.run({ sql: 'VACUUM INTO ?', params: [file] }))
  }

  image(): Promise<Buffer> {
    return this.#database.waiting(() => this.#database.image())
  }

  async startWriteReports(): Promise<NeighbourWrites> {
    const { otherProcesses } = this.#database
    await otherProcesses!.startWriteReports()
    return otherProcesses!
  }

  trimLog(): Promise<void> {
    return trimLog(this.#database, this.#svc.ports.files)
  }

  shortLog(signal: AbortSignal): Promise<void> {
    return shortLog(this.#database, this.#svc.clock, signal)
  }

  /** Always false: the file is on this machine only. */
  async hasOtherDaemons(): Promise<boolean> {
    return false
  }

  get owner(): string {
    return this.scheduler.owner
  }

  recover(living: readonly string[]): Promise<number> {
    return this.scheduler.recover(living)
  }

  free(owners: readonly string[]): Promise<number> {
    return this.scheduler.free(owners)
  }

  #transact(planned: readonly PlannedEffect[], fence: Fence | undefined): CommitResult {
    const fenced = fence !== undefined && !fence()
    const written = fenced ? planned.filter(({ always }) => always) : planned
    for (const { statement, must } of stepsOf(written, EVENTS_TOGETHER)) {
      const changes = this.#database.run(statement)
      if (must && changes !== 1) throw new MustChangeRefused()
    }
    return fenced ? 'fenced' : 'ok'
  }
}

function reach(point: string, effects: readonly Effect[]): void {
  for (const { effect } of effects) crashPoint?.(point, effect)
}
