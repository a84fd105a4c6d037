import { type Clock, definePlugin, type Effect, type PluginDefinition } from '#kernel'
import { type CommitResult, type Lease, type Next, type Scheduler, SchedulerToken } from '#platform/heartbeat/contract'

interface Row {
  id: string
  kind: Lease['kind']
  run_at: number
  epoch: number
  cycle_num: number
  driven: boolean
  woken: boolean
}

/** One committed cycle. */
export interface Commit {
  id: string
  cycle_num: number
  effects: readonly Effect[]
  next: Next
  result: CommitResult
}

/**
 * Leases without a database, for tests of the heartbeat alone. Its `plugin` provides them and starts the heartbeat:
 * `const leases = memoryScheduler(['ada']); await using host = await testHost({ builtins: [leases.plugin] })`
 */
export class MemoryScheduler implements Scheduler {
  readonly commits: Commit[] = []
  readonly plugin: PluginDefinition
  readonly #rows = new Map<string, Row>()
  readonly #listeners = new Set<() => void>()
  #clock: Clock | undefined

  constructor(agents: readonly string[]) {
    for (const id of agents) this.add(id)
    this.plugin = definePlugin({
      name: 'memory-scheduler',
      setup: svc => {
        this.#clock = svc.clock
        svc.provide(SchedulerToken, this)
        svc.start(() => {
          svc.heartbeat.start()
          return () => svc.heartbeat.stop()
        })
      },
    })
  }

  /** Adds an agent, or the lease of a singleton (`sys`), due at once. */
  add(id: string, kind: Lease['kind'] = 'agent'): void {
    this.#rows.set(id, { id, kind, run_at: 0, epoch: 0, cycle_num: 0, driven: false, woken: false })
    this.#notify()
  }

  /** Simulates a takeover by another process: later commits of this one for the agent are fenced off. */
  takeOver(id: string): void {
    const row = this.#rows.get(id)
    if (row) row.epoch++
  }

  async claim(limit: number): Promise<Lease[]> {
    const due = [...this.#rows.values()].filter(row => !row.driven && row.run_at <= this.#now())
    return due
      .sort((a, b) => a.run_at - b.run_at)
      .slice(0, limit)
      .map(row => {
        Object.assign(row, { driven: true, woken: false, epoch: row.epoch + 1, cycle_num: row.cycle_num + 1 })
        const { id, kind, epoch, cycle_num } = row
        return { id, kind, epoch, cycle_num, owner: 'memory' }
      })
  }

  async renew(held: readonly Lease[]): Promise<Lease[]> {
    return held.filter(lease => this.#rows.get(lease.id)?.epoch !== lease.epoch)
  }

  async commit({ id, epoch, cycle_num }: Lease, effects: readonly Effect[], next: Next): Promise<CommitResult> {
    const row = this.#rows.get(id)
    const result = row?.epoch === epoch ? 'ok' : 'fenced'
    this.commits.push({ id, cycle_num, effects: [...effects], next, result })
    if (!row || result === 'fenced' || next === 'keep') return result
    Object.assign(row, { driven: false, run_at: row.woken ? this.#now() : next.run_at })
    if (row.woken) this.#notify()
    return result
  }

  async wake(agents: readonly string[] | undefined): Promise<void> {
    for (const row of this.#rows.values()) {
      if (agents ? !agents.includes(row.id) : row.kind !== 'agent') continue
      if (row.driven) row.woken = true
      else row.run_at = Math.min(row.run_at, this.#now())
    }
    this.#notify()
  }

  async nextDue(): Promise<number | null> {
    const times = [...this.#rows.values()].filter(row => !row.driven).map(row => row.run_at)
    return times.length > 0 ? Math.min(...times) : null
  }

  onWake(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  #now(): number {
    return this.#clock?.ms() ?? 0
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}

export function memoryScheduler(agents: readonly string[] = []): MemoryScheduler {
  return new MemoryScheduler(agents)
}
