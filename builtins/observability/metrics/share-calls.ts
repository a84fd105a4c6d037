/** Returns a function whose concurrent calls share one call of `ask`, such as the metrics of one scrape. */
export function shareCalls<T>(ask: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined
  return () => {
    running ??= ask().finally(() => {
      running = undefined
    })
    return running
  }
}
