import { useEffect, useState } from 'preact/hooks'
import { ago, moment } from './words.ts'

const watchers = new Set<() => void>()
setInterval(() => {
  if (!document.hidden) for (const watcher of watchers) watcher()
}, 1_000)

/** The time, told anew each second while the page is seen. */
export function useNow(): number {
  const [now, setNow] = useState(Date.now)
  useEffect(() => {
    const tick = () => setNow(Date.now())
    watchers.add(tick)
    return () => void watchers.delete(tick)
  }, [])
  return now
}

interface WhenProps {
  at: string | null | undefined
  none?: string
  /** It is something to come: what is overdue is due now. */
  ahead?: boolean
}

/** A moment as it lies from now, with the full time for those who ask. */
export function When({ at, none = '', ahead = false }: WhenProps) {
  const now = useNow()
  if (!at) return <>{none}</>
  return (
    <time dateTime={at} title={moment(at)}>
      {ahead && Date.parse(at) < now ? 'now' : ago(at, now)}
    </time>
  )
}
