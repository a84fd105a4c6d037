import { useMemo } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useDaemon } from '../../api/daemon.ts'
import { useQuery } from '../../api/query.ts'
import { type Place, refine, to } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { Pick, Search } from '../../ui/filters.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Status } from '../../ui/status.tsx'
import { type Column, orderOf, Table } from '../../ui/table.tsx'
import { When } from '../../ui/time.tsx'
import type { Member } from '../../ui/types.ts'
import { count, dollars, visible } from '../../ui/words.ts'
import { Attention, HELD, isHeld } from './attention.tsx'
import { Glance } from './glance.tsx'
import { Import } from './import.tsx'
import { Spawn } from './spawn.tsx'

/** Who does what, what it costs, who is stuck and why, and what wakes next, where a daemon wakes anybody. */
export function Fleet({ place }: { place: Place }) {
  const fleet = useQuery('fleet', { ask: () => api.agents.fleet() })
  const { running = true, frozen = false } = useDaemon().data ?? {}
  const members = useMemo(
    () => (running && !frozen ? fleet.data : fleet.data?.map(member => ({ ...member, next_run_at: null }))),
    [fleet.data, running, frozen],
  )
  const begin = (
    <>
      <Import onImported={fleet.reload} />
      <Spawn onSpawned={fleet.reload} />
    </>
  )
  return (
    <>
      <div class="page-head">
        <h1>Fleet</h1>
        {fleet.data?.length !== 0 && <div class="aside">{begin}</div>}
      </div>
      <Loaded query={{ ...fleet, data: members }}>
        {members =>
          members.length === 0 ? (
            <Empty title="No agent lives here yet." actions={begin}>
              An agent sets itself goals and pursues them, as far as you let it. In a terminal:{' '}
              <code>svc spawn coder</code>
            </Empty>
          ) : (
            <>
              <Attention members={members} />
              <Glance members={members} />
              <Members members={members} place={place} />
            </>
          )
        }
      </Loaded>
    </>
  )
}

function Members({ members, place }: { members: readonly Member[]; place: Place }) {
  const { q = '', status = '', sort = '' } = place.query
  const shown = useMemo(() => byNeed(members.filter(member => matches(member, q, status))), [members, q, status])
  const statuses = [...new Set(members.map(member => member.status))].sort()
  return (
    <Card
      title={
        shown.length === members.length
          ? 'Agents'
          : `Agents · ${shown.length.toLocaleString('en')} of ${members.length.toLocaleString('en')}`
      }
      aside={
        <>
          <Search label="Find agents" placeholder="Name, goal, model" value={q} onWords={q => refine({ q })} />
          <Pick label="Status" value={status} onPick={status => refine({ status })}>
            <option value="">Every status</option>
            {statuses.map(each => (
              <option key={each} value={each}>
                {each.replaceAll('_', ' ')}
              </option>
            ))}
            <option value={HELD}>{HELD}</option>
          </Pick>
          <Pick label="Sort by" value={sort} onPick={sort => refine({ sort })}>
            <option value="">Who needs you first</option>
            {COLUMNS.filter(({ by }) => by).flatMap(({ name, fallsFirst = false }) =>
              [fallsFirst, !fallsFirst].map(falls => (
                <option key={`${name} ${falls}`} value={orderOf(name, falls)}>
                  {name} {falls ? '↓' : '↑'}
                </option>
              )),
            )}
          </Pick>
        </>
      }
    >
      {shown.length === 0 ? (
        <Empty title="No agent fits.">
          <a href={to('')}>Show all {members.length.toLocaleString('en')}</a>
        </Empty>
      ) : (
        <Table
          caption="Agents, what each does, and what it costs"
          cardPx={CARD_PX}
          rows={shown}
          keyOf={member => member.agent_id}
          columns={COLUMNS}
          order={sort}
          onOrder={order => refine({ sort: order })}
        />
      )}
    </Card>
  )
}

