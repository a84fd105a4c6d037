import { now } from '../api/clock.ts'
import { ago, moment } from './words.ts'

interface WhenProps {
  at: string | null | undefined
  none?: string
  /** It is something to come: what is overdue is due now. */
  ahead?: boolean
}

/** A moment as it lies from now, with the full time for those who ask. */
export function When({ at, none = '', ahead = false }: WhenProps) {
  if (!at) return <>{none}</>
  return (
    <time dateTime={at} title={moment(at)} data-from-now={ahead ? 'ahead' : 'any'}>
      {fromNow(at, ahead)}
    </time>
  )
}

function fromNow(at: string, ahead: boolean): string {
  return ahead && Date.parse(at) < now() ? 'now' : ago(at, now())
}

/** All of them go on each second while the page is seen, by their words alone: no part of the page is drawn anew for it. */
setInterval(() => {
  if (document.hidden) return
  for (const time of document.querySelectorAll<HTMLTimeElement>('time[data-from-now]')) {
    const words = fromNow(time.dateTime, time.dataset.fromNow === 'ahead')
    const text = time.firstChild as Text
    if (text.data !== words) text.data = words
  }
}, 1_000)
