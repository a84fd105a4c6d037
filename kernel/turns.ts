/** Runs what is given for one key one after another, as it came. */
export function turns(): <R>(key: string, work: () => Promise<R>) => Promise<R> {
  const last = new Map<string, Promise<unknown>>()
  return (key, work) => {
    const turn = (last.get(key) ?? Promise.resolve()).then(work)
    const leave = () => void (last.get(key) === settled && last.delete(key))
    const settled: Promise<void> = turn.then(leave, leave)
    last.set(key, settled)
    return turn
  }
}
