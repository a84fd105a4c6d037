import type { Clock, Effect } from '#kernel'
import { crashPoint } from '#lib/crash-point'
import type { CommitResult, Due, Lease, Next, Scheduler } from '#platform/heartbeat/contract'
import { wakeAgents } from '#platform/store/contract'
import type { Nodes } from './nodes.ts'
import { type Connections, Listener } from './postgres/connection.ts'
import { literal } from './postgres/dialect.ts'
import type { Answer } from './postgres/message.ts'
import { PreparedQuery } from './postgres/prepared-statements.ts'
import { TURN } from './postgres/schema.ts'
import type { ClusterStore } from './store.ts'
import type { DatabaseClock } from './time.ts'

/** `run_at` of leases that are never due: paused and dead agents. */
const NEVER = Number.MAX_SAFE_INTEGER
/** Share of its duration after which a lease that was not renewed counts as lost, before others may claim it. */
const LOST_AFTER = 0.8
/** Minimum interval between notices of wakes to other nodes, in milliseconds; the first is sent at once. */
const COALESCED_MS = 5
const CHANNEL = 'svc_wake'
/** Interval at which marks of writes are cleared, in milliseconds. */
const CLEARED_MS = 60_000
/**
 * Number of cycles of this process after which dead rows of its model calls are vacuumed: adding up reservations
 * reads past all of them. The server's own vacuum comes once a minute.
 */
const SWEPT_CYCLES = 1_000

/** Share of a lease; a commit renews the lease if less is left. */
const FRESH = 2 / 3

const PARKED =
  'EXISTS (SELECT 1 FROM agents a WHERE a.agent_id = leases.agent_id AND (a.paused_at IS NOT NULL OR a.died_at IS NOT NULL))'
/** An agent that was ended during its cycle has lost its lease. */
const IS_DEAD = 'EXISTS (SELECT 1 FROM agents a WHERE a.agent_id = leases.agent_id AND a.died_at IS NOT NULL)'
/** A condition that PostgreSQL evaluates row by row in the order of the index, so of a million due rows only the first are read. */
const AWAKE =
  'coalesce((SELECT a.paused_at IS NULL AND a.died_at IS NULL FROM agents a WHERE a.agent_id = leases.agent_id), true)'

/** Selects those leases of a list whose owner and epoch are still the same. */
const HELD = `FROM json_to_recordset(CAST(? AS JSON)) AS held (id TEXT, owner TEXT, epoch BIGINT, rest BIGINT, until BIGINT)
  WHERE leases.id = held.id AND leases.owner = held.owner AND leases.epoch = held.epoch`

/** Share of a heartbeat; an agent that was woken or wants to run earlier than this is not at rest. */
const RESTING = 0.9
/** Compares everything that `listDue` returned again, because an agent woken since has work. */
const passOf = (time: string) => `UPDATE leases SET epoch = leases.epoch + 1, cycle_num = leases.cycle_num + 1,
    passed = leases.passed + 1, woken = 0, claimed_at = ${time}, rested_at = ${time} + ?, run_at = ?
  FROM json_to_recordset(CAST(? AS JSON)) AS seen (id TEXT, epoch BIGINT, run_at BIGINT, wakes BIGINT)
  WHERE leases.id = seen.id AND leases.epoch = seen.epoch AND leases.run_at = seen.run_at AND leases.wakes = seen.wakes
    AND owner IS NULL AND ${AWAKE} RETURNING leases.id`

/**
 * Returns the statement that claims leases. Its parameters: the owner, and the length in milliseconds. The limit is part of the
 * text, because PostgreSQL plans a statement with a parameter as limit anew each time.
 * @param time now, in SQL
 */
