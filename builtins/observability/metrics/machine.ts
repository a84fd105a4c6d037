import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import type { Clock, PluginHandle, Undo } from '#kernel'
import { inRound, untilRound } from '#lib/poller'
import type { Metric } from './contract.ts'

/** Interval between samples of the event loop's delay under load, in milliseconds. */
const AT_WORK_MS = 100
/**
 * Interval between samples at rest, in milliseconds. Each sample wakes the process; ten a second would be a fifth of an
 * idle process's work.
 */
const AT_REST_MS = 1_000
/** Share of busy time below which the event loop counts as idle. */
const AT_REST = 0.05
/** Length of the window that the shown values cover, in milliseconds, however often they are read. */
const WINDOW_MS = 60_000

/** Measures the delay of this process's event loop. */
export class LoopLag {
  readonly #clock: Clock
  /** Time of each sample and its delay, in milliseconds. */
  #samples: { at: number; late: number }[] = []
  #used: EventLoopUtilization | undefined
  #cancel: Undo | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Starts sampling. A held clock is not sampled, because it says nothing about the event loop. */
  watch(): Undo {
    if (this.#clock.held) return () => {}
    this.#used = performance.eventLoopUtilization()
    this.#atWork()
    return () => {
      void this.#cancel?.()
      this.#cancel = undefined
      this.#samples = []
    }
  }

  /** Returns the largest value, or a percentile, in seconds; undefined while nothing is measured. */
  read(which: 'max' | number): number | undefined {
    if (!this.#cancel) return undefined
    const late = this.#samples.map(sample => sample.late).sort((a, b) => a - b)
    const at = which === 'max' ? late.length : Math.ceil((late.length * which) / 100)
    return (late[at - 1] ?? 0) / 1000
  }

  #atWork(): void {
    const due = this.#clock.monotonic() + AT_WORK_MS
    this.#cancel = this.#clock.after(AT_WORK_MS, () => this.#sample(due))
  }

  #atRest(): void {
    const due = this.#clock.monotonic() + untilRound(this.#clock, AT_REST_MS)
    this.#cancel = inRound(this.#clock, AT_REST_MS, () => this.#sample(due))
  }

  #sample(due: number): void {
    const at = this.#clock.monotonic()
    this.#samples.push({ at, late: Math.max(0, at - due) })
    while (this.#samples[0]!.at < at - WINDOW_MS) this.#samples.shift()
    const used = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(used, this.#used)
    this.#used = used
    if (utilization < AT_REST) this.#atRest()
    else this.#atWork()
  }
}

/** Returns metrics of this process, under the names that dashboards for Node.js expect. */
export function processMetrics({ clock, ports }: PluginHandle, lag: LoopLag): Metric[] {
  const began = clock.ms() / 1000 - process.uptime()
  const late = (name: string, help: string, which: 'max' | number): Metric => ({
    name,
    help,
    type: 'gauge',
    collect: () => lag.read(which),
  })
  return [
    late('nodejs_eventloop_lag_p50_seconds', 'Event loop lag, median of the last minute, in seconds.', 50),
    late('nodejs_eventloop_lag_p99_seconds', 'Event loop lag, 99th percentile of the last minute, in seconds.', 99),
    late('nodejs_eventloop_lag_max_seconds', 'Event loop lag, maximum of the last minute, in seconds.', 'max'),
    {
      name: 'process_cpu_seconds_total',
      help: 'CPU time of this process, in seconds.',
      type: 'counter',
      collect() {
        const { user, system } = process.cpuUsage()
        return (user + system) / 1e6
      },
    },
    {
      name: 'process_resident_memory_bytes',
      help: 'Resident memory of this process, in bytes.',
      type: 'gauge',
      collect: () => process.memoryUsage.rss(),
    },
    {
      name: 'nodejs_heap_size_used_bytes',
      help: 'Heap memory in use in this process, in bytes.',
      type: 'gauge',
      collect: () => process.memoryUsage().heapUsed,
    },
    {
      name: 'process_start_time_seconds',
      help: 'Start time of this process, in seconds since 1970.',
      type: 'gauge',
      collect: () => began,
    },
    {
      name: 'process_open_fds',
      help: 'Open file descriptors of this process, for files and sockets.',
      type: 'gauge',
      // Only Linux reports it.
      collect: () =>
        ports.files.readdir('/proc/self/fd').then(
          names => names.length,
          () => undefined,
        ),
    },
  ]
}
