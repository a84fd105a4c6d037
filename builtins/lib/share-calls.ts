/** Returns a function whose concurrent calls with the same key share one call of `ask`. */
export function shareCalls<T, K = void>(ask: (key: K) => Promise<T>): (key: K) => Promise<T> {
  const running = new Map<K, Promise<T>>()
  return key => {
    const call = running.get(key) ?? ask(key).finally(() => running.delete(key))
    running.set(key, call)
    return call
  }
}
