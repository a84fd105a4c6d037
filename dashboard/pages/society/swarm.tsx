import { useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { Card, Figure } from '../../ui/card.tsx'
import { RowButton } from '../../ui/lists/row-button.tsx'
import { Table } from '../../ui/lists/table.tsx'
import { Empty, Loaded, Trouble } from '../../ui/states.tsx'
import { Status, Tag } from '../../ui/status.tsx'
import { percent, plural, visible } from '../../ui/text/format.ts'
import { When } from '../../ui/time.tsx'
import type { Answer, Item } from '../../ui/types.ts'
import { PartyOf } from './party.tsx'

type Report = Item<'swarm.reports'>
type State = Answer<'swarm.show'>

const SHOWN = 50

/** What all agents together have learned, what was changed because of it, and a button to revert that. */
export function Swarm() {
  const state = useQuery('swarm', { ask: () => api.swarm.show(), on: ofKinds('swarm_') })
  const reports = useQuery('swarm reports', { ask: () => api.swarm.reports({ limit: SHOWN }), on: ofKinds('swarm_') })
  return (
    <>
      <Loaded query={state}>
        {shown => (
          <div class="columns">
            <Now state={shown} />
            <Skills state={shown} />
          </div>
        )}
      </Loaded>
      <Loaded query={reports}>
        {all =>
          all.length === 0 ? (
            <Empty title="No reports yet.">The daemon creates a report on every fifth heartbeat.</Empty>
          ) : (
            <Reports all={all.filter(hasNewFindings)} looked={all.length} onReverted={reports.reload} />
          )
        }
      </Loaded>
    </>
  )
}

function Now({ state: { policy, acts, latest, in_force } }: { state: State }) {
  return (
    <Card title="Current state" aside={<Tag kind={acts ? 'good' : ''}>policy: {visible(policy)}</Tag>}>
      <div class="stack">
        <p class="soft">{acts ? 'Recommendations are applied.' : 'Recommendations are only reported.'}</p>
        {latest && <Figures report={latest} />}
        {in_force.length === 0 ? (
          <p class="soft">No effects at the moment.</p>
        ) : (
          <ul class="plain list tall">
            {in_force.map(effect => (
              <Effect key={effect.effect_id} effect={effect} />
            ))}
          </ul>
        )}
      </div>
    </Card>
  )
}

function Figures({ report: { agents, figures, deltas } }: { report: Report }) {
  const points = Math.round((deltas.success_rate ?? 0) * 100)
  return (
    <dl class="figures">
      <Figure label="Agents" value={agents.toLocaleString('en')} />
      <Figure
        label="Goals completed"
        value={rateOf(figures.success_rate)}
        note={points === 0 ? '' : `${points > 0 ? '+' : '−'}${Math.abs(points)} points`}
      />
      <Figure label="Specialization" value={percent(figures.mean_specialization)} />
    </dl>
  )
}

/** Number of agents shown at first, and added by each click; agents with the most special skills come first. */
const PIECE = 12

function Skills({ state: { specializations } }: { state: State }) {
  const [shown, setShown] = useState(PIECE)
  const known = specializations.filter(({ goals }) => goals > 0).sort((a, b) => b.score - a.score || b.goals - a.goals)
  return (
    <Card title="Agent skills">
      {known.length === 0 ? (
        <Empty title="No completed goals yet.">The kinds of goals that each agent completes are listed here.</Empty>
      ) : (
        <div class="stack">
          <ul class="plain list tall">
            {known.slice(0, shown).map(({ agent_id, goals, strengths, score }) => (
              <li key={agent_id}>
                <div class="stack tight">
                  <p>
                    <PartyOf id={agent_id} /> <small>{plural(goals, 'goal')}</small>
                  </p>
                  <p class="row">
                    {strengths.map(each => (
                      <Tag key={each} kind="good">
                        {visible(each)}
                      </Tag>
                    ))}
                  </p>
                </div>
                <small>{percent(score)} specialized</small>
              </li>
            ))}
          </ul>
          {known.length > shown && (
            <div class="row">
              <button type="button" onClick={() => setShown(shown + PIECE)}>
                Show more of {known.length.toLocaleString('en')}
              </button>
            </div>
          )}
        </div>
      )}
    </Card>
  )
}

function Effect({ effect: { kind, topic, agent_id, text, status } }: { effect: State['in_force'][number] }) {
  return (
    <li>
      <div>
        <Tag>{kind}</Tag> <PartyOf id={agent_id} /> {visible(text || topic)}
      </div>
      <Status of={status} />
    </li>
  )
}

/** Returns whether a report has findings or effects; most repeat the one before and have none. */
const hasNewFindings = ({ recommendations, effects }: Report) => recommendations.length + effects.length > 0

interface ReportsProps {
  all: readonly Report[]
  /** Number of reports, including those without findings. */
  looked: number
  onReverted: () => Promise<void>
}

function Reports({ all, looked, onReverted }: ReportsProps) {
  const revert = useAction(async (report_id: string) => {
    await api.swarm.revert({ report_id })
    await onReverted()
  }, 'Reverted.')
  if (all.length === 0)
    return (
      <Card title="Reports">
        <Empty title={`No recommendations in the last ${plural(looked, 'report')}.`} />
      </Card>
    )
  return (
    <Card
      title="Reports"
      aside={<small>{`${looked - all.length} of the last ${looked} had no recommendations`}</small>}
    >
      <Trouble fault={revert.fault} />
      <Table
        caption="Reports"
        rows={all}
        keyOf={({ report_id }) => report_id}
        columns={[
          { name: 'Heartbeat', kind: 'narrow', cell: ({ beat }) => beat },
          { name: 'Recommendations', kind: 'grow', cell: report => <Recommended report={report} /> },
          { name: 'Goals completed', kind: 'number', cell: ({ figures }) => rateOf(figures.success_rate) },
          { name: 'Effects', kind: 'number', cell: ({ effects }) => effects.length },
          { name: 'Time', kind: 'narrow', cell: ({ created_at }) => <When at={created_at} /> },
          {
            name: 'Action',
            kind: 'narrow',
            cell: ({ report_id, beat, effects, reverted_at }) =>
              reverted_at ? (
                <Tag>reverted</Tag>
              ) : (
                effects.length > 0 && (
                  <RowButton
                    of={`the report of heartbeat ${beat}`}
                    disabled={revert.running}
                    onClick={() => void revert.run(report_id)}
                  >
                    Revert
                  </RowButton>
                )
              ),
          },
        ]}
      />
    </Card>
  )
}

function Recommended({ report: { recommendations, effects } }: { report: Report }) {
  return (
    <ul class="plain story">
      {recommendations.map(({ kind, text }, at) => (
        <li key={at}>
          <Tag>{kind}</Tag> {visible(text)}
        </li>
      ))}
      {effects.map(({ effect_id, kind, topic, agent_id, status }) => (
        <li key={effect_id}>
          <Tag kind="good">effect: {kind}</Tag> {visible(topic)} for <PartyOf id={agent_id} />{' '}
          <small>{status.replaceAll('_', ' ')}</small>
        </li>
      ))}
    </ul>
  )
}

const rateOf = (rate: number | null) => (rate === null ? '–' : percent(rate))
