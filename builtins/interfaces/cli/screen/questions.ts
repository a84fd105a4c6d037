/** Asks a question on the terminal. @returns the answer, without white space around it */
export type Ask = (question: string) => Promise<string>

/** Lets a person answer questions on the terminal. @returns undefined after Ctrl-C, or when the input ends */
export async function withQuestions<T>(work: (ask: Ask) => Promise<T>): Promise<T | undefined> {
  const { createInterface } = await import('node:readline/promises')
  const lines = createInterface({ input: process.stdin, output: process.stdout })
  const stop = new AbortController()
  lines.once('SIGINT', () => stop.abort())
  lines.once('close', () => stop.abort())
  try {
    return await work(async question => (await lines.question(question, stop)).trim())
  } catch (error) {
    if (stop.signal.aborted) return undefined
    throw error
  } finally {
    lines.close()
  }
}
