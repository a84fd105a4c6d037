import { type Busy, type Due, type EventName, Guards, HANDLER_LIMIT_MS, PHASES, sentenceOf, within } from '#kernel'
import { nobody, type Scheduler } from './contract.ts'
import type { CycleParts } from './phases.ts'

/** Agents that are swept at a time: some ten milliseconds of the event loop. */
const MOST = 1_000
/** Who is due within this share of a heartbeat goes along, so that those who rest come to rest together: asking costs the same for one. */
const AHEAD = 0.25
/** How soon nobody is looked for again after nobody was found while others are at work, in milliseconds. */
const AGAIN_MS = 250
/** Who has no goal enters all phases but one. */
const ENTERED = PHASES.filter(phase => phase !== 'goal_pursuit')

export interface SweepParts extends CycleParts {
  scheduler: () => Scheduler
  config: { heartbeat: number }
}

/**
 * The cycles of agents that have nothing to do, all at once. A cycle is asked of everybody who has a part in it; where nobody has
 * anything to do in it, all that is left of it is that it was: the agent's count, its next heartbeat, the events. Ten thousand
 * agents at rest so cost what a hundred cost that are driven one by one.
 */
export class Sweep {
  readonly #parts: SweepParts
  #again = 0
  #telling: Promise<void> | undefined
  /** Of whose cycle not all has been told yet. */
  readonly #untold = new Set<string>()

  constructor(parts: SweepParts) {
    this.#parts = parts
  }

  /** @param driven whose cycles run in this process: what is told of one has an order @returns how many cycles were passed */
  async run(driven: readonly string[]): Promise<number> {
    const { log, ports } = this.#parts
    // Whoever listens is not through with the last ones: whole cycles wait for them, one by one.
    if (this.#telling || (driven.length > 0 && ports.clock.monotonic() < this.#again)) return 0
    try {
      const passed = await this.#pass(new Set(driven))
      if (passed.length === 0) this.#again = ports.clock.monotonic() + AGAIN_MS
      else {
        for (const { id } of passed) this.#untold.add(id)
        this.#telling = this.#tell(passed).finally(() => (this.#telling = undefined))
      }
      return passed.length
    } catch (error) {
      this.#again = ports.clock.monotonic() + AGAIN_MS
      log.warn({}, `agents that may have nothing to do are driven one by one: ${sentenceOf(error)}`)
      return 0
    }
  }

  /** When it is over that somebody is told of a cycle of this agent; undefined when nobody is: its next one begins after that. */
  telling(agent_id: string): Promise<void> | undefined {
    return this.#untold.has(agent_id) ? this.#telling : undefined
  }

  /** Resolves when all that has been passed was told of. */
  async over(): Promise<void> {
    await this.#telling
  }

  async #pass(driven: ReadonlySet<string>): Promise<Due[]> {
    const { clock } = this.#parts.ports
    const scheduler = this.#parts.scheduler()
    const asked = this.#asked()
    if (!scheduler.due || !scheduler.pass || !asked) return []
    const heartbeat = this.#parts.config.heartbeat * 1000
    const now = clock.ms()
    // Most rounds are somebody else's: who goes along is not looked for then.
    if ((await scheduler.due(now, 1)).length === 0) return []
    let due = (await scheduler.due(now + heartbeat * AHEAD, MOST)).filter(({ id }) => !driven.has(id))
    for (const { name, busy } of asked) {
      const answer = busy(due)
      const ids = new Set(answer instanceof Promise ? await within(clock, HANDLER_LIMIT_MS, name, answer) : answer)
      if (ids.size > 0) due = due.filter(({ id }) => !ids.has(id))
      if (due.length === 0) return []
    }
    const passed = new Set(await scheduler.pass(due, now + heartbeat))
    return due.filter(({ id }) => passed.has(id))
  }

  /** Everybody who has a part in a cycle without a goal; undefined when one of them cannot tell for whom. */
  #asked(): { name: string; busy: Busy }[] | undefined {
    const { hooks, points } = this.#parts
    const guards = points.list(Guards).filter(({ value: { phase } }) => phase !== 'goal_pursuit')
    const all: { name: string; busy?: Busy }[] = [
      ...guards.map(({ value }) => value),
      ...ENTERED.flatMap(phase => hooks.get(phase).taps),
    ]
    const asked: { name: string; busy: Busy }[] = []
    for (const { name, busy } of all) {
      if (!busy) return undefined
      if (busy !== nobody) asked.push({ name, busy })
    }
    return asked
  }

  async #tell(passed: readonly Due[]): Promise<void> {
    const { hooks } = this.#parts
    const isHeard = (event: EventName) => hooks.get(event).taps.length > 0
    for (const { id: agent_id, cycle_num: last } of passed) {
      const cycle = { agent_id, cycle_num: last + 1 }
      await hooks.emit('cycle_start', cycle)
      if (isHeard('phase_enter') || isHeard('phase_exit')) {
        for (const phase of ENTERED) {
          await hooks.emit('phase_enter', { ...cycle, phase })
          await hooks.emit('phase_exit', { ...cycle, phase, duration_ms: 0, outcome: 'ok' })
        }
      }
      await hooks.emit('cycle_end', { ...cycle, result: 'idle' })
      this.#untold.delete(agent_id)
    }
  }
}
