import { errorMessage, type PluginHandle } from '#kernel'
import { appendEvent, isoTime, Store } from '#platform/store/contract'
import type { RetentionConfig } from './config.ts'
import { type Retention, type RetentionReport, type RetentionRule, RetentionRules } from './contract.ts'

const DAY_MS = 86_400_000
/** Number of rows in the first piece of a rule, and the maximum number in any piece. */
const FIRST_PIECE = 32
const LARGEST_PIECE = 512
/** Durations of a piece, in milliseconds: after a slower one the next is smaller, after a quicker one larger. */
const SLOW_MS = 15
const QUICK_MS = 5

/** Runs the rules in short pieces, so that other work can run between two of them. */
export class RetentionRunner implements Retention {
  readonly #svc: PluginHandle
  readonly #config: RetentionConfig
  readonly #stop = new AbortController()
  #running: Promise<RetentionReport> | undefined
  #background = Promise.resolve()

  constructor(svc: PluginHandle, config: RetentionConfig) {
    this.#svc = svc
    this.#config = config
  }

  run({ dry_run = false } = {}): Promise<RetentionReport> {
    if (dry_run) return this.#run(true)
    this.#running ??= this.#run(false).finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /**
   * Applies the rules without a waiting caller: all, or only those that always apply if retention is disabled. Errors
   * are logged.
   */
  runInBackground(): void {
    if (!this.#config.enabled) this.#background = this.#background.then(() => this.#runAlways())
    else this.run().catch(error => this.#svc.log.warn({}, `old data could not be removed: ${errorMessage(error)}`))
  }

  /** Stops after the piece in progress. */
  async stop(): Promise<void> {
    this.#stop.abort()
    await Promise.all([this.#background, this.#running?.catch(() => {})])
  }

  async #runAlways(): Promise<void> {
    for (const rule of this.#rules()) if (rule.always) await this.#apply(rule, () => this.#all(rule, 0))
  }

  /** Returns the number of entries; errors are logged and kept, as data of other modules can still be removed. */
  async #apply(
    { name }: RetentionRule,
    work: () => Promise<number>,
    errors: unknown[] = [],
  ): Promise<number | undefined> {
    try {
      return await work()
    } catch (error) {
      errors.push(error)
      this.#svc.log.warn({}, `${name}: old data could not be removed: ${errorMessage(error)}`)
      return undefined
    }
  }

  async #run(dry_run: boolean): Promise<RetentionReport> {
    const { clock } = this.#svc
    const began = clock.monotonic()
    const now = clock.ms()
    const days_ms = this.#config.days * DAY_MS
    const rows: Record<string, number> = {}
    const errors: unknown[] = []
    for (const rule of this.#rules()) {
      const before = now - (rule.kept_ms?.() ?? days_ms)
      const n = await this.#apply(rule, () => (dry_run ? rule.count(before) : this.#all(rule, before)), errors)
      if (n !== undefined) rows[rule.name] = n
    }
    const total = Object.values(rows).reduce((sum, n) => sum + n, 0)
    const freed_bytes = dry_run || this.#stop.signal.aborted ? 0 : await this.#svc.use(Store).shrink(this.#stop.signal)
    const duration_ms = Math.round(clock.monotonic() - began)
    const report = { before: isoTime(Math.max(0, now - days_ms)), rows, total, freed_bytes, duration_ms }
    if (total > 0 && !dry_run) {
      await this.#svc.use(Store).apply([appendEvent({ type: 'retention_done', agent_id: null, data: report })])
    }
    if (errors.length > 0) throw errors[0]
    return { dry_run, ...report }
  }

  #rules(): RetentionRule[] {
    return [...this.#svc.list(RetentionRules)].sort((a, b) => (a.stage ?? 0) - (b.stage ?? 0))
  }

  async #all(rule: RetentionRule, before: number): Promise<number> {
    const { clock } = this.#svc
    const store = this.#svc.use(Store)
    let total = 0
    for (let limit = FIRST_PIECE; !this.#stop.signal.aborted; await clock.yield()) {
      await store.shortLog(this.#stop.signal)
      const began = clock.monotonic()
      const done = await rule.piece(before, limit)
      total += done
      if (done < limit) break
      const took = clock.monotonic() - began
      if (took > SLOW_MS) limit = Math.max(1, Math.floor(limit / 2))
      else if (took < QUICK_MS) limit = Math.min(LARGEST_PIECE, limit * 2)
    }
    return total
  }
}
