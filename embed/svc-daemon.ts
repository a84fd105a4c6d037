import { Agents } from '#core/agents/contract'
import { type Kernel, parse, type Undo, z } from '#kernel'
import { Daemon, type DaemonStatus } from '#platform/daemon/contract'
import { type WakeSource, WakeSources } from '#platform/heartbeat/contract'

export interface StartOptions {
  /** Whether to drive agents in addition to a daemon that is already running, if any. */
  join?: boolean
  /** Number of heartbeats after which the daemon stops. Default: it runs until `stop`. */
  cycles?: number
}

const WHOLE = 'must be an integer of at least 1'
/** Checked strictly: with a misspelled `cycles` the daemon would never stop. */
const Options = z
  .strictObject({ join: z.boolean(), cycles: z.int(WHOLE).min(1, WHOLE) } satisfies Record<
    keyof StartOptions,
    z.ZodType
  >)
  .partial()

/** Starts and stops the daemon in this process. */
export class SvcDaemon {
  readonly #kernel: Kernel
  #stopped = new AbortController()

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  /**
   * Makes this process the project's daemon. Resolves once it drives agents; with `cycles` after that number of
   * heartbeats, when each agent that could run has completed that number of cycles and the daemon has stopped.
   * @throws DaemonRunningError without `join`; InvalidInputError for an invalid option, such as a `cycles` below 1
   */
  async start(options: StartOptions = {}): Promise<void> {
    const { join = false, cycles } = parse(Options, options, 'The start')
    this.#stopped = new AbortController()
    if (cycles === undefined) return this.#kernel.use(Daemon).start({ join })
    const counter = new CycleCounter(this.#kernel, cycles)
    try {
      await this.#kernel.use(Daemon).start({ join })
      await counter.waitForEnd(this.#stopped.signal)
    } finally {
      counter.close()
      await this.#kernel.use(Daemon).stop()
    }
  }

  /** Stops after running cycles reach a safe point; everything else stays open. Also ends a start with `cycles`. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    await this.#kernel.use(Daemon).stop()
  }

  /** Returns the status of the project's daemon, in this or another process: health, agents by status, and spending. */
  status(): Promise<DaemonStatus> {
    return this.#kernel.use(Daemon).status()
  }

  /**
   * Adds a source that wakes agents between two heartbeats, before or after the start.
   * @returns a function that removes it and aborts its current wait
   * @throws ConflictError when a wake source has this name already
   */
  addWakeSource(source: WakeSource): Undo {
    return this.#kernel.points.add(WakeSources, source, 'the embedding program')
  }
}

/** Counts heartbeats and each agent's cycles. */
class CycleCounter {
  readonly #kernel: Kernel
  readonly #cycles: number
  readonly #count = new Map<string, number>()
  readonly #undo: Undo[]
  #beats = 0
  /**
   * Whether one heartbeat interval has passed since the last counted heartbeat. Cycles that begin later are not
   * counted.
   */
  #late = false
  #onChange: () => void = () => {}

  constructor(kernel: Kernel, cycles: number) {
    this.#kernel = kernel
    this.#cycles = cycles
    this.#undo = [
      kernel.hooks.on('beat', () => this.#countHeartbeat(), 'count cycles'),
      kernel.hooks.on('cycle_end', ({ agent_id }) => this.#countCycle(agent_id), 'count cycles'),
    ]
  }

  /** Resolves when all cycles have run, or the signal is aborted. */
  async waitForEnd(signal: AbortSignal): Promise<void> {
    const { clock } = this.#kernel.ports
    signal.addEventListener('abort', () => this.#onChange(), { once: true })
    while (!signal.aborted) {
      const changed = new Promise<void>(resolve => {
        this.#onChange = resolve
      })
      if (await this.#isOver()) return
      await changed
      // A cycle reports its end slightly before it has ended.
      await clock.yield()
    }
  }

  close(): void {
    for (const undo of this.#undo) void undo()
  }

  #countHeartbeat(): void {
    if (++this.#beats === this.#cycles) {
      const heartbeat = Number(this.#kernel.config.get('daemon.heartbeat'))
      const cancel = this.#kernel.ports.clock.after(heartbeat * 1000, () => {
        this.#late = true
        this.#onChange()
      })
      this.#undo.push(cancel)
    }
    this.#onChange()
  }

  #countCycle(agent_id: string): void {
    this.#count.set(agent_id, (this.#count.get(agent_id) ?? 0) + 1)
    this.#onChange()
  }

  async #isOver(): Promise<boolean> {
    if (this.#beats < this.#cycles) return false
    const agents = await this.#kernel.use(Agents).list({})
    const living = agents.filter(({ status }) => status !== 'dead' && status !== 'paused')
    const running = this.#kernel.heartbeat.inFlight
    return living.every(({ agent_id }) => {
      return (this.#count.get(agent_id) ?? 0) >= this.#cycles || (this.#late && !running.includes(agent_id))
    })
  }
}
