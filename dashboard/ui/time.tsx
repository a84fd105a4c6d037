import { now } from '../api/clock.ts'
import { ago, moment } from './text/format.ts'

interface WhenProps {
  at: string | null | undefined
  none?: string
  /** Whether the time is expected: once it has passed, it is shown as now. */
  ahead?: boolean
  /** Interval at which the time repeats, in seconds. */
  every?: number | undefined
}

/** Time relative to now, with the full time as a tooltip. */
export function When({ at, none = '', ahead = false, every = 0 }: WhenProps) {
  if (!at) return <>{none}</>
  return (
    <time dateTime={at} title={moment(at)} data-from-now={ahead ? 'ahead' : 'any'} data-every={every || undefined}>
      {fromNow(at, ahead, every)}
    </time>
  )
}

function fromNow(at: string, ahead: boolean, every: number): string {
  const over = now() - Date.parse(at)
  if (over > 0 && every > 0) {
    const times = over / (every * 1_000)
    const passed = (ahead ? Math.ceil(times) : Math.floor(times)) * every * 1_000
    return ago(new Date(Date.parse(at) + passed).toISOString(), now())
  }
  return ahead && over > 0 ? 'now' : ago(at, now())
}

/**
 * Updates all relative times each second while the page is visible, by their text alone: no component is rendered
 * again.
 */
setInterval(() => {
  if (document.hidden) return
  for (const time of document.querySelectorAll<HTMLTimeElement>('time[data-from-now]')) {
    const words = fromNow(time.dateTime, time.dataset.fromNow === 'ahead', Number(time.dataset.every ?? 0))
    const text = time.firstChild as Text
    if (text.data !== words) text.data = words
  }
}, 1_000)
