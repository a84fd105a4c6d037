import type { Undo } from './scope.ts'

/** A contribution that `setup` recorded: nothing of it is visible until it is applied. */
export interface Declared {
  label: string
  /** Listeners come after what they listen to. */
  rank: 0 | 1
  apply: () => Undo
  /** Where it was declared: applied later, what it throws would not say. */
  place: { readonly stack?: string }
  /** Set once it is applied. */
  undo?: Undo
}

/** @throws what applying throws, its stack prolonged by that of the declaration */
export function applied({ apply, place }: Declared): Undo {
  try {
    return apply()
  } catch (error) {
    if (error instanceof Error && place.stack) error.stack += `\n  declared as ${place.stack.replace(/^Error: /, '')}`
    throw error
  }
}
