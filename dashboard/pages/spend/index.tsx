import { useMemo, useState } from 'preact/hooks'
import { idAndName } from '../../../builtins/lib/id-and-name.ts'
import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { now } from '../../api/clock.ts'
import { ofSpend, useQuery } from '../../api/query.ts'
import { type Place, refine, to } from '../../routes.ts'
import { Card, Figure } from '../../ui/card.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { Meter, usedOf } from '../../ui/figures/meter.tsx'
import { type Line, Plot } from '../../ui/figures/plot.tsx'
import { Pick } from '../../ui/lists/filters.tsx'
import { chosenIn, idsOf } from '../../ui/lists/list-filters.tsx'
import { Table } from '../../ui/lists/table.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { count, dollars, moment, visible } from '../../ui/text/format.ts'
import type { Answer, Item } from '../../ui/types.ts'

type Spending = Item<'budget.spending'>
type Budget = Answer<'budget.status'>

const VIEWS = {
  hour: { name: 'Last hour', bucket: 'minute', length: 60_000, buckets: 60 },
  day: { name: 'Last day', bucket: 'hour', length: 3_600_000, buckets: 24 },
  week: { name: 'Last week', bucket: 'hour', length: 3_600_000, buckets: 168 },
  month: { name: 'Last 30 days', bucket: 'day', length: 86_400_000, buckets: 30 },
} as const
const BY = { agent: 'agent', model: 'model', kind: 'purpose' } as const
/** Maximum number of rows listed by name, highest spend first. */
const TOP = 50
/** Name that the server gives to all other rows. */
const OTHERS = 'others'
const COLORS = ['--accent', '--info', '--violet', '--warn']

