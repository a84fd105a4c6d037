import { useMemo } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useHeartbeat } from '../../api/daemon.ts'
import { useLasting, useQuery } from '../../api/query.ts'
import { type Place, refine, to } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { Pick, Search } from '../../ui/lists/filters.tsx'
import { Pager, windowOf } from '../../ui/lists/pager.tsx'
import { type Column, Table } from '../../ui/lists/table.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Status } from '../../ui/status.tsx'
import { labelOf, sharedNames } from '../../ui/text/agent-names.ts'
import { count, dollars, integer, plural, visible } from '../../ui/text/format.ts'
import { When } from '../../ui/time.tsx'
import type { Fleet as FleetPage, Member } from '../../ui/types.ts'
import { Attention, STUCK } from './attention.tsx'
import { Glance } from './glance.tsx'
import { Import } from './import.tsx'
import { LastVisit } from './last-visit.tsx'
import { Spawn } from './spawn.tsx'

/** Page of all agents: what each does and costs, which are stuck and why, and, while a daemon runs, which runs next. */
export function Fleet({ place }: { place: Place }) {
  const { q = '', status = '', sort = '', all = '' } = place.query
  const wanted = {
    q,
    ...(status ? { status } : {}),
    ...(sort ? { sort } : {}),
    all: all === 'true',
    ...windowOf(place),
  }
  const fresh = useQuery(`fleet ${JSON.stringify(wanted)}`, { ask: () => api.agents.fleet(wanted as FleetQuery) })
  const fleet = useLasting('fleet', fresh)
  const every = useHeartbeat()
  const shared = sharedNames(fleet.data ? namedIn(fleet.data) : [])
  const begin = (
    <>
      <Import onImported={fleet.reload} />
      <Spawn onSpawned={fleet.reload} />
    </>
  )
  const isEmpty = fleet.data !== undefined && fleet.data.summary.total + fleet.data.summary.hidden === 0
  return (
    <>
      <div class="page-head">
        <h1>Fleet</h1>
        {!isEmpty && <div class="aside">{begin}</div>}
      </div>
      <Loaded query={fleet}>
        {data =>
          isEmpty ? (
            <>
              <Attention summary={data.summary} shared={shared} />
              <Empty title="No agents yet." actions={begin}>
                Agents set goals and work on them within your limits. To spawn one in a terminal:{' '}
                <code>svc spawn coder</code>
              </Empty>
            </>
          ) : (
            <>
              <Attention summary={data.summary} shared={shared} />
              <LastVisit />
              <Glance summary={data.summary} every={every} />
              <Members fleet={data} shared={shared} place={place} every={every} />
            </>
          )
        }
      </Loaded>
    </>
  )
}

/** Returns all agents that the page names. */
function namedIn({ agents, summary: { asking, reasons } }: FleetPage) {
  return [...agents, ...asking, ...reasons.flatMap(({ first }) => first)]
}

type FleetQuery = Parameters<typeof api.agents.fleet>[0]

interface MembersProps {
  fleet: FleetPage
  /** Names that do not tell agents apart. */
  shared: ReadonlySet<string>
  place: Place
  every: number | undefined
}

function Members({ fleet: { agents, matching, summary }, shared, place, every }: MembersProps) {
  const { q = '', status = '', sort = '', all = '' } = place.query
  const find = (query: Record<string, string | undefined>) => refine({ ...query, page: undefined })
  const columns = useMemo(() => columnsOf(every, shared), [every, [...shared].join('\n')])
  const { total, hidden } = summary
  return (
    <Card
      title={matching === total ? 'Agents' : `Agents · ${integer(matching)} of ${integer(total)}`}
      aside={
        <>
          <Search label="Find agents" placeholder="Name, goal, model" value={q} onWords={q => find({ q })} />
          <Pick label="Status" value={status} onPick={status => find({ status })}>
            <option value="">All statuses</option>
            {STATUSES.map(each => (
              <option key={each} value={each}>
                {each.replaceAll('_', ' ')}
              </option>
            ))}
          </Pick>
          <Pick label="Sort by" value={sort} onPick={sort => find({ sort })}>
            <option value="">Needs attention first</option>
            {columns.flatMap(({ name, by, fallsFirst = false }) =>
              by === undefined
                ? []
                : [fallsFirst, !fallsFirst].map(falls => (
                    <option key={`${name} ${falls}`} value={falls ? `-${by}` : by}>
                      {name} {falls ? '↓' : '↑'}
                    </option>
                  )),
            )}
          </Pick>
          {(hidden > 0 || all) && (
            <label class="check">
              <input
                type="checkbox"
                checked={all === 'true'}
                onChange={event => find({ all: event.currentTarget.checked ? 'true' : undefined })}
              />
              {hidden > 0 ? `Show ${plural(hidden, 'ended sub-agent')}` : 'Show ended sub-agents'}
            </label>
          )}
        </>
      }
    >
      {agents.length === 0 ? (
        <Empty title={q || status ? 'No matching agents.' : 'No agents on this page.'}>
          <a href={to('')}>Show all {integer(total)}</a>
        </Empty>
      ) : (
        <Table
          caption="Agents"
          rows={agents}
          keyOf={member => member.agent_id}
          columns={columns}
          order={sort}
          onOrder={sort => find({ sort })}
        />
      )}
      <Pager shown={agents.length} total={matching} hasNext={windowOf(place).offset + agents.length < matching} />
    </Card>
  )
}