function claimOf(time: string, limit: number): string {
  const due = (kind: Lease['kind']) => `SELECT id FROM leases WHERE kind = '${kind}' AND run_at <= (SELECT at FROM now)`
  return `WITH now AS MATERIALIZED (SELECT ${time} AS at),
    sys AS (${due('sys')} FOR UPDATE SKIP LOCKED),
    agents_due AS (${due('agent')} AND ${AWAKE} ORDER BY run_at LIMIT ${limit} FOR UPDATE OF leases SKIP LOCKED)
    UPDATE leases SET owner = ?, epoch = epoch + 1, woken = 0, cycle_num = cycle_num + 1, claimed_at = now.at, run_at = now.at + ?
    FROM now WHERE id IN (SELECT id FROM sys UNION ALL SELECT id FROM agents_due) RETURNING id, kind, epoch, cycle_num`
}

/** Age at which a lease that a commit claimed is claimed again before its cycle begins, in milliseconds. */
const STALE_MS = 200

const pairsOf = (leases: readonly Lease[]) =>
  leases.map(({ id, epoch }) => `(${literal(id)}, ${literal(epoch)})`).join(', ')

export interface ClusterSchedulerParts {
  connections: Connections
  store: ClusterStore
  nodes: Nodes
  /** The database's clock, and this machine's for pauses. */
  time: DatabaseClock
  clock: Clock
  /** URL for notices: a direct connection, also where the others go through a pool. */
  listen_url: string
  lease_ms: number
  heartbeat: () => number
  rest: () => number
}

/** Leases in a database shared by several machines: schedule, lock and recovery in one, on the database's clock. */
export class ClusterScheduler implements Scheduler {
  readonly renew_ms: number
  /** Other nodes announce wakes; polling covers lost notices. */
  readonly poll_ms = 1_000
  readonly #parts: ClusterSchedulerParts
  readonly #listeners = new Set<() => void>()
  /** Time at which each lease was last claimed or renewed, by the monotonic clock. */
  readonly #held = new Map<string, number>()
  /** Claimed with commits and not yet taken by the loop. */
  #ahead: Lease[] = []
  readonly #listener: Listener
  #cancelNotice: (() => void) | undefined
  #noticed = Number.NEGATIVE_INFINITY
  #cleared: number
  /** Number of cycles since the last vacuum. */
  #unswept = 0
  #appeared = Number.NEGATIVE_INFINITY
  #appearing = Promise.resolve()
  /** Whether this node drains; undefined until it is known. */
  #draining: boolean | undefined

  constructor(parts: ClusterSchedulerParts) {
    this.#parts = parts
    this.renew_ms = parts.lease_ms / 3
    this.#cleared = parts.clock.monotonic()
    const { owner } = parts.store
    const onNotice = (from: string | undefined) => {
      if (from !== owner) this.notify()
    }
    this.#listener = new Listener({ url: parts.listen_url, channel: CHANNEL, clock: parts.clock, onNotice })
  }

  get nodes(): Nodes {
    return this.#parts.nodes
  }

