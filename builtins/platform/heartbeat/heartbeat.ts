import { errorMessage } from '#kernel'
import { Countdown } from '#lib/countdown'
import { inRound, untilRound } from '#lib/poller'
import { CycleEnd, type RecordingBackend, runInContext } from '#lib/recording-context'
import {
  Cycle,
  CycleTimeoutError,
  FencedError,
  type HeartbeatConfig,
  type HeartbeatControl,
  type Lease,
  type Scheduler,
  StoppingError,
} from './contract.ts'
import { type CycleParts, runPhases } from './phases.ts'
import { Sweep } from './sweep.ts'
import { Waker } from './waker.ts'

/** Interval at which the loop looks for what other processes made due, in milliseconds. */
const POLL_MS = 500
/** Pause before a failed round is repeated, in milliseconds. */
const RETRY_MS = 250
const RENEW_MS = 5_000

export interface HeartbeatParts extends CycleParts {
  config: HeartbeatConfig
  scheduler: () => Scheduler
  /** Returns what records or replays the cycles; undefined if nothing does. */
  recording: () => RecordingBackend | undefined
  /** Called once per heartbeat of this process, between two cycles: reloads configuration and plugins. */
  onBeat(count: number): Promise<void>
}

interface Running {
  cycle: Cycle
  abort: CycleEnd
  ended: Promise<void>
  /** Whether its end is being written and emitted. */
  ending?: true
}

/** Claims due agents and runs their cycles concurrently, so that no agent waits for a slow one. */
export class Heartbeat implements HeartbeatControl {
  readonly #parts: HeartbeatParts
  /** Cycles by lease: an agent whose lease was lost may begin another cycle before the first has noticed. */
  readonly #running = new Map<Lease, Running>()
  /** Leases whose end could not be written, with the time at which they are due again. */
  readonly #owed = new Map<Lease, number>()
  /** Time limits of running cycles, by their signals. */
  readonly #timeouts = new WeakMap<AbortSignal, Countdown>()
  readonly #sweep: Sweep
  #loop: Promise<void> | undefined
  #endRenewals: () => Promise<void> = async () => {}
  /** Time of the last renewal of leases, in milliseconds of the wall clock, by which they expire. */
  #renewedAt = 0
  #stop = new AbortController()
  /** Wakes the loop if it sleeps. */
  #wake = () => {}
  /** Whether something may have become due while the loop was not asleep. */
  #hinted = false
  /** Number of wakes since the start. */
  #wakes = 0
  /** Time of the last tick, in milliseconds of the wall clock; it shows whether a daemon stalls. */
  lastTick = 0
  /** Error of the last round, such as a full disk; undefined if the round succeeded. */
  fault: string | undefined

  constructor(parts: HeartbeatParts) {
    this.#parts = parts
    this.#sweep = new Sweep(parts)
  }

  get live(): boolean {
    return this.#loop !== undefined
  }

  /** Number of slots taken; singletons take none. */
  #agents = 0

