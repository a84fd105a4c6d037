/** The server tells the time in seconds, and late where the line is slow: what differs by less is no difference. */
const NEAR_MS = 5_000

/** How far the server's clock is ahead of this machine's. */
let ahead = 0

/** The time at the server, by which all that it tells is dated: the clock of whoever looks at it may be wrong. */
export const now = () => Date.now() + ahead

/** Fetches, and hears what time it is at the server. */
export const timedFetch: typeof fetch = async (...request) => {
  const answer = await fetch(...request)
  const found = Date.parse(answer.headers.get('date') ?? '') - Date.now()
  if (Math.abs(found - ahead) > NEAR_MS) ahead = found
  return answer
}
