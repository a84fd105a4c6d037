/** How many reads an actor has had when what stands at a place of the order happens. */
interface Limit {
  at: number
  reads: number
}

interface Reading {
  total: number
  /** Not recorded yet. */
  since: number
}

/**
 * The order of reads between two writes makes no difference. So only the number of reads is recorded that each context
 * had before
 * each write and before each of its inputs.
 */
export class ReadCounts {
  readonly #acting = new Map<number, Reading>()
  readonly #limits = new Map<number, Limit[]>()

  begin(actor: number): void {
    this.#acting.set(actor, { total: 0, since: 0 })
    this.#limits.set(actor, [])
  }

  end(actor: number): void {
    this.#acting.delete(actor)
  }

  /** Counts a read of a context that is not recorded yet. */
  countRead(actor: number): void {
    const reading = this.#acting.get(actor)
    if (reading) reading.since++
  }

  /** Marks reads as recorded. */
  addReads(actor: number, reads: number): void {
    const reading = this.#acting.get(actor)
    if (reading) reading.total += reads
  }

  /** Takes the reads that are not recorded yet. @param of only those of this context */
  takeUnrecorded(of?: number): [actor: number, reads: number][] {
    const all: [number, number][] = []
    for (const [actor, reading] of this.#acting) {
      if (reading.since === 0 || (of !== undefined && actor !== of)) continue
      all.push([actor, reading.since])
      reading.since = 0
    }
    return all
  }

  /** A write happens here. */
  write(at: number): void {
    for (const [actor, { total: reads }] of this.#acting) {
      const limits = this.#limits.get(actor)!
      const last = limits.at(-1)
      if (last?.reads === reads) last.at = at
      else limits.push({ at, reads })
    }
  }

  /** How many reads an actor has had before the next write, from here on. */
  countBefore(actor: number, here: number): number {
    const limits = this.#limits.get(actor) ?? []
    while (limits.length > 0 && limits[0]!.at < here) limits.shift()
    return limits[0]?.reads ?? Number.POSITIVE_INFINITY
  }
}
