/**
 * Marks a point between two steps at which a test can kill the process to see what survives. Each write in the store's
 * transactions has such points: `before goals.complete`, `inside …`, `after …`. Tests set it before the program is
 * loaded; the program itself cannot crash on purpose.
 */
export const crashPoint = Reflect.get(globalThis, Symbol.for('svc.crash_point')) as
  | ((point: string, effect?: string) => void)
  | undefined
