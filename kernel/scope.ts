import { ScopeClosedError } from './errors.ts'

export type Undo = () => void | Promise<void>

interface Held {
  label: string
  undo: Undo
}

/** Everything that one plugin registered; closing undoes it in reverse order. */
export class Scope {
  readonly owner: string
  readonly #held = new Set<Held>()
  #closed = false

  constructor(owner: string) {
    this.owner = owner
  }

  get isClosed(): boolean {
    return this.#closed
  }

  /** Labels of what is held, oldest first. */
  get labels(): string[] {
    return [...this.#held].map(held => held.label)
  }

  /**
   * Holds the function that undoes something that was just done.
   * @returns a function that undoes it earlier, at most once
   * @throws ScopeClosedError after `close`; it is undone first
   */
  hold(label: string, undo: Undo): Undo {
    const held = { label, undo }
    if (this.#closed) {
      void undo()
      throw new ScopeClosedError({ owner: this.owner, label })
    }
    this.#held.add(held)
    return () => (this.#held.delete(held) ? undo() : undefined)
  }

  /** Undoes everything, last first. @returns the errors; one error does not prevent the rest. A second call does nothing. */
  async close(): Promise<unknown[]> {
    this.#closed = true
    const failures: unknown[] = []
    for (const held of [...this.#held].reverse()) {
      if (!this.#held.delete(held)) continue
      try {
        // Awaits only promises: synchronous removals happen in one turn of the event loop.
        const undone = held.undo()
        if (undone instanceof Promise) await undone
      } catch (error) {
        failures.push(error)
      }
    }
    return failures
  }
}
