import { errorMessage, type PluginHandle } from '#kernel'
import { Store } from '#platform/store/contract'
import { renewTasks } from './effects.ts'
import type { TaskRun } from './run/run.ts'

/** Interval at which streamed text is stored, in milliseconds. */
const WRITE_MS = 250
/** Maximum number of texts in one transaction; hundreds would block the streams for milliseconds. */
const BATCH_SIZE = 25
/** Interval between lease renewals, in milliseconds. */
const RENEW_MS = 5_000

/** Stores the streamed text of this process's running tasks, many in one transaction, and renews their leases. */
export class TaskReaper {
  readonly #svc: PluginHandle
  readonly #owner: string
  readonly #runs: ReadonlyMap<string, TaskRun>
  #stop = new AbortController()
  #keeping: Promise<void> | undefined

  constructor(svc: PluginHandle, owner: string, runs: ReadonlyMap<string, TaskRun>) {
    this.#svc = svc
    this.#owner = owner
    this.#runs = runs
  }

  /** Starts the loop, which continues while tasks run. */
  keep(): void {
    if (this.#keeping) return
    this.#stop = new AbortController()
    this.#keeping = this.#loop(this.#stop.signal)
  }

  async stop(): Promise<void> {
    this.#stop.abort()
    await this.#keeping
  }

  get #working(): TaskRun[] {
    return [...this.#runs.values()].filter(({ text }) => !text.hasFailed)
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { clock } = this.#svc
    let [renewed, renewedAt] = [clock.monotonic(), clock.ms()]
    while (this.#working.length > 0 && !signal.aborted) {
      await clock.sleep(WRITE_MS, signal)
      const working = this.#working
      const pieces = working.filter(({ text }) => text.isUnsaved)
      const [now, at] = [clock.monotonic(), clock.ms()]
      // The wall clock also moves while the machine sleeps.
      const isRecent = now - renewed < RENEW_MS && Math.abs(at - renewedAt) < RENEW_MS
      try {
        for (let at = 0; at < pieces.length; at += BATCH_SIZE) {
          if (at > 0) await clock.yield()
          await this.#write(pieces.slice(at, at + BATCH_SIZE))
        }
        if (isRecent || working.length === 0) continue
        const task_ids = working.map(({ row }) => row.task_id)
        await this.#svc.use(Store).apply([renewTasks({ owner: this.#owner, task_ids })])
        renewed = now
        renewedAt = at
      } catch (error) {
        this.#svc.log.warn({}, `cannot store the text of running tasks yet: ${errorMessage(error)}`)
      }
    }
    this.#keeping = undefined
  }

  async #write(runs: readonly TaskRun[]): Promise<void> {
    const pieces = runs.map(({ journal, text }) => journal.textEffects(text.piece))
    const effects = pieces.flatMap(({ effects }) => effects)
    if (effects.length === 0) return
    await this.#svc.use(Store).apply(effects)
    for (const { written } of pieces) written()
  }
}
