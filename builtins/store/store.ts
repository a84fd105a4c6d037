import { type CommitResult, crashPoint, type Effect, type PluginHandle, parse } from '#kernel'
import {
  appendEvent,
  Effects,
  type EventEnvelope,
  isoTime,
  RemovedMeanwhileError,
  type Statement,
  type Store,
  wakeAgents,
} from './contract.ts'
import type { Database } from './database.ts'
import type { Fence, LocalScheduler } from './scheduler.ts'
import { statementMasker } from './secrets.ts'
import { shrink, trimLog } from './shrink.ts'

/** A must-change effect changed nothing; rolls the transaction back. */
class Refused extends Error {}

/** What was read is told again for so long, in milliseconds, when nobody has written; what depends on the time may change. */
const KNOWN_MS = 500
/** So many answers are kept. */
const KNOWN = 50

/** Turns effects into one transaction, and tells of the events that it recorded once it is done. */
export class SqliteStore implements Store {
  readonly #svc: PluginHandle
  readonly #database: Database
  readonly #mask: (statement: Statement) => Statement
  readonly #known = new Map<string, { state: string; at: number; value: unknown }>()
  /** Set right after construction: the two know each other. */
  scheduler!: LocalScheduler

  constructor(svc: PluginHandle, database: Database) {
    this.#svc = svc
    this.#database = database
    this.#mask = statementMasker(svc)
  }

  commit(...[lease, effects, next]: Parameters<Store['commit']>): Promise<CommitResult> {
    return this.scheduler.commit(lease, effects, next)
  }

  async apply(effects: readonly Effect[]): Promise<boolean> {
    await this.#database.present(this.#svc.ports.files)
    return (await this.write(effects, undefined)) === 'ok'
  }

  async write(effects: readonly Effect[], fence: Fence | undefined): Promise<CommitResult> {
    reach('before', effects)
    const now = this.#svc.clock.ms()
    const planned = effects.map(effect => this.#plan(effect, now))
    const result = await this.#database
      .write(() => {
        const transacted = this.#transact(planned, fence)
        reach('inside', effects)
        return transacted
      })
      .catch(async error => {
        if (error?.code === 'SQLITE_CONSTRAINT_FOREIGNKEY') throw new RemovedMeanwhileError(undefined, { cause: error })
        if (!(error instanceof Refused)) throw error
        // What has happened in any case is booked, and a lease that was to be given back is.
        const booked = planned.filter(({ always }) => always)
        if (fence || booked.length > 0) await this.#database.write(() => this.#transact(booked, fence))
        return 'refused' as const
      })
    reach('after', effects)
    if (result === 'ok') await this.#tell(effects)
    return result
  }

  async all<R>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    return this.#database.waiting(() => this.#database.all<R>(sql, params))
  }

  async many<R>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    return this.#database.waiting(() => this.#database.many<R>(sql, params))
  }

  async unchanged<T>(key: string, read: () => Promise<T>): Promise<T> {
    const state = await this.#database.waiting(() => this.#database.state())
    const now = this.#svc.clock.monotonic()
    const known = this.#known.get(key)
    if (known && known.state === state && now - known.at < KNOWN_MS) return known.value as T
    if (this.#known.size >= KNOWN) this.#known.clear()
    const value = await read()
    if (this.#database.state() === state) this.#known.set(key, { state, at: now, value })
    return value
  }

  async get<R>(sql: string, params?: readonly unknown[]): Promise<R | undefined> {
    return this.#database.waiting(() => this.#database.get<R>(sql, params))
  }

  health(): Promise<void> {
    return this.#database.health(this.#svc.ports.files)
  }

  async events(after: number, limit: number): Promise<EventEnvelope[]> {
    const rows = await this.all<Omit<EventEnvelope, 'at' | 'data'> & { at: number; data: string }>(
      'SELECT seq, type, v, at, agent_id, cycle_num, run_id, data FROM events WHERE seq > ? ORDER BY seq LIMIT ?',
      [after, limit],
    )
    return rows.map(row => ({ ...row, at: isoTime(row.at), data: JSON.parse(row.data) as Record<string, unknown> }))
  }

  shrink(signal: AbortSignal): Promise<number> {
    return shrink(this.#database, this.#svc.clock, signal)
  }

  trimLog(): Promise<void> {
    return trimLog(this.#database, this.#svc.ports.files)
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

  #plan(effect: Effect, now: number): Planned {
    const kind = this.#svc.find(Effects, effect.effect)
    if (!kind) throw new Error(`no plugin knows the effect "${effect.effect}"`)
    const payload = parse(kind.schema, effect.payload, `The effect ${effect.effect}`)
    return {
      statements: kind.statements(payload as never, now).map(this.#mask),
      must: kind.mustChange ?? false,
      always: kind.always ?? false,
    }
  }

  #transact(planned: readonly Planned[], fence: Fence | undefined): CommitResult {
    const fenced = fence !== undefined && this.#database.run(fence) === 0
    for (const { statements, must, always } of planned) {
      if (fenced && !always) continue
      for (const statement of statements) {
        const changes = this.#database.run(statement)
        if (must && changes !== 1) throw new Refused()
      }
    }
    return fenced ? 'fenced' : 'ok'
  }

  /** Nothing is announced that did not happen: hooks fire here, after the transaction. */
  async #tell(effects: readonly Effect[]): Promise<void> {
    for (const { effect, payload } of effects) {
      if (effect === wakeAgents.kind.name) this.scheduler.notify()
      if (effect !== appendEvent.kind.name) continue
      const { type, data } = payload as { type: never; data: never }
      if (this.#svc.events.has(type)) await this.#svc.emit(type, data)
    }
  }
}

function reach(point: string, effects: readonly Effect[]): void {
  for (const { effect } of effects) crashPoint(point, effect)
}

interface Planned {
  statements: readonly Statement[]
  must: boolean
  always: boolean
}
