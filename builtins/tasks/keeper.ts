import { type PluginHandle, sentenceOf } from '#kernel'
import { Store } from '../store/contract.ts'
import { renewTasks } from './effects.ts'
import type { TaskRun } from './run.ts'

/** How long text that was told may stay in memory alone, in milliseconds. */
const WRITE_MS = 250
/** How often a process says that it still works on its tasks, in milliseconds. */
const RENEW_MS = 5_000

/** While tasks run in this process: writes down what they told, all of them in one transaction, and gives a sign of life. */
export class Keeper {
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

  /** Goes on as long as something runs. */
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
    return [...this.#runs.values()].filter(({ text }) => !text.failed)
  }

  async #loop(signal: AbortSignal): Promise<void> {
    const { clock } = this.#svc
    let renewed = clock.monotonic()
    while (this.#working.length > 0 && !signal.aborted) {
      await clock.sleep(WRITE_MS, signal)
      const working = this.#working
      const pieces = working.filter(({ text }) => text.unsaved).map(run => run.unwritten())
      const now = clock.monotonic()
      const due = now - renewed >= RENEW_MS && working.length > 0
      const task_ids = working.map(({ row }) => row.task_id)
      const effects = [
        ...pieces.flatMap(({ effects }) => effects),
        ...(due ? [renewTasks({ owner: this.#owner, task_ids })] : []),
      ]
      if (effects.length === 0) continue
      try {
        await this.#svc.use(Store).apply(effects)
        for (const { written } of pieces) written()
        if (due) renewed = now
      } catch (error) {
        this.#svc.log.warn({}, `what tasks told is not written down yet: ${sentenceOf(error)}`)
      }
    }
    this.#keeping = undefined
  }
}
