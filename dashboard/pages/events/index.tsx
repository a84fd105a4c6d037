import { useEffect, useMemo, useState } from 'preact/hooks'
import { feed, type Happening } from '../../api/feed.ts'
import { type Place, refine, to } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { Code } from '../../ui/code.tsx'
import { Empty } from '../../ui/states.tsx'
import { Tag } from '../../ui/status.tsx'
import { moment, visible } from '../../ui/words.ts'

const SHOWN = 300

/** What happens, as it happens: the newest first, by kind, agent and words. */
export function Events({ place }: { place: Place }) {
  const { q = '', kind = '', agent = '' } = place.query
  const [paused, setPaused] = useState(false)
  const all = useEvents(paused)
  const shown = useMemo(
    () =>
      all
        .filter(event => matches(event, q, kind, agent))
        .slice(-SHOWN)
        .reverse(),
    [all, q, kind, agent],
  )
  const kinds = [...new Set(all.map(event => event.type))].sort()
  return (
    <>
      <h1>Events</h1>
      <Card
        title={`${shown.length} shown`}
        aside={
          <>
            <input
              type="search"
              class="search"
              aria-label="Words"
              placeholder="Words"
              value={q}
              onInput={event => refine({ q: event.currentTarget.value })}
            />
            <input
              type="search"
              class="search"
              aria-label="Agent"
              placeholder="Agent"
              value={agent}
              onInput={event => refine({ agent: event.currentTarget.value })}
            />
            <select
              class="pick"
              aria-label="Kind"
              value={kind}
              onChange={event => refine({ kind: event.currentTarget.value })}
            >
              <option value="">Every kind</option>
              {kinds.map(each => (
                <option key={each}>{each}</option>
              ))}
            </select>
            <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>
              {paused ? 'Go on' : 'Hold'}
            </button>
          </>
        }
      >
        {shown.length === 0 ? (
          <Empty title="Nothing of that kind happened lately." />
        ) : (
          <ol class="plain events">
            {shown.map(event => (
              <Line key={event.seq} event={event} />
            ))}
          </ol>
        )}
      </Card>
    </>
  )
}

function Line({ event: { at, type, agent_id, data } }: { event: Happening }) {
  const [open, setOpen] = useState(false)
  return (
    <li>
      <button type="button" class="line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <time dateTime={at} title={moment(at)}>
          {at.slice(11, 19)}
        </time>
        <Tag kind={toneOf(type)}>{type}</Tag>
        <span class="what">{summaryOf(data)}</span>
      </button>
      {agent_id && (
        <a class="who" href={to('agents', [agent_id])}>
          {visible(agent_id)}
        </a>
      )}
      {open && <Code value={data} label={type} />}
    </li>
  )
}

/** All that the feed knows, anew with each burst; held, it stays as it is. */
function useEvents(paused: boolean): readonly Happening[] {
  const [events, setEvents] = useState<readonly Happening[]>([...feed.latest])
  useEffect(() => {
    if (paused) return
    setEvents([...feed.latest])
    return feed.onEvents(() => setEvents([...feed.latest]))
  }, [paused])
  return events
}

function matches(event: Happening, q: string, kind: string, agent: string): boolean {
  if (kind && event.type !== kind) return false
  if (agent && !event.agent_id?.includes(agent)) return false
  if (!q) return true
  const text = `${event.type} ${JSON.stringify(event.data)}`.toLowerCase()
  return q
    .toLowerCase()
    .split(/\s+/)
    .every(word => text.includes(word))
}

function toneOf(type: string): '' | 'good' | 'warn' | 'bad' {
  if (/failed|error|died|abandoned|deleted/.test(type)) return 'bad'
  if (/completed|resumed|approved/.test(type)) return 'good'
  return /approval|exceeded|frozen|max_steps/.test(type) ? 'warn' : ''
}

/** What an event is about, in one line: its longest words first, its ids left out. */
function summaryOf(data: Record<string, unknown>): string {
  const parts = Object.entries(data)
    .filter(([key, value]) => !key.endsWith('_id') && value !== null && key !== 'cycle_num')
    .map(([key, value]) => `${key}: ${typeof value === 'object' ? JSON.stringify(value) : value}`)
  return visible(parts.join(' · ').slice(0, 240))
}
