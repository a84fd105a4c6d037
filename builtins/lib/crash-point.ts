type OnReached = (point: string, effect?: string) => void

/** Set by tests before the program is loaded; the program itself cannot crash on purpose. */
const reached = Reflect.get(globalThis, Symbol.for('svc.crash_point')) as OnReached | undefined

/**
 * Names a place in the code between two steps, at which a test can kill the process to see what survives. In the store's
 * transactions it is one for each effect that is written: `before goals.complete`, `inside …`, `after …`.
 */
export function crashPoint(name: string, effect?: string): void {
  reached?.(name, effect)
}
