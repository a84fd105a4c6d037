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
  readonly #open = new Map<number, Reading>()
  readonly #limits = new Map<number, Limit[]>()

  begin(context: number): void {
    this.#open.set(context, { total: 0, since: 0 })
    this.#limits.set(context, [])
  }

  end(context: number): void {
    this.#open.delete(context)
  }

  /** Counts a read of a context that is not recorded yet. */
  countRead(context: number): void {
    const reading = this.#open.get(context)
    if (reading) reading.since++
  }

  /** Marks reads as recorded. */
  addReads(context: number, reads: number): void {
    const reading = this.#open.get(context)
    if (reading) reading.total += reads
  }

  /** Takes the reads that are not recorded yet. @param of only those of this context */
  takeUnrecorded(of?: number): [context: number, reads: number][] {
    const all: [number, number][] = []
    for (const [context, reading] of this.#open) {
      if (reading.since === 0 || (of !== undefined && context !== of)) continue
      all.push([context, reading.since])
      reading.since = 0
    }
    return all
  }

  /** Records the position of a write. */
  write(at: number): void {
    for (const [context, { total: reads }] of this.#open) {
      const limits = this.#limits.get(context)!
      const last = limits.at(-1)
      if (last?.reads === reads) last.at = at
      else limits.push({ at, reads })
    }
  }

  /** Returns the number of reads of a context before the next write, starting at `here`. */
  countBefore(context: number, here: number): number {
    const limits = this.#limits.get(context) ?? []
    while (limits.length > 0 && limits[0]!.at < here) limits.shift()
    return limits[0]?.reads ?? Number.POSITIVE_INFINITY
  }
}
