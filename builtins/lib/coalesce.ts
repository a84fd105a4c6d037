/**
 * Returns a function that runs `work` once for all calls made before the run begins. Runs do not overlap: a call during
 * one waits for the next, so `work` must not wait for one.
 */
export function coalesce(work: () => Promise<void>): () => Promise<void> {
  let last: Promise<void> = Promise.resolve()
  let next: Promise<void> | undefined
  return () => {
    next ??= last.then(() => {
      next = undefined
      const run = work()
      last = run.catch(() => {})
      return run
    })
    return next
  }
}
