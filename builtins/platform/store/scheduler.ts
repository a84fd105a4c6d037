import type { Effect } from '#kernel'
import { crashPoint } from '#lib/crash-point'
import type { CommitResult, Due, Lease, Next, Scheduler } from '#platform/heartbeat/contract'
import type { Database } from './sqlite/database.ts'
import { NEVER } from './statements.ts'

/** Time until a lease expires without renewal or commit, in milliseconds. */
const LEASE_MS = 15_000
const PARKED =
  'EXISTS (SELECT 1 FROM agents_view a WHERE a.agent_id = leases.agent_id AND (a.paused_at IS NOT NULL OR a.died_at IS NOT NULL))'

const DUE_SYS = "SELECT id FROM leases WHERE kind = 'sys' AND run_at <= ?"
const NEXT = `SELECT min(run_at) AS run_at FROM (SELECT run_at FROM leases WHERE kind = 'sys' UNION ALL SELECT run_at FROM
  (SELECT run_at FROM leases WHERE kind = 'agent' AND NOT ${PARKED} ORDER BY run_at LIMIT 1))`
const DUE_AGENTS = `SELECT id FROM (SELECT id FROM leases WHERE kind = 'agent' AND run_at <= ? AND NOT ${PARKED} ORDER BY run_at LIMIT ?)`
const LOOK = `${DUE_SYS} UNION ALL ${DUE_AGENTS} LIMIT 1`
const CLAIM = `UPDATE leases SET owner = ?, epoch = epoch + 1, woken = 0, cycle_num = cycle_num + 1, claimed_at = ?, run_at = ?
  WHERE id IN (${DUE_SYS} UNION ALL ${DUE_AGENTS}) RETURNING id, kind, owner, epoch, cycle_num`
const DUE = `SELECT id, epoch, cycle_num, run_at, wakes FROM leases WHERE kind = 'agent' AND owner IS NULL AND run_at <= ?
  AND NOT ${PARKED} ORDER BY run_at LIMIT ?`
/** Compares all that `due` returned again: an agent woken since then has work. */
const PASS = `UPDATE leases SET epoch = leases.epoch + 1, cycle_num = leases.cycle_num + 1, passed = leases.passed + 1, woken = 0, claimed_at = ?, rested_at = ?, run_at = ?
  FROM (SELECT value ->> 0 AS id, value ->> 1 AS epoch, value ->> 2 AS run_at, value ->> 3 AS wakes FROM json_each(?)) seen
  WHERE leases.id = seen.id AND leases.epoch = seen.epoch AND leases.run_at = seen.run_at AND leases.wakes = seen.wakes
    AND owner IS NULL AND NOT ${PARKED} RETURNING leases.id`
const HELD = 'id = ? AND owner = ? AND epoch = ?'
const UNTIL = `SELECT run_at FROM leases WHERE ${HELD}`
const RENEW = `UPDATE leases SET run_at = ? WHERE ${HELD}`
/** An agent that was ended during its cycle has lost its lease. */
const IS_DEAD = 'EXISTS (SELECT 1 FROM agents_view a WHERE a.agent_id = leases.agent_id AND a.died_at IS NOT NULL)'
const RENEW_LIVE = `${RENEW} AND NOT ${IS_DEAD}`
/** Returns a lease to its state before the claim. */
const UNCLAIM = `UPDATE leases SET owner = NULL, cycle_num = cycle_num - 1, run_at = iif(${PARKED}, ?, ?) WHERE ${HELD}`
const IS_PARKED = `SELECT 1 FROM leases WHERE id = ? AND ${PARKED}`
/** A wake remains set until the agent is claimed, so that a clock set back meanwhile does not delay it. */
const RELEASE = `UPDATE leases SET owner = NULL, rested_at = ?,
  run_at = CASE WHEN ${PARKED} THEN ? WHEN woken THEN ? ELSE ? END WHERE ${HELD}`
/**
 * A start in the future was recorded before the clock was set back. A second process that sees this moves nothing
 * again.
 */
const SET_BACK = `UPDATE leases SET run_at = CASE WHEN run_at >= ? THEN run_at WHEN owner IS NOT NULL THEN min(run_at, ?)
    WHEN woken THEN min(run_at, ?) WHEN claimed_at > ? THEN run_at - ? ELSE min(run_at, ?) END,
  claimed_at = iif(claimed_at > ?, claimed_at - ?, claimed_at), rested_at = min(rested_at, ?)`
/** Minimum backward jump of the wall clock that counts as set back, in milliseconds. */
const SET_BACK_MS = 1_000