/** As cards, rows have six lines where somebody is held. */
const CARD_PX = 152

const timeOf = (at: string | null) => (at === null ? null : Date.parse(at))

const COLUMNS: readonly Column<Member>[] = [
  {
    name: 'Agent',
    by: ({ name }) => name,
    cell: ({ agent_id, name, spawned_by }) => (
      <>
        <a href={to('agents', [agent_id])} title={agent_id}>
          {visible(name)}
        </a>
        {spawned_by && <small> of {visible(spawned_by)}</small>}
      </>
    ),
  },
  { name: 'Status', kind: 'narrow', by: ({ status }) => status, cell: member => <State member={member} /> },
  { name: 'Doing', kind: 'grow', cell: member => <Doing member={member} /> },
  {
    name: 'Next',
    kind: 'narrow',
    wide: true,
    by: ({ next_run_at }) => timeOf(next_run_at),
    cell: ({ next_run_at }) => <When at={next_run_at} none="–" ahead />,
  },
  {
    name: 'Active',
    kind: 'narrow',
    wide: true,
    by: ({ last_active }) => timeOf(last_active),
    fallsFirst: true,
    cell: ({ last_active }) => <When at={last_active} none="never" />,
  },
  {
    name: 'Cost',
    kind: 'number',
    by: ({ cost_usd, tokens }) => cost_usd * 1e9 + tokens,
    fallsFirst: true,
    cell: ({ cost_usd, tokens }) =>
      cost_usd === 0 && tokens > 0 ? (
        <span title="It costs nothing">{count(tokens)} tokens</span>
      ) : (
        <span title={`${count(tokens)} tokens`}>{dollars(cost_usd)}</span>
      ),
  },
]

/** An agent that is held is that before all else. */
function State({ member }: { member: Member }) {
  const { status, held } = member
  if (!isHeld(member)) return <Status of={status} />
  return (
    <span title={`${status}: ${visible(held ?? '')}`}>
      <Status of={HELD} />
    </span>
  )
}

/** Those first that want the operator's hand, those last that are out of it; else as they came to life. */
function byNeed(members: readonly Member[]): readonly Member[] {
  const place = (member: Member) =>
    member.status === 'waiting_approval' ? 0 : isHeld(member) ? 1 : (AFTER[member.status] ?? 2)
  return [...members].sort((a, b) => place(a) - place(b))
}

const AFTER: Partial<Record<Member['status'], number>> = { paused: 3, dead: 4 }

/** Its goal, and what keeps it from that. */
function Doing({ member: { agent_id, goal, held, steps, status } }: { member: Member }) {
  return (
    <>
      <span class="clamp" title={visible(goal ?? '')}>
        {goal ? visible(goal) : <span class="soft">{status === 'working' ? 'Looks for a goal' : 'No goal'}</span>}
        {goal && steps !== null && steps > 0 && <small class="unbroken"> · step {steps}</small>}
      </span>
      {held && (
        <small class="held clamp" title={visible(held)}>
          {status === 'waiting_approval' ? (
            <Asked held={visible(held)} href={to('agents', [agent_id])} />
          ) : (
            visible(held)
          )}
        </small>
      )}
    </>
  )
}

/** Which tool asks leads to the decision; with what, one reads there whole. */
function Asked({ held, href }: { held: string; href: string }) {
  const end = held.indexOf(': ')
  return (
    <>
      <a href={href}>{held.slice(0, end)}</a>
      {held.slice(end)}
    </>
  )
}

function matches(member: Member, q: string, wanted: string): boolean {
  const { agent_id, name, goal, model, held, status } = member
  if (wanted && !(wanted === HELD ? isHeld(member) : status === wanted)) return false
  const words = `${agent_id} ${name} ${goal ?? ''} ${model} ${held ?? ''}`.toLowerCase()
  return q
    .toLowerCase()
    .split(/\s+/)
    .every(word => words.includes(word))
}