const STATUSES = ['working', 'idle', 'waiting', 'waiting_approval', 'paused', 'dead', STUCK] as const

/** Returns the heartbeat interval for idle agents: no event reports when they ran or run next. */
const restOf = ({ status }: Member, every: number | undefined) => (status === 'idle' ? every : undefined)

const columnsOf = (every: number | undefined, shared: ReadonlySet<string>): readonly Column<Member>[] => [
  {
    name: 'Agent',
    by: 'name',
    cell: ({ agent_id, name, spawned_by }) => (
      <>
        <a href={to('agents', [agent_id])} title={agent_id}>
          {visible(labelOf({ agent_id, name }, shared))}
        </a>
        {spawned_by && <small> of {visible(spawned_by)}</small>}
      </>
    ),
  },
  { name: 'Status', kind: 'narrow', by: 'status', cell: member => <State member={member} /> },
  { name: 'Activity', kind: 'grow', cell: member => <Doing member={member} /> },
  {
    name: 'Next run',
    kind: 'narrow',
    wide: true,
    by: 'next',
    cell: member => (
      <When at={every === undefined ? null : member.next_run_at} none="–" ahead every={restOf(member, every)} />
    ),
  },
  {
    name: 'Last cycle',
    kind: 'narrow',
    wide: true,
    by: 'active',
    fallsFirst: true,
    cell: member => <When at={member.last_active} none="never" every={restOf(member, every)} />,
  },
  {
    name: 'Cost',
    kind: 'number',
    by: 'cost',
    fallsFirst: true,
    cell: ({ cost_usd, tokens }) =>
      cost_usd === 0 && tokens > 0 ? (
        <span title="Free">{count(tokens)} tokens</span>
      ) : (
        <span title={`${count(tokens)} tokens`}>{dollars(cost_usd)}</span>
      ),
  },
]

/** Status of an agent; being stuck takes precedence. */
function State({ member }: { member: Member }) {
  const { status, held, stuck } = member
  if (!stuck) return <Status of={status} />
  return (
    <span title={`${status}: ${visible(held ?? '')}`}>
      <Status of={STUCK} />
    </span>
  )
}

/** Goal of an agent, and what blocks it. */
function Doing({ member: { agent_id, goal, held, steps, status, stuck, waits_for } }: { member: Member }) {
  const isInformation = !stuck && waits_for !== 'approval' && waits_for !== 'answer'
  return (
    <>
      <span class="clamp" title={visible(goal ?? '')}>
        {goal ? visible(goal) : <span class="soft">{status === 'working' ? 'Looking for a goal' : 'No goal'}</span>}
        {goal && steps !== null && steps > 0 && <small class="unbroken"> · step {steps}</small>}
      </span>
      {held && (
        <small class={`clamp ${isInformation ? 'soft' : 'held'}`} title={visible(held)}>
          {status === 'waiting_approval' ? (
            <Asked held={visible(held)} href={to('agents', [agent_id])} />
          ) : waits_for === 'answer' ? (
            <a href={to('agents', [agent_id])}>waits for your answer</a>
          ) : (
            visible(held)
          )}
        </small>
      )}
    </>
  )
}

/** Name of the tool that waits, with a link to the decision, where its arguments are shown in full. */
function Asked({ held, href }: { held: string; href: string }) {
  const end = held.indexOf(': ')
  return (
    <>
      <a href={href}>{held.slice(0, end)}</a>
      {held.slice(end)}
    </>
  )
}
