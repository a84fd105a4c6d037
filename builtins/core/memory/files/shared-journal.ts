import type { SharedFiles } from '#platform/store/contract'
import type { Lines } from './journal.ts'

/** A journal in the database of several machines, where lines are never torn. */
export class SharedJournal implements Lines {
  readonly #shared: SharedFiles
  readonly #path: string
  /**
   * Position of the last read: how often the journal had been rewritten, and its last line; -1 reads from the
   * beginning.
   */
  #version = 0
  #read = 0

  constructor(shared: SharedFiles, path: string) {
    this.#shared = shared
    this.#path = path
  }

  async catchUp(line: (value: unknown) => void, anew: () => void): Promise<boolean> {
    let found = await this.#shared.lines(this.#path, this.#read)
    if (found.version !== this.#version) {
      if (this.#read > 0) found = await this.#shared.lines(this.#path, 0)
      anew()
      this.#version = found.version
      this.#read = 0
    }
    for (const each of found.lines) {
      line(JSON.parse(each.line))
      this.#read = each.n
    }
    return false
  }

  append(values: readonly unknown[]): Promise<void> {
    return this.#shared.append(this.#path, values.map(textOf))
  }

  /**
   * When another process has written first, the content is read again. A write that repeatedly misses the other's
   * content goes on without it.
   */
  async replace(values: () => Promise<readonly unknown[]>): Promise<void> {
    for (let refused = -1; ; ) {
      const lines = (await values()).map(textOf)
      if (refused === this.#read) await this.catchUp(noLook, noLook)
      const last = await this.#shared.rewrite(this.#path, lines, this.#version, this.#read)
      if (last !== undefined) {
        this.#version++
        this.#read = last
        return
      }
      refused = this.#read
    }
  }

  rewind(): void {
    this.#version = -1
    this.#read = 0
  }
}

const noLook = () => {}
const textOf = (value: unknown) => JSON.stringify(value)
