import { useEffect, useState } from 'preact/hooks'
import { access, onAccess } from './access.ts'

/** Time away after which the reader comes back for another visit, in milliseconds. */
const AWAY_MS = 28_800_000
/** Time for which the page is visible before this counts as a visit, in milliseconds. */
const VISIT_MS = 60_000

/** Times by this machine's clock: until when the reader has seen what happened, and when the page was last visible. */
type Stored = 'seen' | 'visited'

/** Each tenant has its own times, which all tabs share. */
const nameOf = (stored: Stored) => `${stored} ${access().tenant}`.trim()
const read = (stored: Stored) => Number(localStorage.getItem(nameOf(stored))) || undefined
const write = (stored: Stored, at: number) => localStorage.setItem(nameOf(stored), String(at))

const changed = new EventTarget()
/** Time since which the page is visible, in milliseconds since it was opened. */
let visibleSince: number | undefined
let lastVisit: number | undefined

function show(since: number | undefined): void {
  lastVisit = since
  changed.dispatchEvent(new Event('change'))
}

/** Moves the last visit when the reader is back after a long time, and notes that the page is visible. */
function update(): void {
  if (visibleSince === undefined && document.hidden) return
  const isBack = visibleSince === undefined
  visibleSince ??= performance.now()
  const visited = read('visited')
  const wasAway = visited !== undefined && Date.now() - visited > AWAY_MS
  if (wasAway) write('seen', visited)
  if (isBack || wasAway) show(read('seen'))
  if (performance.now() - visibleSince >= VISIT_MS) write('visited', Date.now())
  if (document.hidden) visibleSince = undefined
}

update()
document.addEventListener('visibilitychange', update)
setInterval(update, VISIT_MS)
onAccess(() => {
  visibleSince = undefined
  update()
})

/** Moves the last visit to now: what happened before is not shown again. */
export function markAsSeen(): void {
  write('seen', Date.now())
  write('visited', Date.now())
  show(undefined)
}

/** Returns the time of the last visit, by this machine's clock; undefined in a first visit and after `markAsSeen`. */
export function useLastVisit(): number | undefined {
  const [since, setSince] = useState(lastVisit)
  useEffect(() => {
    const onChange = () => setSince(lastVisit)
    onChange()
    changed.addEventListener('change', onChange)
    return () => changed.removeEventListener('change', onChange)
  }, [])
  return since
}
