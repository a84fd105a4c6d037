/** Returns a function whose concurrent calls share one call of `ask`, such as the metrics of one scrape. */
export function shareCalls<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined
  return () => {
    asked ??= ask().finally(() => {
      asked = undefined
    })
    return asked
  }
}
