import { useMemo, useState } from 'preact/hooks'
import { api } from '../../../api/client.ts'
import { ofAgent, useLasting, useQuery } from '../../../api/query.ts'
import { to } from '../../../routes.ts'
import { Card, Figure } from '../../../ui/card.tsx'
import { Meter } from '../../../ui/figures/meter.tsx'
import { Plot } from '../../../ui/figures/plot.tsx'
import { Table } from '../../../ui/lists/table.tsx'
import { Empty, Loaded } from '../../../ui/states.tsx'
import { Tag } from '../../../ui/status.tsx'
import { percent, plural, visible } from '../../../ui/text/format.ts'
import { When } from '../../../ui/time.tsx'
import type { Answer } from '../../../ui/types.ts'
import type { ViewProps } from '../view.ts'

type Citizen = Answer<'economy.citizen'>
type Entry = Answer<'economy.ledger'>['entries'][number]

const STATS = ['health', 'energy', 'happiness', 'reputation'] as const
/** Number of entries in the plot, and in the list. */
const MOVES = 500
const LISTED = 40
const PIECE = 20

const credits = (n: number) =>
  n.toLocaleString('en', { minimumFractionDigits: Number.isInteger(n) ? 0 : 2, maximumFractionDigits: 2 })

/** Economic life of an agent: its balance, its job, its state, and its life events. */
export function World({ agent: { agent_id: id } }: ViewProps) {
  const world = useQuery('world', { ask: () => api.economy.world() })
  return (
    <Loaded query={world}>
      {({ enabled, beat }) =>
        enabled ? (
          <CitizenView id={id} beat={beat} />
        ) : (
          <Empty title="The economy is not enabled in this project.">
            Set <a href={to('config', [], { q: 'economy.enabled' })}>economy.enabled</a> to true to let agents earn and
            spend credits and have life events.
          </Empty>
        )
      }
    </Loaded>
  )
}

function CitizenView({ id, beat }: { id: string; beat: number }) {
  const citizen = useQuery(`citizen ${id}`, { ask: () => api.economy.citizen({ id }), on: ofAgent(id) })
  return (
    <Loaded query={citizen}>
      {found => (
        <div class="stack">
          <dl class="card figures">
            <Figure label="Balance" value={credits(found.balance)} note="credits" />
            <Figure
              label="Job"
              value={found.job ? visible(found.job) : 'none'}
              note={found.job ? `${credits(found.salary)} per payday` : ''}
            />
            <Figure
              label="Age"
              value={plural(found.cycles_alive, 'heartbeat')}
              note={`heartbeat ${beat} of the economy`}
            />
            <Figure label="Bets" value={found.plays} note={found.plays > 0 ? `won ${found.wins}` : ''} />
          </dl>
          {(found.sheltered || found.balance < 0) && (
            <p class="trouble">
              {found.sheltered
                ? 'The agent became insolvent and lives in a shelter without rent.'
                : 'The agent is in debt. Its income pays the debt first.'}
            </p>
          )}
          <div class="columns">
            <div class="stack">
              <Stats citizen={found} />
              <Life id={id} />
            </div>
            <Moves id={id} balance={found.balance} />
          </div>
        </div>
      )}
    </Loaded>
  )
}

function Stats({ citizen }: { citizen: Citizen }) {
  const skills = Object.entries(citizen.skills)
  return (
    <Card title="State">
      <dl class="bars">
        {STATS.map(stat => (
          <Bar key={stat} name={stat} value={citizen[stat]} />
        ))}
      </dl>
      <h3 class="apart">Skills</h3>
      {skills.length === 0 ? (
        <p class="soft">No skills yet.</p>
      ) : (
        <dl class="bars">
          {skills.map(([skill, level]) => (
            <Bar key={skill} name={skill} value={level} />
          ))}
        </dl>
      )}
    </Card>
  )
}

function Bar({ name, value }: { name: string; value: number }) {
  const words = visible(name.replaceAll('_', ' '))
  return (
    <div>
      <dt>{words}</dt>
      <dd>
        <Meter label={words} value={value} high={1.1} />
        <span>{percent(value)}</span>
      </dd>
    </div>
  )
}

