/** Differences up to this are ignored: the server sends whole seconds, and they arrive late on a slow connection. */
const NEAR_MS = 5_000

/** Time limit for the beginning of a response to a read, in milliseconds. */
const RESPONSE_MS = 30_000

/** Milliseconds by which the server's clock is ahead of this machine's. */
let ahead = 0

/** Returns the server's time, by which everything it sends is dated: the reader's clock may be wrong. */
export const now = () => Date.now() + ahead

/** Fetches, and reads the server's time from the response. */
export const timedFetch: typeof fetch = async (url, request) => {
  const limit = new AbortController()
  const giveUp = () => limit.abort(new Error(`no response within ${RESPONSE_MS / 1_000} s`))
  const timer = setTimeout(giveUp, RESPONSE_MS)
  // Actions may take longer, and streams have a signal of their own.
  const signal = request?.signal ?? (request?.method === 'GET' ? limit.signal : null)
  const answer = await fetch(url, { ...request, signal }).finally(() => clearTimeout(timer))
  const found = Date.parse(answer.headers.get('date') ?? '') - Date.now()
  if (Math.abs(found - ahead) > NEAR_MS) ahead = found
  return answer
}
