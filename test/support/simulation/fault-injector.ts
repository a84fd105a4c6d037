import type { FaultLevel } from './contract.ts'
import type { Dice } from './dice.ts'
import type { Access, Fault } from './disk/access.ts'
import type { Point } from './shared-database.ts'

/** Factors on the probabilities below, by fault level. */
const FACTORS: Record<FaultLevel, number> = { none: 0, some: 1, many: 4 }

/** Faults that last for a while. */
export const EPISODES = ['disk_full', 'database_locked', 'model_down'] as const
export type Episode = (typeof EPISODES)[number]

/** Clock jumps, in milliseconds: corrections by a time server, a laptop that slept, a wrong time zone. */
const JUMPS_MS = [700, 4_000, 45_000, 3_600_000]

/** Decides what goes wrong in a simulated run and when, and counts it. */
export class FaultInjector {
  readonly counts: Record<string, number> = {}
  readonly #dice: Dice
  readonly #now: () => number
  #factor: number
  #episode: { kind: Episode; until: number } | undefined
  /** Time of the last failure of the database or the disk, in milliseconds of the run. */
  lastOfStore = Number.NEGATIVE_INFINITY

  constructor(level: FaultLevel, dice: Dice, now: () => number) {
    this.#factor = FACTORS[level]
    this.#dice = dice
    this.#now = now
  }

  get level(): number {
    return this.#factor
  }

  /** Ends all faults. */
  end(): void {
    this.#factor = 0
    this.#episode = undefined
  }

  begin(kind: Episode, ms: number): void {
    if (this.#factor === 0) return
    this.#episode = { kind, until: this.#now() + ms }
    this.#count(kind)
  }

  is(kind: Episode): boolean {
    return this.#episode?.kind === kind && this.#now() < this.#episode.until
  }

  /** Returns whether a fault of this probability occurs now. */
  injects(kind: string, probability: number): boolean {
    if (this.#factor === 0 || !this.#dice.chance(probability * this.#factor)) return false
    this.#count(kind)
    return true
  }

  /** Faults of files. */
  readonly disk: Fault = access => {
    if (this.is('disk_full') && access.bytes !== undefined) return this.#ofStore({ error: 'ENOSPC', written: 0 })
    if (!this.injects('disk', 0.002)) return undefined
    return this.#ofStore(this.#diskFault(access))
  }

  /** Returns a jump of the machine's clock, forward or back, in milliseconds. */
  clockJump(): number {
    this.#count('clock_jumps')
    const ms = this.#dice.pick(JUMPS_MS) * (this.#dice.chance(0.5) ? 1 : -1)
    // Leases depend on the wall clock: for a while, two processes may believe that they drive an agent.
    return this.#ofStore(ms)
  }

  /** Faults of the database. */
  database(point: Point): string | undefined {
    if (this.is('database_locked') && point === 'begin') return this.#ofStore('SQLITE_BUSY')
    if (this.is('disk_full') && point === 'commit') return this.#ofStore('SQLITE_FULL')
    if (point === 'read') return this.injects('database', 0.0002) ? this.#ofStore('SQLITE_IOERR_READ') : undefined
    if (!this.injects('database', point === 'statement' ? 0.0005 : 0.003)) return undefined
    return this.#ofStore(
      this.#dice.pick(point === 'begin' ? ['SQLITE_BUSY', 'SQLITE_IOERR'] : ['SQLITE_FULL', 'SQLITE_IOERR_WRITE']),
    )
  }

  #diskFault({ op, bytes }: Access): { error: string; written?: number } {
    if (op === 'open') return { error: this.#dice.pick(['EMFILE', 'EIO']) }
    if (bytes === undefined) return { error: 'EIO' }
    return { error: this.#dice.pick(['ENOSPC', 'EIO']), written: this.#dice.int(0, Math.max(0, bytes - 1)) }
  }

  #ofStore<T>(fault: T): T {
    this.lastOfStore = this.#now()
    return fault
  }

  #count(kind: string): void {
    this.counts[kind] = (this.counts[kind] ?? 0) + 1
  }
}
