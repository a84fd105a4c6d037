import { useMemo } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { useQuery } from '../../api/query.ts'
import { type Place, refine, to } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { Status } from '../../ui/status.tsx'
import { Table } from '../../ui/table.tsx'
import { When } from '../../ui/time.tsx'
import type { Item } from '../../ui/types.ts'
import { count, dollars, visible } from '../../ui/words.ts'
import { Glance } from './glance.tsx'
import { Spawn } from './spawn.tsx'

export type Member = Item<'agents.fleet'>

/** Who does what, what it costs, who is stuck and why, and what wakes next. */
export function Fleet({ place }: { place: Place }) {
  const fleet = useQuery('fleet', { ask: () => api.agents.fleet() })
  return (
    <>
      <div class="page-head">
        <h1>Fleet</h1>
        <div class="aside">
          <Spawn onSpawned={fleet.reload} />
        </div>
      </div>
      <Loaded query={fleet}>
        {members =>
          members.length === 0 ? (
            <Empty title="No agent lives here yet.">
              Spawn one above, or in a terminal: <code>svc spawn coder</code>
            </Empty>
          ) : (
            <>
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
  const { q = '', status = '' } = place.query
  const shown = useMemo(() => members.filter(member => matches(member, q, status)), [members, q, status])
  const statuses = [...new Set(members.map(member => member.status))].sort()
  return (
    <Card
      title={shown.length === members.length ? 'Agents' : `Agents · ${shown.length} of ${members.length}`}
      aside={
        <>
          <input
            type="search"
            class="search"
            aria-label="Find agents"
            placeholder="Name, goal, model"
            value={q}
            onInput={event => refine({ q: event.currentTarget.value })}
          />
          <select
            class="pick"
            aria-label="Status"
            value={status}
            onChange={event => refine({ status: event.currentTarget.value })}
          >
            <option value="">Every status</option>
            {statuses.map(each => (
              <option key={each} value={each}>
                {each.replaceAll('_', ' ')}
              </option>
            ))}
          </select>
        </>
      }
    >
      <Table
        caption="Agents, what each does, and what it costs"
        rows={shown}
        keyOf={member => member.agent_id}
        columns={[
          {
            name: 'Agent',
            cell: ({ agent_id, name, spawned_by }) => (
              <>
                <a href={to('agents', [agent_id])} title={agent_id}>
                  {visible(name)}
                </a>
                {spawned_by && <small> of {visible(spawned_by)}</small>}
              </>
            ),
          },
          { name: 'Status', kind: 'narrow', cell: ({ status }) => <Status of={status} /> },
          { name: 'Doing', kind: 'grow', cell: member => <Doing member={member} /> },
          {
            name: 'Next',
            kind: 'narrow',
            wide: true,
            cell: ({ next_run_at }) => <When at={next_run_at} none="–" ahead />,
          },
          {
            name: 'Active',
            kind: 'narrow',
            wide: true,
            cell: ({ last_active }) => <When at={last_active} none="never" />,
          },
          {
            name: 'Cost',
            kind: 'number',
            cell: ({ cost_usd, tokens }) => <span title={`${count(tokens)} tokens`}>{dollars(cost_usd)}</span>,
          },
        ]}
      />
    </Card>
  )
}

/** Its goal, and what keeps it from that. */
function Doing({ member: { goal, held, steps, status } }: { member: Member }) {
  return (
    <>
      <span class="clamp" title={goal ?? ''}>
        {goal ? visible(goal) : <span class="soft">{status === 'working' ? 'Looks for a goal' : 'No goal'}</span>}
        {goal && steps !== null && steps > 0 && <small> · step {steps}</small>}
      </span>
      {held && <small class="held clamp">{visible(held)}</small>}
    </>
  )
}

function matches({ agent_id, name, goal, model, held, status }: Member, q: string, wanted: string): boolean {
  if (wanted && status !== wanted) return false
  const words = `${agent_id} ${name} ${goal ?? ''} ${model} ${held ?? ''}`.toLowerCase()
  return q
    .toLowerCase()
    .split(/\s+/)
    .every(word => words.includes(word))
}