export interface LocalSchedulerOptions {
  database: Database
  /** Name of this process in its leases. */
  owner: string
  now: () => number
  /** Monotonic clock, in milliseconds. */
  monotonic: () => number
  /** Milliseconds between two cycles of an agent. */
  heartbeat: () => number
  /** Minimum rest of an agent after a cycle, in milliseconds, even when it is woken. */
  rest: () => number
  /** Checks that the database's files are present. @throws when they were removed */
  present: () => void
  /** Writes effects in one fenced transaction. @param beside a function that runs at the end of the same transaction */
  write: (effects: readonly Effect[], fence: Fence, now: number, beside?: () => void) => Promise<CommitResult>
  wake: (agents: readonly string[] | undefined, reason: string) => Promise<void>
}

/**
 * Checks in the transaction that a lease is held, and renews or releases it. @returns false when another process has
 * taken over
 */
export type Fence = () => boolean

/** Leases in the local database: schedule, lock and recovery in one row. */
export class LocalScheduler implements Scheduler {
  readonly #options: LocalSchedulerOptions
  readonly #listeners = new Set<() => void>()
  #seen: { now: number; monotonic: number }
  /** Leases that commits claimed in advance for the next `claim`, with the time. */
  #ahead: { lease: Lease; at: number }[] = []

  constructor(options: LocalSchedulerOptions) {
    this.#options = options
    this.#seen = { now: options.now(), monotonic: options.monotonic() }
  }

  async claim(limit: number): Promise<Lease[]> {
    const { database } = this.#options
    const now = this.#options.now()
    await this.#followClock(now)
    const ahead = await this.#takeAhead(limit, now)
    if (ahead.length > 0) return ahead
    // Checks without a lock first, so that an idle daemon takes no write lock.
    if (!database.get(LOOK, [now, now, Math.min(limit, 1)])) return []
    this.#options.present()
    const rows = await database.write(() => this.#claim(limit, now))
    crashPoint?.('leases claimed')
    return rows
  }

  /** Claims due leases; must run inside a transaction. */
  #claim(limit: number, now: number): Lease[] {
    const { database, owner } = this.#options
    return database.all<Lease>(CLAIM, [owner, now, now + LEASE_MS, now, now, limit])
  }

  /** Returns leases that commits claimed in advance; old ones are released. */
  async #takeAhead(limit: number, now: number): Promise<Lease[]> {
    const isFresh = ({ at }: { at: number }) => Math.abs(now - at) < LEASE_MS / 2
    const fresh = this.#ahead.filter(isFresh)
    const old = this.#ahead.filter(each => !isFresh(each)).map(({ lease }) => lease)
    let free = limit
    const taken = fresh.filter(({ lease }) => lease.kind === 'sys' || free-- > 0)
    this.#ahead = fresh.filter(each => !taken.includes(each))
    // The agent may have been paused since the claim.
    const parked = taken.filter(({ lease, at }) => at !== now && this.#isParked(lease)).map(({ lease }) => lease)
    await this.#unclaim([...old, ...parked])
    return taken.flatMap(({ lease }) => (parked.includes(lease) ? [] : [lease]))
  }

