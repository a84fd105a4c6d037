import { useMemo } from 'preact/hooks'
import { api } from '../../../api/client.ts'
import { ofAgent, useQuery } from '../../../api/query.ts'
import { Card, Figure } from '../../../ui/card.tsx'
import { Meter } from '../../../ui/figures/meter.tsx'
import { type Line, Plot } from '../../../ui/figures/plot.tsx'
import { Empty, Loaded } from '../../../ui/states.tsx'
import { Tag } from '../../../ui/status.tsx'
import { percent, visible } from '../../../ui/text/format.ts'
import { When } from '../../../ui/time.tsx'
import type { Answer } from '../../../ui/types.ts'
import type { ViewProps } from '../view.ts'

type Report = Answer<'suffering.get'>
type Moment = Report['history'][number]
type Field = keyof Report['persona']

const MOMENTS = 500
/** Levels of load: it is noticeable, limits what the agent does, dominates it, and is a crisis. */
const LEVELS = [
  { level: 'prominent', color: '--info' },
  { level: 'constrained', color: '--violet' },
  { level: 'dominant', color: '--warn' },
  { level: 'crisis', color: '--bad' },
] as const
const FIELDS: readonly { field: Field; label: string; color: string }[] = [
  { field: 'happiness', label: 'Happiness', color: '--good' },
  { field: 'concentration', label: 'Concentration', color: '--info' },
  { field: 'autonomy_level', label: 'Autonomy', color: '--violet' },
  { field: 'social_drive', label: 'Social drive', color: '--warn' },
  { field: 'risk_tolerance', label: 'Risk tolerance', color: '--bad' },
]

/** Mood and stress of an agent: stressors and what resolves them, mood and persona over time. */
export function Inner({ agent: { agent_id: id } }: ViewProps) {
  const query = useQuery(`inner ${id}`, {
    ask: () => api.suffering.get({ id, limit: MOMENTS }),
    on: ofAgent(id),
  })
  return (
    <Loaded query={query}>
      {report => (
        <div class="stack">
          <dl class="card figures">
            <Figure label="Load" value={percent(report.load)} note={report.level} />
            <Figure label="Mood" value={visible(report.mood)} />
            <Figure label="Time awake" value={hours(report.waking_hours)} />
            <Figure label="Happiness" value={percent(report.persona.happiness)} />
          </dl>
          {!report.enabled && (
            <p class="soft">
              Suffering is disabled in this project: <code>suffering.enabled</code> is false.
            </p>
          )}
          {report.crisis && (
            <p class="trouble">
              The agent is in a crisis. Its strongest stressor has priority over its goals until it is resolved.
            </p>
          )}
          <div class="columns">
            <Stressors report={report} />
            <Persona report={report} />
          </div>
          <Past report={report} />
        </div>
      )}
    </Loaded>
  )
}

const hours = (n: number) => (n < 1 ? `${Math.round(n * 60)} min` : `${n.toFixed(1)} h`)

function Stressors({ report: { stressors } }: { report: Report }) {
  return (
    <Card title="Stressors">
      {stressors.length === 0 ? (
        <Empty title="No stressors.">Failures, repetition and idleness cause stressors, which are listed here.</Empty>
      ) : (
        <ul class="plain list tall">
          {stressors.map(({ stressor, severity, peak_severity, trend, condition, since }) => (
            <li key={stressor}>
              <div class="stack tight">
                <p>
                  <strong>{visible(words(stressor))}</strong>{' '}
                  <Tag kind={trend === 'rising' ? 'warn' : 'good'}>{trend}</Tag>
                </p>
                <Meter label={`Severity of ${visible(words(stressor))}`} value={severity} high={0.6} />
                <p class="soft">Resolved when {visible(condition)}</p>
              </div>
              <small class="figures-end">
                {percent(severity)}, peak {percent(peak_severity)}
                <br />
                <When at={since} />
              </small>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

const words = (name: string) => name.replaceAll('_', ' ')

function Persona({ report: { persona, base, home } }: { report: Report }) {
  return (
    <Card title="Persona">
      <dl class="bars thrice">
        <div aria-hidden="true">
          <dd>
            <small>now</small>
            <small>unstressed</small>
            <small>profile</small>
          </dd>
        </div>
        {FIELDS.map(({ field, label }) => (
          <div key={field}>
            <dt>{label}</dt>
            <dd>
              <Meter label={label} value={persona[field]} high={1.1} />
              <span>{percent(persona[field])}</span>
              <small>
                <span class="unseen">unstressed </span>
                {percent(base[field])}
              </small>
              <small>
                <span class="unseen">in its profile </span>
                {percent(home[field])}
              </small>
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  )
}

function Past({ report: { history, moments, thresholds } }: { report: Report }) {
  const past = useMemo(() => plotMoments(history, thresholds), [history])
  const moods = useMemo(() => moodsOf(history), [history])
  if (history.length === 0)
    return (
      <Card title="Over time">
        <Empty title="No changes yet.">The agent’s load and persona are plotted here after its first cycles.</Empty>
      </Card>
    )
  return (
    <>
      <Card
        title="Stress over time"
        aside={<small>{history.length < moments ? `newest ${history.length} of ${moments} records` : ''}</small>}
      >
        <Plot
          label="Stress over time"
          times={past.times}
          lines={past.load}
          write={percent}
          range={[0, 1]}
          height={220}
        />
      </Card>
      <Card title="Persona over time">
        <Plot
          label="Persona over time"
          times={past.times}
          lines={past.persona}
          write={percent}
          range={[0, 1]}
          height={240}
        />
      </Card>
      <Card title="Moods, newest first">
        <ol class="plain moods">
          {moods.map(({ mood, at, crisis }) => (
            <li key={at}>
              <Tag kind={crisis ? 'bad' : ''}>{visible(mood)}</Tag>{' '}
              <small>
                {crisis && 'in a crisis, '}
                <When at={at} />
              </small>
            </li>
          ))}
        </ol>
      </Card>
    </>
  )
}

/** @param history newest first */
function plotMoments(history: readonly Moment[], thresholds: Report['thresholds']) {
  const moments = [...history].reverse()
  const times = moments.map(({ at }) => Date.parse(at) / 1000)
  const load: Line[] = [
    { label: 'Load', color: '--accent', fill: true, values: moments.map(each => each.load) },
    ...LEVELS.map(({ level, color }) => ({
      label: `${level} from`,
      color,
      dashed: true,
      values: times.map(() => thresholds[level]),
    })),
  ]
  // Crises are drawn a second time over the load.
  if (moments.some(({ crisis }) => crisis))
    load.push({
      label: 'In a crisis',
      color: '--bad',
      fill: true,
      values: moments.map(each => (each.crisis ? each.load : null)),
    })
  const persona: Line[] = FIELDS.map(({ field, label, color }) => ({
    label,
    color,
    values: moments.map(each => each.persona[field]),
  }))
  return { times, load, persona }
}

const MOODS = 12

/** Returns when each mood began, newest first. */
function moodsOf(history: readonly Moment[]): { mood: string; at: string; crisis: boolean }[] {
  const changes = history.filter(({ mood }, n) => history[n + 1]?.mood !== mood)
  return changes.slice(0, MOODS)
}