  /** Whether the end of a cycle frees the only slot, so that it claims the next agent. */
  get #full(): boolean {
    return this.live && !this.#stop.signal.aborted && this.#agents === this.#parts.config.max_concurrent_agents
  }

  /** Ids of the agents whose cycles run in this process now. */
  get inFlight(): string[] {
    return [...new Set([...this.#running.keys()].map(({ id }) => id))]
  }

  /** @throws ServiceMissingError without a scheduler */
  start(): void {
    if (this.#loop) return
    this.#parts.scheduler()
    this.#stop = new AbortController()
    this.#endRenewals = this.#renewals()
    this.#loop = this.#run()
  }

  /**
   * Lets cycles end within the grace period, then aborts them. Resolves when none is left, or when the rest does not
   * react.
   */
  async stop(): Promise<void> {
    if (!this.#loop) return
    const { clock } = this.#parts.ports
    this.#stop.abort()
    this.#wake()
    await this.#loop
    const all = () => Promise.allSettled([...this.#running.values()].map(running => running.ended))
    const calm = new AbortController()
    const grace = () => clock.sleep(this.#parts.config.stop_grace * 1000, calm.signal)
    const ended = all().then(() => calm.abort())
    await Promise.race([ended, grace()])
    for (const { abort } of this.#running.values()) abort.abort(new StoppingError())
    await Promise.race([Promise.all([ended, this.#sweep.whenDone()]), grace()])
    const unclaimed = this.#parts.scheduler().releaseClaimed?.()
    await Promise.all([this.#releaseOwed().catch(() => {}), unclaimed?.catch(() => {}), this.#endRenewals()])
    for (const agent_id of this.inFlight)
      this.#parts.log.warn({ agent_id }, 'a cycle does not stop; the daemon no longer waits for it')
    this.#loop = undefined
  }

  /**
   * Runs what is due now without the loop: the daemon's own heartbeat, or one agent. For projects whose clock a test
   * moves.
   * @param signal ends a cycle at its next safe point
   * @returns the kind of what was run; undefined if nothing was due
   */
  async step(signal?: AbortSignal): Promise<Lease['kind'] | undefined> {
    const scheduler = this.#parts.scheduler()
    const beats = await scheduler.claim(0)
    const leases = beats.length > 0 ? beats : await scheduler.claim(1)
    for (const lease of leases) {
      this.#begin(lease)
      const { abort, ended } = this.#running.get(lease)!
      const stop = () => abort.abort(new StoppingError())
      signal?.addEventListener('abort', stop, { once: true })
      if (signal?.aborted) stop()
      await ended
      signal?.removeEventListener('abort', stop)
    }
    return leases[0]?.kind
  }

  /** Runs a cycle to its end; its lease is already held. */
  async drive(lease: Lease): Promise<void> {
    this.#begin(lease)
    await this.#running.get(lease)?.ended
  }

  /** Checks at once for due agents. */
  hint(): void {
    this.#hinted = true
    this.#wake()
  }

  pauseTimeout(signal: AbortSignal): () => void {
    return this.#timeouts.get(signal)?.pause() ?? (() => {})
  }

  async #run(): Promise<void> {
    const { clock } = this.#parts.ports
    const { points, log } = this.#parts
    const waker = new Waker({ points, clock, log, scheduler: this.#parts.scheduler })
    const woken = this.#parts.scheduler().onWake(() => {
      this.#wakes++
      this.hint()
    })
    const undo = [woken, waker.follow()]
    let beats = 0
    let nextBeat = clock.monotonic()
    while (!this.#stop.signal.aborted) {
      this.lastTick = clock.ms()
      try {
        if (clock.monotonic() >= nextBeat) {
          nextBeat = clock.monotonic() + this.#parts.config.heartbeat * 1000
          await this.#parts.onBeat(++beats)
        }
        await this.#tick(nextBeat)
      } catch (error) {
        // The same error is logged once: the log may be on the full disk.
        const again = this.fault === errorMessage(error)
        this.fault = errorMessage(error)
        if (!again) log.error({ code: (error as { code?: string }).code }, `heartbeat: ${this.fault}`)
        await clock.sleep(RETRY_MS, this.#stop.signal)
      }
    }
    for (const fn of undo) await fn()
  }

  /** Claims up to the free slots, starts the cycles, and sleeps until more may be due. */
  async #tick(nextBeat: number): Promise<void> {
    const { config, ports } = this.#parts
    const scheduler = this.#parts.scheduler()
    // A hint during the beat before is answered by this tick, at the time that it is now.
    this.#hinted = false
    this.lastTick = ports.clock.ms()
    if (this.#owed.size > 0) await this.#releaseOwed()
    // After a sleep of the machine, leases of cycles that still run have expired; they must not be claimed again.
    if (Math.abs(this.lastTick - this.#renewedAt) > 2 * this.#renewMs) await this.#renew()
    await this.#sweep.run(this.inFlight)
    const free = Math.max(config.max_concurrent_agents - this.#agents, 0)
    const leases = await scheduler.claim(free)
    this.fault = undefined
    for (const lease of leases) this.#begin(lease)
    // Cycles may consist of microtasks only; without this yield, nothing else would run.
    await ports.clock.yield()
    if (leases.length > 0 && this.#agents < config.max_concurrent_agents) return
    if (this.#hinted || this.#stop.signal.aborted) return
    // While all slots are taken, no due agent can begin.
    await this.#restUntilDue(nextBeat, leases.length === 0 && free > 0)
  }

  /**
   * Sleeps until something may be due.
   * @param looking whether to check for what other processes made due
   */
  async #restUntilDue(nextBeat: number, looking: boolean): Promise<void> {
    const { clock } = this.#parts.ports
    const scheduler = this.#parts.scheduler()
    for (;;) {
      const due = looking ? await scheduler.nextDue() : null
      const wait = Math.min(nextBeat - clock.monotonic(), due === null ? Number.POSITIVE_INFINITY : due - clock.ms())
      if (wait <= 0 || this.#hinted || this.#stop.signal.aborted) return
      await this.#rest(wait, scheduler.poll_ms ?? POLL_MS)
      if (!looking || this.#hinted || this.#stop.signal.aborted || this.#owed.size > 0) return
      this.lastTick = clock.ms()
    }
  }

  /** Sleeps for `ms`, or until the next poll or `#wake`. */
  #rest(ms: number, poll: number): Promise<void> {
    const { clock } = this.#parts.ports
    return new Promise(resolve => {
      const cancel = ms < untilRound(clock, poll) ? clock.after(ms, resolve) : inRound(clock, poll, resolve)
      this.#wake = () => {
        cancel()
        resolve()
      }
    })
  }

  #begin(lease: Lease): void {
    const abort = new CycleEnd()
    // An earlier cycle of the agent has lost its lease, for example to a restored checkpoint.
    const own = [...this.#running].filter(([{ id }]) => id === lease.id).map(([, running]) => running)
    for (const { abort } of own) abort.abort(new FencedError({ agent_id: lease.id }))
    // A cycle whose end is being written ends before the next begins, with its events.
    const before = own.filter(({ ending }) => ending).map(({ ended }) => ended)
    const scheduler = this.#parts.scheduler()
    const cycle = new Cycle(lease, effects => scheduler.commit(lease, effects, 'keep'), abort.signal)
    const wakes = this.#wakes
    const ended = (lease.kind === 'sys' ? this.#beat(cycle) : this.#runRecorded(cycle, abort, before)).finally(() => {
      const wasFull = this.#agents >= this.#parts.config.max_concurrent_agents
      this.#running.delete(lease)
      if (lease.kind === 'agent') this.#agents--
      const again = cycle.run_at !== undefined && cycle.run_at <= this.#parts.ports.clock.ms()
      // An agent that was woken during its cycle is due again.
      if (wasFull || again || this.#wakes !== wakes) this.hint()
    })
    this.#running.set(lease, { cycle, abort, ended })
    if (lease.kind === 'agent') this.#agents++
  }

  async #runRecorded(cycle: Cycle, abort: CycleEnd, before: readonly Promise<void>[]): Promise<void> {
    const reporting = this.#sweep.reportingOf(cycle.agent_id)
    if (reporting || before.length > 0) await Promise.all([...before, reporting])
    const who = this.#parts.recording()?.begin(cycle.lease, abort)
    await (who ? runInContext(who, () => this.#cycle(cycle, abort)) : this.#cycle(cycle, abort))
  }

  async #cycle(cycle: Cycle, abort: AbortController): Promise<void> {
    const { config, ports, hooks, log } = this.#parts
    const { agent_id, cycle_num } = cycle
    const began = ports.clock.monotonic()
    const seconds = config.cycle_timeout
    const expire = () => abort.abort(new CycleTimeoutError({ agent_id, seconds }))
    const timeout = seconds > 0 ? new Countdown(ports.clock, seconds * 1000, expire) : undefined
    if (timeout) this.#timeouts.set(abort.signal, timeout)
    try {
      await runPhases(cycle, this.#parts)
    } finally {
      timeout?.cancel()
    }
    let run_at = 0
    try {
      // Spending is recorded even if the lease was lost.
      if (cycle.result !== 'fenced' || cycle.effects.length > 0) {
        run_at = cycle.run_at ?? this.#beatAfter(began)
        const running = this.#running.get(cycle.lease)
        if (running) running.ending = true
        const next = this.#full ? { run_at, more: true } : { run_at }
        const committed = await this.#parts.scheduler().commit(cycle.lease, cycle.effects, next)
        if (committed === 'fenced') cycle.result = 'fenced'
        // Something that the cycle relied on has changed in the meantime, such as its goal.
        if (committed === 'refused') cycle.result = 'error'
      }
    } catch (error) {
      cycle.result = 'error'
      this.#owed.set(cycle.lease, run_at)
      log.error({ agent_id, cycle_num }, `the end of the cycle was not written: ${errorMessage(error)}`)
    }
    await hooks.emit('cycle_end', { agent_id, cycle_num, result: cycle.result })
  }

  /** Runs the daemon's own heartbeat: its count is durable, and one process at a time has its lease. */
  async #beat(cycle: Cycle): Promise<void> {
    const { ports, hooks, log } = this.#parts
    const began = ports.clock.monotonic()
    await hooks.emit('beat', { beat: cycle.cycle_num })
    const run_at = this.#beatAfter(began)
    await this.#parts
      .scheduler()
      .commit(cycle.lease, cycle.effects, { run_at })
      .catch(error => {
        this.#owed.set(cycle.lease, run_at)
        log.error({ beat: cycle.cycle_num }, errorMessage(error))
      })
  }

  /**
   * Releases leases whose end could not be written.
   * @throws the error that still prevents writes
   */
  async #releaseOwed(): Promise<void> {
    for (const [lease, run_at] of this.#owed) {
      await this.#parts.scheduler().commit(lease, [], { run_at })
      this.#owed.delete(lease)
    }
  }

  /** Returns the time one heartbeat after `began` (monotonic), by the wall clock as it is now. */
  #beatAfter(began: number): number {
    const { config, ports } = this.#parts
    return ports.clock.ms() + config.heartbeat * 1000 - (ports.clock.monotonic() - began)
  }

  get #renewMs(): number {
    return this.#parts.scheduler().renew_ms ?? RENEW_MS
  }

  /** Renews the leases of running cycles, and aborts the cycles that have lost theirs. */
  async #renew(): Promise<void> {
    const { clock } = this.#parts.ports
    const held = [...this.#running.values()].map(running => running.cycle.lease)
    if (held.length > 0) {
      const lost = await this.#parts
        .scheduler()
        .renew(held)
        .catch(() => [])
      for (const { id, epoch } of lost) {
        const [, running] = [...this.#running].find(([held]) => held.id === id && held.epoch === epoch) ?? []
        running?.abort.abort(new FencedError({ agent_id: id }))
      }
    }
    this.#renewedAt = clock.ms()
  }

  /**
   * Renews leases at an interval.
   * @returns a function that ends the renewals
   */
  #renewals(): () => Promise<void> {
    const stop = new AbortController()
    const { clock } = this.#parts.ports
    const loop = async () => {
      while (!stop.signal.aborted) {
        await clock.sleep(this.#renewMs, stop.signal)
        if (!stop.signal.aborted) await this.#renew()
      }
    }
    const over = loop()
    return () => {
      stop.abort()
      return over
    }
  }
}
