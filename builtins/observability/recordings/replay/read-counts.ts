/** Number of reads of a context before a write or an input. */
interface Limit {
  at: number
  reads: number
}

interface Reading {
  total: number
  /** Number of reads that are not recorded yet. */
  since: number
}

/**
 * Counts reads of the database. The order of reads between two writes does not matter, so a recording has only the
 * number of reads of each context before each write and each of its inputs.
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

  /** Records the position of a write. */
  write(at: number): void {
    for (const [actor, { total: reads }] of this.#acting) {
      const limits = this.#limits.get(actor)!
      const last = limits.at(-1)
      if (last?.reads === reads) last.at = at
      else limits.push({ at, reads })
    }
  }

  /** Returns the number of reads of a context before the next write, starting at `here`. */
  countBefore(actor: number, here: number): number {
    const limits = this.#limits.get(actor) ?? []
    while (limits.length > 0 && limits[0]!.at < here) limits.shift()
    return limits[0]?.reads ?? Number.POSITIVE_INFINITY
  }
}