  /** Skips rows that other claims have locked, so that no claim waits for another. */
  async claim(limit: number): Promise<Lease[]> {
    const { connections, time, clock } = this.#parts
    // Awaited only the first time: a woken agent must not wait for it.
    const appearing = this.#appear()
    if (this.#draining === undefined) await appearing
    if (this.#draining) return []
    const ahead = await this.#takeAhead(limit)
    if (ahead.length > 0) return ahead
    const message = time.stale ? [this.claiming(limit), `SELECT ${time.sql} AS at`] : [this.claiming(limit)]
    let sent_at = 0
    const { rows } = await time.learn(async () => {
      const [claimed, clockAnswer] = await connections.retry(() => {
        sent_at = clock.monotonic()
        return connections.ask(message)
      })
      return { rows: claimed!.rows, at: clockAnswer && Number(clockAnswer.rows[0]?.at) }
    })
    return this.#leases(rows, sent_at)
  }

  claiming(limit: number): PreparedQuery {
    const { store, time, lease_ms } = this.#parts
    return new PreparedQuery(claimOf(time.sql, limit), [store.owner, lease_ms])
  }

  /** Hands leases that a commit claimed to the loop. */
  addClaimed(rows: Answer['rows'], sent_at: number): void {
    this.#ahead.push(...this.#leases(rows, sent_at))
    // The loop may be asleep, because it found nothing due a moment ago.
    void this.#parts.clock.yield().then(() => this.#ahead.length > 0 && this.notify())
  }

  /** Takes leases claimed with commits. Those that are too old are released. */
  async #takeAhead(limit: number): Promise<Lease[]> {
    const now = this.#parts.clock.monotonic()
    const heldSince = ({ id }: Lease) => this.#held.get(id) ?? 0
    const isFresh = (lease: Lease) => heldSince(lease) > now - this.renew_ms
    const ahead = this.#ahead.filter(isFresh)
    const old = this.#ahead.filter(lease => !isFresh(lease))
    let free = limit
    const taken = ahead.filter(({ kind }) => kind === 'sys' || free-- > 0)
    this.#ahead = ahead.filter(lease => !taken.includes(lease))
    // The agent may have been paused since.
    const stale = taken.filter(lease => lease.kind === 'agent' && heldSince(lease) < now - STALE_MS)
    await this.#unclaim([...old, ...stale])
    return taken.filter(lease => !stale.includes(lease))
  }

  #leases(rows: Answer['rows'], sent_at: number): Lease[] {
    const { owner } = this.#parts.store
    const leases = (rows as unknown as Omit<Lease, 'owner'>[]).map(row => ({ ...row, owner }))
    crashPoint?.('leases claimed')
    for (const { id } of leases) this.#held.set(id, sent_at)
    if (leases.some(({ kind }) => kind === 'sys')) this.#clear()
    return leases
  }

  /** Returns leases whose cycles have not begun. */
  releaseClaimed(): Promise<void> {
    return this.#unclaim(this.#ahead.splice(0))
  }

