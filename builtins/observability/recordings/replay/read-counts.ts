/** Number of reads of a context before a write or an input. */
interface Limit {
  at: number
  reads: number
}

/**
 * Counts reads of the database. The order of reads between two writes does not matter, so a recording has only the
 * number of reads of each context before each write and each of its inputs.
 */
export class ReadCounts {
  /** Number of reads of each open context so far. */
  readonly #open = new Map<number, number>()
  readonly #limits = new Map<number, Limit[]>()

  begin(context: number): void {
    this.#open.set(context, 0)
    this.#limits.set(context, [])
  }

  end(context: number): void {
    this.#open.delete(context)
  }

  addReads(context: number, reads: number): void {
    const total = this.#open.get(context)
    if (total !== undefined) this.#open.set(context, total + reads)
  }

  /** Records the position of a write. */
  write(at: number): void {
    for (const [context, reads] of this.#open) {
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
