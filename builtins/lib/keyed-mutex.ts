/** Returns a function that runs work of the same key one after another, in the order of the calls. Other keys do not wait. */
export function keyedMutex(): <R>(key: string, work: () => Promise<R>) => Promise<R> {
  const last = new Map<string, Promise<unknown>>()
  return (key, work) => {
    const done = (last.get(key) ?? Promise.resolve()).then(work)
    const release = () => void (last.get(key) === settled && last.delete(key))
    const settled: Promise<void> = done.then(release, release)
    last.set(key, settled)
    return done
  }
}