  #isParked({ id }: Lease): boolean {
    return this.#options.database.get(IS_PARKED, [id]) !== undefined
  }

  releaseClaimed(): Promise<void> {
    return this.#unclaim(this.#ahead.splice(0).map(({ lease }) => lease))
  }

  async #unclaim(leases: readonly Lease[]): Promise<void> {
    const { database } = this.#options
    if (leases.length === 0) return
    const now = this.#options.now()
    await database.write(() => {
      for (const { id, owner, epoch } of leases) database.run({ sql: UNCLAIM, params: [NEVER, now, id, owner, epoch] })
    })
  }

  listDue(until: number, limit: number): Promise<Due[]> {
    const { database } = this.#options
    return database.waiting(() => database.all<Due>(DUE, [until, limit]))
  }

  async pass(due: readonly Due[], run_at: number): Promise<string[]> {
    const { database } = this.#options
    const now = this.#options.now()
    const seen = JSON.stringify(due.map(({ id, epoch, run_at, wakes }) => [id, epoch, run_at, wakes]))
    this.#options.present()
    const params = [now, now + this.#options.rest(), Math.round(run_at), seen]
    const rows = await database.write(() => database.all<{ id: string }>(PASS, params))
    return rows.map(({ id }) => id)
  }

  async renew(held: readonly Lease[]): Promise<Lease[]> {
    const { database } = this.#options
    const until = this.#options.now() + LEASE_MS
    return database.write(() =>
      held.filter(({ id, owner, epoch }) => database.run({ sql: RENEW_LIVE, params: [until, id, owner, epoch] }) === 0),
    )
  }

  async commit(lease: Lease, effects: readonly Effect[], next: Next): Promise<CommitResult> {
    const { database } = this.#options
    const now = this.#options.now()
    const held = [lease.id, lease.owner, lease.epoch]
    const keepLease = () => {
      // There is only one writer at a time, so a read suffices; the row is written only when renewals are late.
      const [row] = database.all<{ run_at: number }>(UNTIL, held)
      if (row && row.run_at < now + LEASE_MS / 2) database.run({ sql: RENEW, params: [now + LEASE_MS, ...held] })
      return row !== undefined
    }
    if (next === 'keep') return this.#options.write(effects, keepLease, now)
    const rested = now + this.#options.rest()
    const run_at = Math.round(next.run_at)
    // A wake never delays the start that the cycle asked for.
    const params = [rested, NEVER, Math.min(rested, run_at), run_at, ...held]
    const release = () => database.run({ sql: RELEASE, params }) === 1
    if (!next.more) return this.#options.write(effects, release, now)
    let taken: Lease[] = []
    const result = await this.#options.write(effects, release, now, () => {
      taken = this.#claim(1, now)
    })
    crashPoint?.('leases claimed')
    for (const lease of taken) this.#ahead.push({ lease, at: now })
    return result
  }

  async wake(agents: readonly string[] | undefined, reason: string): Promise<void> {
    await this.#options.wake(agents, reason)
  }

  async nextDue(): Promise<number | null> {
    await this.#followClock(this.#options.now())
    const next = this.#options.database.get<{ run_at: number | null }>(NEXT)
    return next?.run_at != null && next.run_at < NEVER ? next.run_at : null
  }

  onWake(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Makes this process's loop check for due agents. */
  notify(): void {
    for (const listener of this.#listeners) listener()
  }

  /** Applies a shorter heartbeat, counted from each agent's last start. */
  async reschedule(): Promise<void> {
    const { database, heartbeat } = this.#options
    await database.write(() =>
      database.run({
        sql: 'UPDATE leases SET run_at = min(run_at, claimed_at + ?) WHERE owner IS NULL AND run_at < ?',
        params: [heartbeat(), NEVER],
      }),
    )
    this.notify()
  }

  /**
   * Moves stored times back with the wall clock. They use that clock to survive restarts; otherwise agents would wait
   * until it catches up.
   */
  async #followClock(now: number): Promise<void> {
    const monotonic = this.#options.monotonic()
    const back = Math.round(monotonic - this.#seen.monotonic - (now - this.#seen.now))
    if (back >= SET_BACK_MS) {
      const { database, heartbeat, rest } = this.#options
      await database.write(() =>
        database.run({
          sql: SET_BACK,
          params: [NEVER, now + LEASE_MS, now + rest(), now, back, now + heartbeat(), now, back, now + rest()],
        }),
      )
    }
    // Updated only after the write, so that a write that failed on a full disk is tried again.
    this.#seen = { now, monotonic }
  }

  get owner(): string {
    return this.#options.owner
  }

  /** Releases all leases except those of living processes. Called by the project's only daemon when it starts. */
  async recover(living: readonly string[]): Promise<number> {
    const { database, owner, heartbeat, rest } = this.#options
    const now = this.#options.now()
    const kept = [owner, ...living]
    return database.write(() => {
      // After a start, no agent waits longer than one heartbeat or rests longer than the minimum, whatever the clock
      // was when its row was written.
      database.run({
        sql: `UPDATE leases SET run_at = iif(run_at < ?, min(run_at, iif(woken, ?, ?)), run_at),
              claimed_at = min(claimed_at, ?), rested_at = min(rested_at, ?) WHERE owner IS NULL`,
        params: [NEVER, now + rest(), now + heartbeat(), now, now + rest()],
      })
      return database.run({
        sql: `UPDATE leases SET owner = NULL, run_at = ? WHERE owner IS NOT NULL AND owner NOT IN (${kept.map(() => '?')})`,
        params: [now, ...kept],
      })
    })
  }

  async free(owners: readonly string[]): Promise<number> {
    const { database } = this.#options
    const now = this.#options.now()
    const freed = await database.write(() =>
      database.run({
        sql: `UPDATE leases SET owner = NULL, run_at = ? WHERE owner IN (${owners.map(() => '?')})`,
        params: [now, ...owners],
      }),
    )
    if (freed > 0) this.notify()
    return freed
  }
}
