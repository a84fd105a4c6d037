import { now } from '../api/clock.ts'
import { ago, moment } from './text/words.ts'

interface WhenProps {
  at: string | null | undefined
  none?: string
  /** It is something to come: what is overdue is due now. */
  ahead?: boolean
  /** Seconds after which it comes again, however often it has. */
  every?: number | undefined
}

/** A moment as it lies from now, with the full time for those who ask. */
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

/** All of them go on each second while the page is seen, by their words alone: no part of the page is drawn anew for it. */
setInterval(() => {
  if (document.hidden) return
  for (const time of document.querySelectorAll<HTMLTimeElement>('time[data-from-now]')) {
    const words = fromNow(time.dateTime, time.dataset.fromNow === 'ahead', Number(time.dataset.every ?? 0))
    const text = time.firstChild as Text
    if (text.data !== words) text.data = words
  }
}, 1_000)
