import type { Role } from '../ports.ts'
import { Scope, type Undo } from '../scope.ts'

/** What a plugin holds as long as it is live, in processes of these roles. */
export interface Resource {
  start: (signal: AbortSignal) => Promise<Undo | void> | Undo | void
  in: readonly Role[]
}

/** A registration that can be shown and hidden again. */
interface Registration {
  label: string
  /** Listeners are applied after what they listen to. */
  rank: 0 | 1
  apply: () => Undo
  /** Where it was declared; the stack of an error on applying does not reach that far. */
  declaredAt: { readonly stack?: string }
  /** Set once it is applied. */
  undo?: Undo
}

/**
 * All that one version of a plugin registers: recorded during `setup`, shown and hidden by the host. The plugin itself only
 * sees its handle.
 */
export class Registrations {
  readonly #owner: string
  readonly #recorded = new Set<Registration>()
  #scope: Scope
  #isLive = false
  /** What `start` recorded, in processes of any role. */
  readonly resources: Resource[] = []
  /** Returns the state for the next version of the plugin. */
  handOver: (() => unknown) | undefined

  constructor(owner: string) {
    this.#owner = owner
    this.#scope = new Scope(owner)
  }

  /** Labels of active registrations, oldest first. */
  get labels(): string[] {
    return this.#scope.labels
  }

  /** Labels of what `setup` recorded, whether it is active now or not. */
  get recordedLabels(): string[] {
    return [...this.#recorded].map(({ label }) => label)
  }

  /**
   * Records during `setup`, applies at once afterwards. What is applied later is not repeated when this version is shown
   * again: the code that added it runs again.
   * @param declaredAt an error whose stack is added to one on applying
   * @returns the undoing
   * @throws what applying throws; ScopeClosedError once the plugin is gone
   */
  add(label: string, apply: () => Undo, rank: 0 | 1 = 0, declaredAt: Registration['declaredAt'] = {}): Undo {
    if (this.#isLive || this.#scope.isClosed) return this.#scope.hold(label, apply())
    const registration: Registration = { label, rank, apply, declaredAt }
    this.#recorded.add(registration)
    return () => (this.#recorded.delete(registration) ? registration.undo?.() : undefined)
  }

  /**
   * Applies what was recorded, in two rounds: first what others may name, then what names it.
   * @throws what applying throws, its stack followed by that of the declaration
   */
  show(rank: 0 | 1): void {
    if (this.#scope.isClosed) this.#scope = new Scope(this.#owner)
    for (const registration of this.#recorded) {
      if (registration.rank !== rank) continue
      registration.undo = this.#scope.hold(registration.label, applyRegistration(registration))
    }
    this.#isLive = rank === 1
  }

  /** Takes back all that is applied, last first. @returns what the undoings threw */
  hide(): Promise<unknown[]> {
    this.#isLive = false
    return this.#scope.close()
  }
}

function applyRegistration({ apply, declaredAt }: Registration): Undo {
  try {
    return apply()
  } catch (error) {
    if (error instanceof Error && declaredAt.stack) {
      error.stack += `\n  declared as ${declaredAt.stack.replace(/^Error: /, '')}`
    }
    throw error
  }
}
