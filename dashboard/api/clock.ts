/** The server sends its time in seconds, and late on a slow connection: smaller differences do not count. */
const NEAR_MS = 5_000

/** How far the server's clock is ahead of this machine's. */
let ahead = 0

/** The time at the server, which dates all that it sends: the reader's clock may be wrong. */
export const now = () => Date.now() + ahead

/** Fetches, and hears what time it is at the server. */
export const timedFetch: typeof fetch = async (...request) => {
  const answer = await fetch(...request)
  const found = Date.parse(answer.headers.get('date') ?? '') - Date.now()
  if (Math.abs(found - ahead) > NEAR_MS) ahead = found
  return answer
}
