import { useEffect, useState } from 'preact/hooks'
import { isRefused, onRefused } from '../api/access.ts'
import { useAction } from '../api/action.ts'
import { api } from '../api/client.ts'
import { useDaemon } from '../api/daemon.ts'
import { type FeedState, useFeedState } from '../api/feed.ts'
import { useModels } from '../api/models.ts'
import { ofSpend, useQuery } from '../api/query.ts'
import { to } from '../routes.ts'
import { Meter, usedOf } from '../ui/figures/meter.tsx'
import { count, dollars, moment, visible } from '../ui/text/format.ts'
import { applyTheme, type Theme, theme } from '../ui/theme.ts'
import { AccessForm } from './access.tsx'

const FEED_WORDS = {
  connecting: 'Connecting…',
  live: 'Live',
  lost: 'Connection lost. Reconnecting…',
  refused: 'Key required',
}

/** State of the whole service: whether it is reachable, runs and is frozen, its cost, and its default model. */
export function Head() {
  const state = useReach()
  const notice = useModels().data?.default?.notice
  return (
    <header class="head">
      <a class="brand" href={to('')}>
        svc
      </a>
      <p class={`feed is-${state}`} role="status">
        {FEED_WORDS[state]}
      </p>
      {notice && (
        <p class="notice">
          <a href={to('models')} title="Show all models">
            {notice}
          </a>
        </p>
      )}
      <span class="gap" />
      <Spent />
      <Freeze />
      <Look />
      <AccessForm wanted={state === 'refused'} />
    </header>
  )
}

/** Returns how the server is reached: the stream of events may stay open after the key was refused elsewhere. */
function useReach(): FeedState {
  const state = useFeedState()
  const [refused, setRefused] = useState(isRefused)
  useEffect(() => onRefused(() => setRefused(isRefused())), [])
  return refused && state !== 'lost' ? 'refused' : state
}

function Spent() {
  const { data } = useQuery('budget', { ask: () => api.budget.status(), on: ofSpend })
  if (!data) return null
  const { spent, limits, exceeded } = data
  const words =
    limits.usd !== null
      ? `${dollars(spent.usd)} of ${dollars(limits.usd)}`
      : limits.tokens !== null
        ? `${count(spent.tokens)} of ${count(limits.tokens)} tokens`
        : `${dollars(spent.usd)} spent, unlimited`
  return (
    <a class={exceeded ? 'spent over' : 'spent'} href={to('spend')} title={data.message}>
      <span>
        {exceeded && 'Budget reached: '}
        {words}
      </span>
      {!data.unlimited && <Meter label="Budget used" value={usedOf(data)} />}
    </a>
  )
}

/** Freeze button: while the service is frozen, nothing that costs money is started. */
function Freeze() {
  const { data, fault, reload } = useDaemon()
  const act = useAction(async (frozen: boolean) => {
    try {
      await (frozen ? api.daemon.resume() : api.daemon.pause())
    } finally {
      // Also after a failure: this request shows whether the server can be reached.
      await reload()
    }
  })
  if (!data) return null
  const frozen = Boolean(data.frozen)
  // The header is on every page: an unreachable server is shown only while it is unreachable.
  const trouble = act.fault?.code === 'unreachable' ? fault : act.fault
  return (
    <>
      {!data.running && <span class="notice bad">No daemon is running. Start it with: svc start</span>}
      {data.health === 'stalled' && (
        <span class="notice bad">
          {data.problem ? `The daemon is stalled: ${visible(data.problem)}` : 'The daemon is stalled'}
        </span>
      )}
      {trouble && (
        <span class="notice bad" role="alert">
          {visible(trouble.message)}
        </span>
      )}
      <button
        type="button"
        class={frozen ? 'freeze on' : 'freeze'}
        disabled={act.running}
        title={frozen ? 'Let agents continue' : 'Stop new work'}
        onClick={() => void act.run(frozen)}
      >
        {frozen ? (
          <>
            <span class="roomy">Frozen · resume</span>
            <span class="tight">Resume</span>
          </>
        ) : (
          'Freeze'
        )}
      </button>
    </>
  )
}

/** Banner on every page while the service is frozen. */
export function FrozenBanner() {
  const { frozen_since } = useDaemon().data ?? {}
  return (
    <div class="frozen" role="status" aria-label="Service state">
      {frozen_since && (
        <>
          <strong>The service is frozen</strong> since {moment(frozen_since)}: no agent works and no model is called
          until it is resumed.
        </>
      )}
    </div>
  )
}

const NEXT: Record<Theme, Theme> = { auto: 'dark', dark: 'light', light: 'auto' }

function Look() {
  const [chosen, setChosen] = useState(theme)
  const next = () => {
    applyTheme(NEXT[chosen])
    setChosen(NEXT[chosen])
  }
  return (
    <button
      type="button"
      class="quiet"
      onClick={next}
      title={`Theme: ${chosen}`}
      aria-label={`Theme: ${chosen}. Change theme`}
    >
      {chosen === 'dark' ? '☾' : chosen === 'light' ? '☀' : '◐'}
    </button>
  )
}
