import type { Role } from '../ports.ts'
import { Scope, type Undo } from '../scope.ts'

/** A resource that a plugin starts while it is live, in processes of these roles. */
export interface Resource {
  start: (signal: AbortSignal) => Promise<Undo | void> | Undo | void
  in: readonly Role[]
}

/** A registration that can be shown and hidden again. */
interface Registration {
  label: string
  /** Round in which it is applied: 0 for what others may name, such as events; 1 for what names it, such as taps. */
  rank: 0 | 1
  apply: () => Undo
  /** Error created where it was declared, because the stack of a later error does not reach that far. */
  declaration: { readonly stack?: string }
  /** Set once it is applied. */
  undo?: Undo
}

/**
 * Everything that one version of a plugin registers: recorded during `setup`, shown and hidden by the host. The plugin
 * itself sees only its `PluginHandle`.
 */
export class Registrations {
  readonly #owner: string
  readonly #recorded = new Set<Registration>()
  #scope: Scope
  #isLive = false
  /** Resources that `setup` declared with `start`, for processes of any role. */
  readonly resources: Resource[] = []
  /** Function given to `svc.handOver`: returns the state for the next version of the plugin. */
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
   * Records a registration during `setup`. One added afterwards is applied at once and not recorded: when this version
   * is shown again, the code that added it runs again. @param declaration an error whose stack is appended to errors of
   * applying @returns the function that undoes it @throws errors of applying; ScopeClosedError once the plugin is gone
   */
  add(label: string, apply: () => Undo, rank: 0 | 1 = 0, declaration: Registration['declaration'] = {}): Undo {
    if (this.#isLive || this.#scope.isClosed) return this.#scope.hold(label, apply())
    const registration: Registration = { label, rank, apply, declaration }
    this.#recorded.add(registration)
    return () => (this.#recorded.delete(registration) ? registration.undo?.() : undefined)
  }

  /**
   * Applies the registrations of one rank: 0, then 1. @throws errors of applying, with the stack of the declaration
   * appended
   */
  show(rank: 0 | 1): void {
    if (this.#scope.isClosed) this.#scope = new Scope(this.#owner)
    for (const registration of this.#recorded) {
      if (registration.rank !== rank) continue
      registration.undo = this.#scope.hold(registration.label, applyRegistration(registration))
    }
    this.#isLive = rank === 1
  }

  /** Undoes all applied registrations, last first. @returns the errors of the undo functions */
  hide(): Promise<unknown[]> {
    this.#isLive = false
    return this.#scope.close()
  }
}

function applyRegistration({ apply, declaration }: Registration): Undo {
  try {
    return apply()
  } catch (error) {
    if (error instanceof Error && declaration.stack) {
      error.stack += `\n  declared as ${declaration.stack.replace(/^Error: /, '')}`
    }
    throw error
  }
}
