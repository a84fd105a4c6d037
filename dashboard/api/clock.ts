/** Differences up to this are ignored: the server sends whole seconds, and they arrive late on a slow connection. */
const NEAR_MS = 5_000

/** Milliseconds by which the server's clock is ahead of this machine's. */
let ahead = 0

/** Returns the server's time, by which everything it sends is dated: the reader's clock may be wrong. */
export const now = () => Date.now() + ahead

/** Fetches, and reads the server's time from the response. */
export const timedFetch: typeof fetch = async (...request) => {
  const answer = await fetch(...request)
  const found = Date.parse(answer.headers.get('date') ?? '') - Date.now()
  if (Math.abs(found - ahead) > NEAR_MS) ahead = found
  return answer
}
