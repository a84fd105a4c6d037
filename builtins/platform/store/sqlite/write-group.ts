import type { Clock } from '#kernel'

/**
 * Number of turns of the event loop whose writes are committed together. An idle loop passes them in microseconds; a
 * busy one begins more writes meanwhile: with 100 agents, a turn of the model takes 5 to 10 % less processor time than
 * with one.
 */
const TURNS = 4

/** A write that waits for the commit of its group. */
export interface GroupedWrite {
  /** Runs the statements inside the transaction of the group; may run again in `alone`. */
  inside(): void
  /** Reports success, right after the commit. */
  committed(): void
  /** Runs the write in its own transaction, and reports its outcome. */
  alone(): void
  failed(error: unknown): void
}

export interface WriteGroupOptions {
  clock: Clock
  /** Runs `work` in one transaction, and `committed` right after it. Waits for locks. */
  transact(work: () => void, committed: () => void): Promise<void>
  /** Returns whether an error concerns the whole transaction, such as another process's lock. */
  isShared(error: unknown): boolean
}

/**
 * Commits the writes of a few turns of the event loop together: a commit costs more than the statements of a small
 * write, and writes each changed page once. No other code runs between the first statement of a group and its commit.
 * When a write throws, the group is rolled back, and each of its writes runs alone.
 */
export class WriteGroup {
  readonly #options: WriteGroupOptions
  #writes: GroupedWrite[] = []

  constructor(options: WriteGroupOptions) {
    this.#options = options
  }

  add(write: GroupedWrite): void {
    if (this.#writes.push(write) === 1) void this.#flushSoon()
  }

  async #flushSoon(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn++) await this.#options.clock.yield()
    this.flush()
  }

  /** Commits now what waits. */
  flush(): void {
    const writes = this.#writes
    this.#writes = []
    if (writes.length < 2) {
      writes[0]?.alone()
      return
    }
    const inside = () => {
      for (const write of writes) write.inside()
    }
    const committed = () => {
      for (const write of writes) write.committed()
    }
    this.#options.transact(inside, committed).catch(error => {
      for (const write of writes) this.#options.isShared(error) ? write.failed(error) : write.alone()
    })
  }
}
