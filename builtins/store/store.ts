import { type CommitResult, type Effect, type PluginHandle, parse } from '#kernel'
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

/** A must-change effect changed nothing; rolls the transaction back. */
class Refused extends Error {}

/** Turns effects into one transaction, and tells of the events that it recorded once it is done. */
export class SqliteStore implements Store {
  readonly #svc: PluginHandle
  readonly #database: Database
  /** Set right after construction: the two know each other. */
  scheduler!: LocalScheduler

  constructor(svc: PluginHandle, database: Database) {
    this.#svc = svc
    this.#database = database
  }

  commit(...[lease, effects, next]: Parameters<Store['commit']>): Promise<CommitResult> {
    return this.scheduler.commit(lease, effects, next)
  }

  async apply(effects: readonly Effect[]): Promise<boolean> {
    return (await this.write(effects, undefined)) === 'ok'
  }

  async write(effects: readonly Effect[], fence: Fence | undefined): Promise<CommitResult> {
    const now = this.#svc.clock.ms()
    const planned = effects.map(effect => this.#plan(effect, now))
    const result = await this.#database
      .write(() => this.#transact(planned, fence))
      .catch(async error => {
        if (error?.code === 'SQLITE_CONSTRAINT_FOREIGNKEY') throw new RemovedMeanwhileError(undefined, { cause: error })
        if (!(error instanceof Refused)) throw error
        // What has happened in any case is booked, and a lease that was to be given back is.
        const booked = planned.filter(({ always }) => always)
        if (fence || booked.length > 0) await this.#database.write(() => this.#transact(booked, fence))
        return 'refused' as const
      })
    if (result === 'ok') await this.#tell(effects)
    return result
  }

  async all<R>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    return this.#database.waiting(() => this.#database.all<R>(sql, params))
  }

  async many<R>(sql: string, params?: readonly unknown[]): Promise<R[]> {
    return this.#database.waiting(() => this.#database.many<R>(sql, params))
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

  recover(): Promise<number> {
    return this.scheduler.recover()
  }

  #plan(effect: Effect, now: number): Planned {
    const kind = this.#svc.find(Effects, effect.effect)
    if (!kind) throw new Error(`no plugin knows the effect "${effect.effect}"`)
    const payload = parse(kind.schema, effect.payload, `The effect ${effect.effect}`)
    return {
      statements: kind.statements(payload as never, now),
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

interface Planned {
  statements: readonly Statement[]
  must: boolean
  always: boolean
}