  async #unclaim(leases: readonly Lease[]): Promise<void> {
    const { time, store } = this.#parts
    if (leases.length === 0) return
    for (const { id } of leases) this.#held.delete(id)
    await this.#write(`UPDATE leases SET owner = NULL, cycle_num = cycle_num - 1, run_at = ${time.sql}
      WHERE owner = ${literal(store.owner)} AND (id, epoch) IN (${pairsOf(leases)})`)
  }

  /**
   * Leaves out agents that are due earlier than their heartbeat: they would have to wait while all modules are asked
   * about them.
   */
  listDue(until: number, limit: number): Promise<Due[]> {
    const { store, time, heartbeat } = this.#parts
    if (this.#draining) return Promise.resolve([])
    const rows = store.all<Due>(
      `SELECT id, epoch, cycle_num, run_at, wakes FROM leases WHERE kind = 'agent' AND owner IS NULL AND run_at <= ?
         AND run_at >= claimed_at + ? AND ${AWAKE} ORDER BY run_at LIMIT ${limit}`,
      [time.toDatabase(until), Math.round(heartbeat() * RESTING)],
    )
    return rows.then(all => all.map(each => ({ ...each, run_at: time.fromDatabase(each.run_at) })))
  }

  async pass(due: readonly Due[], run_at: number): Promise<string[]> {
    const { connections, rest, time } = this.#parts
    const seen = due.map(({ id, epoch, run_at, wakes }) => ({ id, epoch, run_at: time.toDatabase(run_at), wakes }))
    const passing = new PreparedQuery(passOf(time.sql), [rest(), time.toDatabase(run_at), JSON.stringify(seen)])
    const [, passed] = await connections.retry(() => connections.ask([TURN, passing]))
    return passed!.rows.map(({ id }) => String(id))
  }

  /** Retries as long as the leases are valid; those not renewed by then are lost. */
  async renew(held: readonly Lease[]): Promise<Lease[]> {
    const { connections, time, lease_ms, store, clock } = this.#parts
    const began = clock.monotonic()
    const since = Math.min(...held.map(({ id }) => this.#held.get(id) ?? began))
    const text = `UPDATE leases SET run_at = ${time.sql} + ${lease_ms}
      WHERE owner = ${literal(store.owner)} AND (id, epoch) IN (${pairsOf(held)}) AND NOT ${IS_DEAD} RETURNING id`
    try {
      const left = since + lease_ms * LOST_AFTER - began
      const [, renewed] = await connections.retry(() => connections.ask([TURN, text]), Math.max(left, 0))
      const kept = new Set(renewed!.rows.map(({ id }) => id))
      for (const { id } of held) if (kept.has(id)) this.#held.set(id, began)
      return held.filter(({ id }) => !kept.has(id))
    } catch {
      const now = clock.monotonic()
      return held.filter(({ id }) => now - (this.#held.get(id) ?? began) >= lease_ms * LOST_AFTER - this.renew_ms / 2)
    }
  }

  async commit(lease: Lease, effects: readonly Effect[], next: Next): Promise<CommitResult> {
    const { time, lease_ms, rest, store, clock } = this.#parts
    const { id, owner, epoch } = lease
    if (next === 'keep') {
      // Unchanged while most of the lease is left: its place in the index stays, which is most of the cost of a change.
      const sql = `UPDATE leases SET run_at = CASE WHEN run_at > ${time.sql} + ${Math.round(lease_ms * FRESH)} THEN run_at
        ELSE ${time.sql} + ${lease_ms} END ${HELD}`
      return store.write(effects, { sql, lease: { id, owner, epoch } })
    }
    this.#held.delete(id)
    if (++this.#unswept >= SWEPT_CYCLES) this.#sweepUp()
    const rested = `${time.sql} + held.rest`
    // A wake never delays the next cycle.
    const sql = `UPDATE leases SET owner = NULL, rested_at = ${rested}, run_at = CASE WHEN ${PARKED} THEN ${NEVER}
        WHEN woken = 1 THEN least(${rested}, held.until) ELSE held.until END ${HELD}`
    // Cycles that begin together often end together.
    const patient = !clock.held && this.#held.size > 0
    const until = time.toDatabase(next.run_at)
    // Not if the time must be queried first, or the clock is held.
    const claims = next.more && this.#draining === false && !time.stale && !clock.held
    return store.write(effects, { sql, lease: { id, owner, epoch, rest: rest(), until } }, { patient, claims })
  }

  async wake(agents: readonly string[] | undefined, reason: string): Promise<void> {
    await this.#parts.store.apply([wakeAgents({ ...(agents ? { agents } : {}), reason })])
  }

  async nextDue(): Promise<number | null> {
    const { store, time } = this.#parts
    const next = await store.get<{ run_at: number | null }>(
      `SELECT min(run_at) AS run_at FROM (SELECT run_at FROM leases WHERE kind = 'sys' UNION ALL SELECT run_at FROM
       (SELECT run_at FROM leases WHERE kind = 'agent' AND ${AWAKE} ORDER BY run_at LIMIT 1) agent) next`,
    )
    return next?.run_at != null && next.run_at < NEVER ? time.fromDatabase(next.run_at) : null
  }

  onWake(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Makes the loop of this process check for due agents. */
  notify(): void {
    for (const listener of this.#listeners) listener()
  }

  /**
   * Returns, for a commit that wakes agents, the statement that notifies the other nodes when it is committed;
   * undefined if they were notified a moment ago.
   */
  notice(): string | undefined {
    const now = this.#parts.clock.monotonic()
    if (now - this.#noticed < COALESCED_MS) return undefined
    this.#noticed = now
    return this.#notice
  }

  /**
   * Notifies the loop of this process of a wake, and shortly after the other nodes, unless the commit did. A node that
   * misses the notice polls.
   */
  notifyWake(notified = false): void {
    const { connections, clock } = this.#parts
    this.notify()
    if (notified) return
    this.#cancelNotice ??= clock.after(COALESCED_MS, () => {
      this.#cancelNotice = undefined
      this.#noticed = clock.monotonic()
      connections.query(this.#notice).catch(() => {})
    })
  }

  get #notice(): string {
    return `SELECT pg_notify('${CHANNEL}', ${literal(this.#parts.store.owner)})`
  }

  /** Applies a shorter heartbeat from the last start of each agent, not from its next one. */
  async reschedule(): Promise<void> {
    const { heartbeat } = this.#parts
    await this.#write(
      `UPDATE leases SET run_at = claimed_at + ${heartbeat()}
       WHERE owner IS NULL AND run_at > claimed_at + ${heartbeat()} AND run_at < ${NEVER}`,
    )
    this.notify()
  }

  /** Releases leases of dead processes of this project on this machine. Those of other machines expire. */
  async recover(living: readonly string[]): Promise<number> {
    const { time, heartbeat, rest, store } = this.#parts
    const kept = [store.owner, ...living].map(literal)
    // One query per kind, to match the indices: leases that are not overdue are not read.
    for (const kind of ['agent', 'sys']) {
      await this.#write(
        `WITH late AS MATERIALIZED (SELECT ${time.sql} + ${heartbeat()} AS at)
         UPDATE leases SET run_at = CASE WHEN woken = 1 THEN ${time.sql} + ${rest()} ELSE late.at END FROM late
         WHERE kind = '${kind}' AND owner IS NULL AND run_at > (SELECT at FROM late) AND run_at < ${NEVER}`,
      )
    }
    return this.#write(
      `UPDATE leases SET owner = NULL, run_at = ${time.sql}
       WHERE starts_with(owner, ${literal(store.place)}) AND owner NOT IN (${kept.join(', ')})`,
    )
  }

  async free(owners: readonly string[]): Promise<number> {
    if (owners.length === 0) return 0
    const { time } = this.#parts
    const freed = await this.#write(
      `UPDATE leases SET owner = NULL, run_at = ${time.sql} WHERE owner IN (${owners.map(literal).join(', ')})`,
    )
    if (freed > 0) this.notifyWake()
    return freed
  }

  /** Registers this process as a node, again with each renewal. */
  #appear(): Promise<void> {
    const now = this.#parts.clock.monotonic()
    if (now - this.#appeared >= this.renew_ms) {
      this.#appeared = now
      const appearance = this.nodes.appear().then(draining => {
        this.#draining = draining
      })
      this.#appearing = appearance.catch(error => {
        this.#appeared = Number.NEGATIVE_INFINITY
        // Later, the claim that runs with it fails too and reports the cause.
        if (this.#draining === undefined) throw error
      })
    }
    return this.#appearing
  }

  async close(): Promise<void> {
    this.#cancelNotice?.()
    await this.#appearing.catch(() => {})
    await this.#releaseLeases().catch(() => {})
    await this.nodes.leave().catch(() => {})
    await this.#listener.close()
  }

  /** Returns leases that the server granted in an answer that was lost with the connection. */
  async #releaseLeases(): Promise<void> {
    const { connections, time, store } = this.#parts
    if (this.#appeared === Number.NEGATIVE_INFINITY) return
    await connections.ask([
      TURN,
      `UPDATE leases SET owner = NULL, run_at = ${time.sql} WHERE owner = ${literal(store.owner)}`,
    ])
  }

  /** @returns the number of changed rows */
  async #write(text: string): Promise<number> {
    const { connections } = this.#parts
    const [, changed] = await connections.retry(() => connections.ask([TURN, text]))
    return changed!.rowCount ?? 0
  }

  /** Removes marks of writes that will not be retried. */
  #clear(): void {
    const { connections, clock } = this.#parts
    const now = clock.monotonic()
    if (now - this.#cleared < CLEARED_MS) return
    this.#cleared = now
    connections.query("DELETE FROM svc_writes WHERE at < now() - interval '10 minutes'").catch(() => {})
  }

  /** Skips the vacuum if another node runs it. */
  #sweepUp(): void {
    this.#unswept = 0
    this.#parts.connections.query('VACUUM (SKIP_LOCKED) budget_reservations').catch(() => {})
  }
}
