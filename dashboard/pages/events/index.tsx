import { useEffect, useMemo, useState } from 'preact/hooks'
import { now } from '../../api/clock.ts'
import { type FeedEvent, feed } from '../../api/feed.ts'
import { type Place, refine, to } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { Pick, Search } from '../../ui/lists/filters.tsx'
import { Once } from '../../ui/once.ts'
import { Empty } from '../../ui/states.tsx'
import { Tag } from '../../ui/status.tsx'
import { agentOf } from '../../ui/text/agent-names.ts'
import { Code } from '../../ui/text/code.tsx'
import { moment, newest, shortMoment, visible } from '../../ui/text/format.ts'
import { summaryOf } from './summary.ts'

const SHOWN = 300

/** Live page of events, newest first, filtered by type, agent and words. */
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
        title={newest(shown.length, SHOWN, 'event')}
        aside={
          <>
            <Search label="Search events" value={q} onWords={q => refine({ q })} />
            <Search label="Agent" value={agent} onWords={agent => refine({ agent })} />
            <Pick label="Kind" value={kind} onPick={kind => refine({ kind })}>
              <option value="">All kinds</option>
              {kinds.map(each => (
                <option key={each}>{each}</option>
              ))}
            </Pick>
            <button type="button" onClick={() => setPaused(!paused)}>
              {paused ? 'Resume' : 'Pause'}
            </button>
          </>
        }
      >
        {shown.length === 0 ? (
          <Empty title={all.length === 0 ? 'No events yet.' : 'No matching events.'}>
            {all.length === 0
              ? 'Events of agents, costs and operator decisions appear here live.'
              : 'Filters apply to the events that this page has received. Use svc events to list older ones.'}
          </Empty>
        ) : (
          <ol class="plain events">
            {shown.map(event => (
              <Once key={event.seq} of={[event]} draw={() => <Line event={event} />} />
            ))}
          </ol>
        )}
      </Card>
    </>
  )
}

function Line({ event: { at, type, agent_id, agent_name, data } }: { event: FeedEvent }) {
  const [open, setOpen] = useState(false)
  return (
    <li>
      <button type="button" class="line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <time dateTime={at} title={moment(at)}>
          {shortMoment(at, now())}
        </time>
        <Tag kind={toneOf(type)}>{type}</Tag>
        <span class="what">{summaryOf(type, data)}</span>
      </button>
      {agent_id && (
        <a class="who" href={to('agents', [agent_id])}>
          {visible(agentOf({ agent_id, agent_name }))}
        </a>
      )}
      {open && <Code value={data} label={type} />}
    </li>
  )
}

/** Minimum time between two updates of the list, in milliseconds. */
const GATHER_MS = 250

/** Returns all events of the feed; while paused, the list does not change. */
function useEvents(paused: boolean): readonly FeedEvent[] {
  const [events, setEvents] = useState<readonly FeedEvent[]>([...feed.latest])
  useEffect(() => {
    if (paused) return
    setEvents([...feed.latest])
    let timer: ReturnType<typeof setTimeout> | undefined
    const undo = feed.onEvents(() => {
      timer ??= setTimeout(() => {
        timer = undefined
        setEvents([...feed.latest])
      }, GATHER_MS)
    })
    return () => {
      undo()
      clearTimeout(timer)
    }
  }, [paused])
  return events
}

function matches(event: FeedEvent, q: string, kind: string, agent: string): boolean {
  if (kind && event.type !== kind) return false
  if (agent && ![event.agent_id, event.agent_name].some(each => each?.includes(agent))) return false
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
