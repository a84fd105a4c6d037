type OnReached = (point: string, effect?: string) => void

/** Hook that tests set before the program is loaded; the program itself cannot crash on purpose. */
const reached = Reflect.get(globalThis, Symbol.for('svc.crash_point')) as OnReached | undefined

/**
 * Marks a point between two steps at which a test can kill the process to see what survives. Each write in the store's
 * transactions has such points: `before goals.complete`, `inside …`, `after …`.
 */
export function crashPoint(name: string, effect?: string): void {
  reached?.(name, effect)
}