function Life({ id }: { id: string }) {
  const [limit, setLimit] = useState(PIECE)
  const moments = useQuery(`life ${id} ${limit}`, { ask: () => api.economy.life({ id, limit }), on: ofAgent(id) })
  const query = useLasting(id, moments)
  return (
    <Card title="Life events">
      <Loaded query={query}>
        {moments =>
          moments.length === 0 ? (
            <Empty title="No life events yet." />
          ) : (
            <div class="stack">
              <ul class="plain list tall">
                {moments.map(({ life_event_id, event, category, status, chosen_by, summary, at }) => (
                  <li key={life_event_id}>
                    <div class="stack tight">
                      <p>
                        <Tag>{category}</Tag> <strong>{visible(event.replaceAll('_', ' '))}</strong>{' '}
                        {status === 'waiting' && <Tag kind="warn">choice pending</Tag>}
                        {chosen_by === 'default' && <Tag>default choice</Tag>}
                      </p>
                      {summary && <p>{visible(summary)}</p>}
                    </div>
                    <small>
                      <When at={at} />
                    </small>
                  </li>
                ))}
              </ul>
              {moments.length === limit && (
                <div class="row">
                  <button type="button" onClick={() => setLimit(limit + PIECE)}>
                    More
                  </button>
                </div>
              )}
            </div>
          )
        }
      </Loaded>
    </Card>
  )
}

function Moves({ id, balance }: { id: string; balance: number }) {
  const query = useQuery(`ledger ${id}`, {
    ask: () => api.economy.ledger({ agent: id, limit: MOVES }),
    on: ofAgent(id),
  })
  return (
    <div class="stack">
      <Loaded query={query}>
        {({ entries, balanced, accounts }) =>
          entries.length === 0 ? (
            <Card title="Ledger">
              <Empty title="No transactions yet." />
            </Card>
          ) : (
            <>
              <Over entries={entries} account={accounts[0]?.account ?? id} balance={balance} />
              <Card
                title="Newest transactions"
                aside={
                  <Tag kind={balanced ? 'good' : 'bad'}>{balanced ? 'ledger balanced' : 'ledger not balanced'}</Tag>
                }
              >
                <Table
                  caption="Transactions"
                  rows={entries.slice(0, LISTED)}
                  keyOf={({ entry_id }) => entry_id}
                  columns={[
                    { name: 'Reason', kind: 'grow', cell: ({ reason }) => visible(reason.replaceAll('_', ' ')) },
                    {
                      name: 'Counterparty',
                      wide: true,
                      cell: ({ payer, payee }) => visible(payer === accounts[0]?.account ? payee : payer),
                    },
                    {
                      name: 'Credits',
                      kind: 'number',
                      cell: ({ payer, amount }) => {
                        const isOut = payer === accounts[0]?.account
                        return (
                          <span class={isOut ? 'minus' : 'plus'}>
                            {isOut ? '−' : '+'}
                            {credits(amount)}
                          </span>
                        )
                      },
                    },
                    { name: 'Time', kind: 'narrow', cell: ({ at }) => <When at={at} /> },
                  ]}
                />
              </Card>
            </>
          )
        }
      </Loaded>
    </div>
  )
}

/** Balance over time, computed backwards from the current balance. */
function Over({ entries, account, balance }: { entries: readonly Entry[]; account: string; balance: number }) {
  const { times, lines } = useMemo(() => {
    let left = balance
    const points = entries.map(({ at, payer, amount }) => {
      const point = { time: Date.parse(at) / 1000, value: left }
      left += payer === account ? amount : -amount
      return point
    })
    // Of several movements at the same time, only the final balance counts.
    const shown = points.filter(({ time }, n) => points[n - 1]?.time !== time).reverse()
    return {
      times: shown.map(({ time }) => time),
      lines: [{ label: 'Balance', color: '--accent', fill: true, values: shown.map(({ value }) => value) }],
    }
  }, [entries, account, balance])
  return (
    <Card title="Balance over time">
      <Plot label="Balance over time" times={times} lines={lines} write={credits} />
    </Card>
  )
}
