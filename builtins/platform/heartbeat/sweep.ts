import { type EventName, errorMessage, HANDLER_LIMIT_MS, withTimeLimit } from '#kernel'
import { type Due, Guards, type HasWork, neverHasWork, PHASES, type Scheduler } from './contract.ts'
import type { CycleParts } from './phases.ts'

/** Maximum number of agents swept at a time, which takes some ten milliseconds of the event loop. */
const MAX_DUE = 1_000
/** Agents due within this share of a heartbeat are swept along, since a sweep costs nearly the same for one as for many. */
const AHEAD = 0.25
/** Pause after a sweep that passed no agent while cycles run, in milliseconds. */
const AGAIN_MS = 250
/** The phases that an agent without a goal enters. */
const ENTERED = PHASES.filter(phase => phase !== 'goal_pursuit')

export interface SweepParts extends CycleParts {
  scheduler: () => Scheduler
  config: { heartbeat: number }
}

/**
 * Advances the cycles of agents without work at once, without running them. Asks every tap and guard of a cycle for
 * which agents it has work. For the others, writes only the cycle count, the next heartbeat and the events. Ten
 * thousand idle agents cost as much as a hundred whose cycles run.
 */
export class Sweep {
  readonly #parts: SweepParts
  #again = 0
  #reporting: Promise<void> | undefined
  /** Agents whose events have not all been emitted yet. */
  readonly #unreported = new Set<string>()

  constructor(parts: SweepParts) {
    this.#parts = parts
  }

  /**
   * Advances the cycles of agents without work.
   * @param driven agents whose cycles run in this process; they are left out
   * @returns the number of cycles advanced
   */
  async run(driven: readonly string[]): Promise<number> {
    const { log, ports } = this.#parts
    // Handlers are still busy with the events of the last sweep.
    if (this.#reporting || (driven.length > 0 && ports.clock.monotonic() < this.#again)) return 0
    try {
      const passed = await this.#pass(new Set(driven))
      if (passed.length === 0) this.#again = ports.clock.monotonic() + AGAIN_MS
      else {
        for (const { id } of passed) this.#unreported.add(id)
        this.#reporting = this.#report(passed).finally(() => (this.#reporting = undefined))
      }
      return passed.length
    } catch (error) {
      this.#again = ports.clock.monotonic() + AGAIN_MS
      log.warn({}, `idle agents could not be advanced together, so their cycles run one by one: ${errorMessage(error)}`)
      return 0
    }
  }

  /**
   * Resolves when all events of an agent's advanced cycle have been emitted, for which its next cycle waits. Returns
   * undefined if they have.
   */
  reportingOf(agent_id: string): Promise<void> | undefined {
    return this.#unreported.has(agent_id) ? this.#reporting : undefined
  }

  /** Resolves when all events have been emitted. */
  async whenDone(): Promise<void> {
    await this.#reporting
  }

  async #pass(driven: ReadonlySet<string>): Promise<Due[]> {
    const { clock } = this.#parts.ports
    const scheduler = this.#parts.scheduler()
    const workChecks = this.#workChecks()
    if (!scheduler.listDue || !scheduler.pass || !workChecks) return []
    const heartbeat = this.#parts.config.heartbeat * 1000
    const now = clock.ms()
    // Most rounds have nothing due, and then nothing more is read.
    if ((await scheduler.listDue(now, 1)).length === 0) return []
    let due = (await scheduler.listDue(now + heartbeat * AHEAD, MAX_DUE)).filter(({ id }) => !driven.has(id))
    for (const { name, hasWork } of workChecks) {
      const answer = hasWork(due)
      const ids = new Set(
        answer instanceof Promise ? await withTimeLimit(clock, HANDLER_LIMIT_MS, name, answer) : answer,
      )
      if (ids.size > 0) due = due.filter(({ id }) => !ids.has(id))
      if (due.length === 0) return []
    }
    const passed = new Set(await scheduler.pass(due, now + heartbeat))
    return due.filter(({ id }) => passed.has(id))
  }

  /** Returns the taps and guards of a cycle without a goal; undefined when one of them has no `hasWork`. */
  #workChecks(): { name: string; hasWork: HasWork }[] | undefined {
    const { hooks, points } = this.#parts
    const guards = points.list(Guards).filter(({ value: { phase } }) => phase !== 'goal_pursuit')
    const all: { name: string; hasWork?: HasWork; busy?: HasWork }[] = [
      ...guards.map(({ value }) => value),
      ...ENTERED.flatMap(phase => hooks.get(phase).taps),
    ]
    const workChecks: { name: string; hasWork: HasWork }[] = []
    for (const { name, busy, hasWork = busy } of all) {
      if (!hasWork) return undefined
      if (hasWork !== neverHasWork) workChecks.push({ name, hasWork })
    }
    return workChecks
  }

  async #report(passed: readonly Due[]): Promise<void> {
    const { hooks } = this.#parts
    const hasTaps = (event: EventName) => hooks.get(event).taps.length > 0
    for (const { id: agent_id, cycle_num: last } of passed) {
      const cycle = { agent_id, cycle_num: last + 1 }
      await hooks.emit('cycle_start', cycle)
      if (hasTaps('phase_enter') || hasTaps('phase_exit')) {
        for (const phase of ENTERED) {
          await hooks.emit('phase_enter', { ...cycle, phase })
          await hooks.emit('phase_exit', { ...cycle, phase, duration_ms: 0, outcome: 'ok' })
        }
      }
      await hooks.emit('cycle_end', { ...cycle, result: 'idle' })
      this.#unreported.delete(agent_id)
    }
  }
}
