import { readFile, stat } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SoakedProject } from './soak-project.ts'

const MIB = 2 ** 20
const WAL_EVERY_MS = 200
const SAMPLE_EVERY_MS = 2_000
/** Number of samples between two requests for metrics, which cover the last half or whole minute. */
const METRICS_EVERY = 5
const WINDOW_MS = 60_000

interface Sample {
  /** Milliseconds since the soak began. */
  at: number
  rss: number
  heap: number
}

/** Samples a running service from outside. */
export class SoakWatch {
  readonly samples: Sample[] = []
  /** Maximum size of the write-ahead log, in mebibytes. */
  wal = 0
  /** Maximum lag of the event loop that the service reports, in milliseconds. */
  readonly metric = { p99: 0, max: 0 }
  /** Whether to send no requests: each one opens a socket. */
  resting = false
  readonly #project: SoakedProject
  readonly #began = performance.now()

  constructor(project: SoakedProject) {
    this.#project = project
  }

  get elapsed(): number {
    return performance.now() - this.#began
  }

  async watch(until: AbortSignal): Promise<void> {
    await Promise.all([this.#watchLog(until), this.#watchProcess(until)])
  }

  /** Returns the sample with the least memory of each minute: each minute contains a garbage collection. */
  leasts(of: 'rss' | 'heap', after_ms = 0): Sample[] {
    const windows = new Map<number, Sample>()
    for (const sample of this.samples.filter(({ at }) => at >= after_ms)) {
      const window = Math.floor(sample.at / WINDOW_MS)
      if ((windows.get(window)?.[of] ?? Number.POSITIVE_INFINITY) > sample[of]) windows.set(window, sample)
    }
    return [...windows.values()]
  }

  /** Returns the growth of the process in ten minutes, in mebibytes. */
  growth<of extends 'rss' | 'heap'>(of: of, samples: readonly Pick<Sample, 'at' | of>[]): number {
    return slope(samples.map(sample => [sample.at / 600_000, sample[of]]))
  }

  async #watchLog(until: AbortSignal): Promise<void> {
    for (; !until.aborted; await sleep(WAL_EVERY_MS)) {
      const { size } = await stat(`${this.#project.database}-wal`).catch(() => ({ size: 0 }))
      this.wal = Math.max(this.wal, size / MIB)
    }
  }

  async #watchProcess(until: AbortSignal): Promise<void> {
    let heap = 0
    for (let n = 0; !until.aborted; n++) {
      if (n % METRICS_EVERY === 0 && !this.resting) heap = await this.#readMetrics(heap)
      const status = await readFile(`/proc/${this.#project.pid}/status`, 'latin1').catch(() => '')
      const rss = Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024
      if (rss > 0) this.samples.push({ at: this.elapsed, rss, heap })
      await sleep(SAMPLE_EVERY_MS, undefined, { signal: until }).catch(() => {})
    }
  }

  async #readMetrics(heap: number): Promise<number> {
    const text = await this.#project.client.metrics.get().catch(() => '')
    const of = (name: string) => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(String(text))?.[1] ?? 0)
    this.metric.p99 = Math.max(this.metric.p99, of('nodejs_eventloop_lag_p99_seconds') * 1000)
    this.metric.max = Math.max(this.metric.max, of('nodejs_eventloop_lag_max_seconds') * 1000)
    return of('nodejs_heap_size_used_bytes') / MIB || heap
  }
}

/** Returns the slope of the line that fits best, by least squares. */
function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [x, y] = [mean(points.map(([x]) => x)), mean(points.map(([, y]) => y))]
  const across = points.reduce((sum, point) => sum + (point[0] - x) * (point[1] - y), 0)
  return across / points.reduce((sum, point) => sum + (point[0] - x) ** 2, 0)
}
