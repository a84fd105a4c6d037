import { useMemo, useState } from 'preact/hooks'
import { api } from '../../api/client.ts'
import { now } from '../../api/clock.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { type Place, refine } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { Pick } from '../../ui/lists/filters.tsx'
import { chosenIn, idsOf } from '../../ui/lists/list-filters.tsx'
import { Table } from '../../ui/lists/table.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { plural, visible } from '../../ui/text/format.ts'
import { When } from '../../ui/time.tsx'
import { Drawing } from './drawing.tsx'
import { LatestMessages } from './latest-messages.tsx'
import { type Graph, KIND_NAMES, KINDS, type Pair, pairsOf, withLabels } from './pairs.ts'
import { Party } from './party.tsx'

const SPANS = {
  hour: { name: 'Last hour', length: 3_600_000 },
  day: { name: 'Last day', length: 86_400_000 },
  week: { name: 'Last week', length: 604_800_000 },
  month: { name: 'Last 30 days', length: 2_592_000_000 },
} as const

/** Messages between agents, as a graph and as a table. */
export function MessagesBetweenAgents({ place }: { place: Place }) {
  const span = chosenIn(place.query, 'span', idsOf(SPANS)) ?? 'day'
  const { name, length } = SPANS[span]
  const query = useQuery(`talk ${span}`, {
    ask: () => api.messages.graph({ since: new Date(now() - length).toISOString() }),
    on: ofKinds('message_sent'),
  })
  return (
    <>
      <div class="row">
        <Pick label="Period" value={span} onPick={span => refine({ span })}>
          {Object.entries(SPANS).map(([id, each]) => (
            <option key={id} value={id}>
              {each.name}
            </option>
          ))}
        </Pick>
        {query.data && query.data.messages > 0 && <small>{describeGraph(query.data)}</small>}
      </div>
      <Loaded query={query}>
        {graph =>
          graph.edges.length === 0 ? (
            <Card title={name}>
              <Empty title="No messages in this period.">
                Agents send messages with <code>send_message</code>. To write to an agent, open its page and choose
                Messages.
              </Empty>
            </Card>
          ) : (
            <Shown graph={graph} title={name} />
          )
        }
      </Loaded>
    </>
  )
}

/** Height of a row that is shown as a card with three lines and a button. */
const CARD_PX = 112

function describeGraph({ agents, messages, complete, left_out }: Graph): string {
  const more = complete ? '' : '; only the newest messages are counted'
  const others = left_out > 0 ? `, ${plural(left_out, 'more agent')} not shown` : ''
  return `${plural(messages, 'message')} between ${plural(agents.length, 'agent')}${others}${more}`
}

function Shown({ graph: sent, title }: { graph: Graph; title: string }) {
  const graph = useMemo(() => withLabels(sent), [sent])
  const pairs = useMemo(() => pairsOf(graph), [graph])
  const [chosen, choose] = useState<string | undefined>(undefined)
  const pair = pairs.find(({ key }) => key === chosen) ?? pairs[0]!
  return (
    <div class="society">
      <Card title={title} aside={<Legend pairs={pairs} />}>
        <Drawing agents={graph.agents} pairs={pairs} chosen={pair.key} onChoose={choose} />
        <p class="hint keyed">
          Left and right arrow keys select an agent, up and down arrow keys a conversation. Enter opens the agent.
        </p>
      </Card>
      <LatestMessages pair={pair} />
      <Card title="Messages as a table">
        <Pairs pairs={pairs} chosen={pair.key} onChoose={choose} />
      </Card>
    </div>
  )
}

function Legend({ pairs }: { pairs: readonly Pair[] }) {
  const there = KINDS.filter(kind => pairs.some(pair => pair.kind === kind))
  return (
    <ul class="plain legend">
      {there.map(kind => (
        <li key={kind} class={`kind-${kind}`}>
          {KIND_NAMES[kind]}
        </li>
      ))}
    </ul>
  )
}

const about = (kinds: Pair['kinds']) =>
  KINDS.filter(kind => kinds[kind])
    .map(kind => `${KIND_NAMES[kind]} ${kinds[kind]}`)
    .join(' · ')

interface PairsProps {
  pairs: readonly Pair[]
  chosen: string
  onChoose: (key: string) => void
}

function Pairs({ pairs, chosen, onChoose }: PairsProps) {
  return (
    <Table
      caption="Messages between agents"
      cardPx={CARD_PX}
      rows={pairs}
      keyOf={({ key }) => key}
      classOf={({ key }) => (key === chosen ? 'chosen' : '')}
      columns={[
        {
          name: 'Agents',
          kind: 'grow',
          cell: ({ one, other, kinds }) => (
            <>
              <Party {...one} /> and <Party {...other} />
              <small class="line">{about(kinds)}</small>
            </>
          ),
        },
        {
          name: 'Each direction',
          kind: 'number',
          wide: true,
          cell: ({ messages, sent }) => `${sent} : ${messages - sent}`,
        },
        { name: 'Messages', kind: 'number', cell: ({ messages }) => messages },
        { name: 'Latest', kind: 'narrow', cell: ({ last_at }) => <When at={last_at} /> },
        {
          name: 'Action',
          kind: 'narrow',
          cell: ({ key, one, other }) => (
            <button
              type="button"
              class="small"
              aria-pressed={key === chosen}
              aria-label={`Show the latest messages of ${visible(one.name)} and ${visible(other.name)}`}
              onClick={() => onChoose(key)}
            >
              Show
            </button>
          ),
        },
      ]}
    />
  )
}