/** Page of spend: the budget and how fast it is used, by whom and for what. */
export function Spend({ place }: { place: Place }) {
  const by = chosenIn(place.query, 'by', idsOf(BY)) ?? 'agent'
  const budget = useQuery('budget', {
    ask: () => api.budget.status(),
    on: ofSpend,
  })
  const span = chosenIn(place.query, 'span', idsOf(VIEWS)) ?? spanOf(budget.data?.window_began_at)
  const { bucket, length, buckets } = VIEWS[span]
  const spending = useQuery(`spending ${span} ${by}`, {
    ask: () => api.budget.spending({ bucket, by, since: new Date(now() - length * buckets).toISOString(), top: TOP }),
    on: ofSpend,
  })
  return (
    <>
      <h1>Spend</h1>
      {budget.fault?.code === 'daemon_not_running' ? (
        <p class="soft">The daemon manages the budget and does not run in this server. Past spending is shown below.</p>
      ) : (
        <Loaded query={budget}>{status => <Window budget={status} onReset={budget.reload} />}</Loaded>
      )}
      <Card
        title={VIEWS[span].name}
        aside={
          <>
            <Pick label="Period" value={span} onPick={span => refine({ span })}>
              {Object.entries(VIEWS).map(([id, { name }]) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </Pick>
            <Pick label="Group by" value={by} onPick={by => refine({ by })}>
              {Object.entries(BY).map(([id, name]) => (
                <option key={id} value={id}>
                  by {name}
                </option>
              ))}
            </Pick>
          </>
        }
      >
        <Loaded query={spending}>
          {rows =>
            rows.length === 0 ? (
              <Empty title="No spending in this period.">Every model call is listed here.</Empty>
            ) : (
              <Over rows={rows} length={length} buckets={buckets} by={by} budget={budget.data} />
            )
          }
        </Loaded>
      </Card>
    </>
  )
}

/** Returns the default time span: an hour for a budget that began within the last hour, otherwise a day. */
const spanOf = (began: string | null | undefined) =>
  began && now() - Date.parse(began) < VIEWS.hour.length * VIEWS.hour.buckets ? 'hour' : 'day'

/** Returns the shortest time span that covers the last milliseconds. */
export const spanOver = (ms: number) => idsOf(VIEWS).find(id => VIEWS[id].length * VIEWS[id].buckets >= ms) ?? 'month'

function Window({ budget, onReset }: { budget: Budget; onReset: () => void }) {
  const { spent, limits, reserved, message, window_began_at, approximate, unconfirmed, exceeded, tight } = budget
  const [isResetting, setResetting] = useState(false)
  return (
    <section class="card stack" aria-label="Budget">
      {(exceeded || tight) && <p class="trouble sentence">{visible(message)}</p>}
      <dl class="figures">
        <Figure label="Spent" value={dollars(spent.usd)} note={`${count(spent.tokens)} tokens`} />
        <Figure label="Reserved for running calls" value={dollars(reserved.usd)} />
        <Figure
          label="Limit"
          value={limits.usd === null ? 'none' : dollars(limits.usd)}
          note={
            <>
              {limits.tokens !== null && `${count(limits.tokens)} tokens `}
              <a href={to('config', [], { q: 'daemon.budget_usd' })}>{budget.unlimited ? 'Set a limit' : 'Change'}</a>
            </>
          }
        />
        {unconfirmed.tokens > 0 && (
          <Figure
            label="Unconfirmed cost"
            value={dollars(unconfirmed.usd)}
            note={`${count(unconfirmed.tokens)} tokens of calls whose process ended`}
          />
        )}
        {approximate.usd > 0 && (
          <Figure
            label="Estimated cost"
            value={dollars(approximate.usd)}
            note="from the length of requests and answers: the provider reported no usage"
          />
        )}
      </dl>
      {!budget.unlimited && <Meter label="Share of the budget used" value={usedOf(budget)} />}
      <div class="row">
        <button type="button" class="small" onClick={() => setResetting(true)}>
          Reset counter…
        </button>
        {window_began_at && <small>Counted since {moment(window_began_at)}</small>}
      </div>
      {isResetting && <Reset onDone={onReset} onClose={() => setResetting(false)} />}
    </section>
  )
}

function Reset({ onDone, onClose }: { onDone: () => void; onClose: () => void }) {
  const reset = useAction(async () => {
    await api.budget.reset()
    onDone()
  }, 'Counter reset.')
  return (
    <Confirm title="Reset the counter?" label="Reset" action={reset} onClose={onClose}>
      <p>The spend is counted from zero, so the agents may spend up to the whole limit again.</p>
    </Confirm>
  )
}

/** Multiple of the spend above which the limit is not drawn. */
const FAR = 4
/** Height of a row that is shown as a card with two lines. */
const CARD_PX = 76
/** The label of calls without an agent. */
const NO_AGENT = 'no agent'

interface OverProps {
  rows: readonly Spending[]
  length: number
  buckets: number
  by: keyof typeof BY
  budget: Budget | undefined
}

function Over({ rows, length, buckets, by, budget }: OverProps) {
  const free = rows.every(row => row.cost_usd === 0)
  const amount = (row: Spending) => (free ? row.tokens : row.cost_usd)
  const write = (value: number) => (free ? count(value) : dollars(value))
  const { times, lines, totals } = useMemo(() => plotSpend(rows, length, buckets, amount), [rows, length, buckets])
  const unit = free ? 'tokens' : 'usd'
  const most = budget?.limits[unit] ?? null
  const limit = most === null ? null : most - budget!.spent[unit] + totals.reduce((sum, each) => sum + each.amount, 0)
  // A limit far above the spend would flatten all other lines.
  const isFar = limit !== null && limit > FAR * Math.max(...lines.map(({ values }) => values.at(-1) ?? 0))
  const shown: Line[] =
    limit === null || isFar
      ? lines
      : [
          ...lines,
          {
            label: `budget of ${write(most!)} reached at`,
            color: '--bad',
            dashed: true,
            values: times.map(() => limit),
          },
        ]
  return (
    <div class="stack">
      {free && <p class="soft">The models are free, so the plot shows tokens.</p>}
      {isFar && <p class="soft">The budget of {write(most!)} is far above the range of this plot.</p>}
      <Plot label="Cumulative spend" times={times} lines={shown} write={write} height={260} />
      <Table
        caption="Spend"
        cardPx={CARD_PX}
        rows={totals}
        keyOf={each => each.name}
        columns={[
          {
            name: by === 'kind' ? 'Purpose' : by === 'agent' ? 'Agent' : 'Model',
            kind: 'grow',
            cell: ({ name, label, own }) => {
              if (by !== 'agent' || name === NO_AGENT || name === OTHERS) return visible(label)
              return own[0]!.name === null ? (
                <>
                  {visible(label)} <small>removed</small>
                </>
              ) : (
                <a href={to('agents', [name])}>{visible(label)}</a>
              )
            },
          },
          { name: 'Calls', kind: 'number', cell: ({ calls }) => count(calls) },
          { name: 'Tokens', kind: 'number', cell: ({ tokens }) => count(tokens) },
          { name: 'Cost', kind: 'number', cell: ({ cost }) => dollars(cost) },
        ]}
      />
    </div>
  )
}

/** Returns the spend added up over time: one line for each of the highest, one for the rest. */
function plotSpend(rows: readonly Spending[], length: number, buckets: number, amount: (row: Spending) => number) {
  const last = Math.floor(now() / length)
  const times = Array.from({ length: buckets + 1 }, (_, n) => ((last - buckets + n) * length) / 1000)
  const names = [...new Set(rows.map(row => row.by ?? NO_AGENT))]
  const totals = names
    .map(name => {
      const own = rows.filter(row => (row.by ?? NO_AGENT) === name)
      const sum = (of: (row: Spending) => number) => own.reduce((total, row) => total + of(row), 0)
      return {
        name,
        label: idAndName({ agent_id: name, name: own[0]!.name }),
        own,
        amount: sum(amount),
        cost: sum(row => row.cost_usd),
        tokens: sum(row => row.tokens),
        calls: sum(row => row.calls),
      }
    })
    // Those that the server added up come last, so that they are not one of the lines.
    .sort((a, b) => Number(a.name === OTHERS) - Number(b.name === OTHERS) || b.amount - a.amount)
  const addSpend = (own: readonly Spending[]) => {
    let sum = 0
    const byTime = new Map<number, number>()
    for (const row of own)
      byTime.set(Date.parse(row.at) / 1000, (byTime.get(Date.parse(row.at) / 1000) ?? 0) + amount(row))
    return times.map(time => (sum += byTime.get(time) ?? 0))
  }
  const most = totals.slice(0, COLORS.length)
  const rest = totals.slice(COLORS.length).flatMap(({ own }) => own)
  const lines: Line[] = most.map(({ label, own }, at) => ({ label, color: COLORS[at]!, values: addSpend(own) }))
  if (rest.length > 0) lines.push({ label: 'all others', color: '--soft', values: addSpend(rest) })
  if (totals.length > 1) lines.unshift({ label: 'all', color: '--ink', fill: true, values: addSpend(rows) })
  return { times, lines, totals }
}
