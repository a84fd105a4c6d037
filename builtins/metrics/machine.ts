import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import type { PluginHandle, Undo } from '#kernel'
import type { Metric } from './contract.ts'

/**
 * How often the delay of the event loop is sampled, in milliseconds: an idle loop's samples are that long. Each wakes the
 * process; at 20 ms that alone was more than all else that an idle daemon does.
 */
const RESOLUTION_MS = 100
/** What is shown is of the last one to two windows of this length, in milliseconds, however often it is asked for. */
const WINDOW_MS = 30_000

/** How late this process's event loop is. */
export class LoopLag {
  #now: IntervalHistogram | undefined
  #before: IntervalHistogram | undefined
  #since = 0

  watch(): Undo {
    this.#turn()
    return () => {
      for (const histogram of [this.#now, this.#before]) histogram?.disable()
      this.#now = undefined
      this.#before = undefined
    }
  }

  /** The largest, or a percentile, in seconds; undefined while nobody watches. @param now milliseconds that never jump */
  read(which: 'max' | number, now: number): number | undefined {
    if (!this.#now) return undefined
    if (now - this.#since > WINDOW_MS) {
      this.#since = now
      this.#turn()
    }
    const values = [this.#now, this.#before].flatMap(histogram => {
      // A histogram without samples has a minimum that is none.
      if (!histogram || histogram.max === 0) return []
      return which === 'max' ? histogram.max : histogram.percentile(which)
    })
    return Math.max(0, Math.max(0, ...values) / 1e9 - RESOLUTION_MS / 1000)
  }

  #turn(): void {
    this.#before?.disable()
    this.#before = this.#now
    this.#now = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
    this.#now.enable()
  }
}

/** The process that is asked, under the names that dashboards for Node know. */
export function processMetrics({ clock, ports }: PluginHandle, lag: LoopLag): Metric[] {
  const began = clock.ms() / 1000 - process.uptime()
  const late = (name: string, help: string, which: 'max' | number): Metric => ({
    ...{ name, help, type: 'gauge' },
    collect: () => lag.read(which, clock.monotonic()),
  })
  return [
    late('nodejs_eventloop_lag_p50_seconds', 'How late the event loop was, median of the last minute.', 50),
    late('nodejs_eventloop_lag_p99_seconds', 'How late the event loop was, 99th percentile of the last minute.', 99),
    late('nodejs_eventloop_lag_max_seconds', 'How late the event loop was at most in the last minute.', 'max'),
    {
      name: 'process_cpu_seconds_total',
      help: 'Processor time of this process.',
      type: 'counter',
      collect() {
        const { user, system } = process.cpuUsage()
        return (user + system) / 1e6
      },
    },
    {
      name: 'process_resident_memory_bytes',
      help: 'Memory of this process.',
      type: 'gauge',
      collect: () => process.memoryUsage.rss(),
    },
    {
      name: 'nodejs_heap_size_used_bytes',
      help: 'Heap in use in this process.',
      type: 'gauge',
      collect: () => process.memoryUsage().heapUsed,
    },
    {
      name: 'process_start_time_seconds',
      help: 'When this process began, in seconds since 1970.',
      type: 'gauge',
      collect: () => began,
    },
    {
      name: 'process_open_fds',
      help: 'Files and sockets that this process holds open.',
      type: 'gauge',
      // Only Linux tells.
      collect: () =>
        ports.files.readdir('/proc/self/fd').then(
          names => names.length,
          () => undefined,
        ),
    },
  ]
}
