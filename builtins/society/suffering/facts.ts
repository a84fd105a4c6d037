import { errorMessage, HANDLER_LIMIT_MS, type PluginHandle, withTimeLimit } from '#kernel'
import { Store } from '#platform/store/contract'
import { Budget } from '#safety/budget/contract'
import {
  type PersonaFields,
  type SituationFacts,
  type Stressor,
  StressorAdded,
  StressorEased,
  Stressors,
  type StressorVerdict,
} from './contract.ts'
import { afterOutcome } from './persona.ts'
import { endOfGoal, type HappenedRow, type SituationRow } from './repository.ts'
import { addStressor, applyVerdict, easeStressor, type Settings } from './state/dynamics.ts'
import type { PersistedState } from './state/state.ts'

/** Number of ended goals that are considered. */
const OUTCOMES = 10
/** Share of a stressor's severity that is left when an operator relieves it. */
const RELIEF = 0.5

/** Result of applying events. Each event counts once, because the cursor is stored in the same commit. */
export interface AppliedEvents {
  inner: PersistedState
  seq: number
  heard_at: number
}

/** Applies events in their order. */
export async function applyEvents(
  svc: PluginHandle,
  situation: SituationRow,
  from: PersistedState,
  events: readonly HappenedRow[],
  home: PersonaFields,
  settings: Settings,
): Promise<AppliedEvents> {
  let inner = from
  let { seq, heard_at } = situation
  for (const event of events) {
    seq = event.seq
    const addressed = isAddressed(event, situation.agent_id)
    if (addressed) heard_at = Math.max(heard_at, event.at)
    const next = applyEvent(svc, addressed ? { ...inner, hours_unheard: 0 } : inner, event, home, settings)
    inner = next instanceof Promise ? await next : next
  }
  return { inner, seq, heard_at }
}

/** Applies one event. Only the end of a goal needs a database lookup. */
function applyEvent(
  svc: PluginHandle,
  inner: PersistedState,
  { type, at, data }: HappenedRow,
  home: PersonaFields,
  settings: Settings,
): PersistedState | Promise<PersistedState> {
  switch (type) {
    case 'goal_completed':
    case 'goal_abandoned':
      return afterGoal(svc, inner, String(data.goal_id), type === 'goal_completed', home)
    case 'approval_resolved':
      return data.decision === 'deny' && data.resolved_by !== 'system' ? countRefusal(inner) : inner
    case 'guardrail_hit':
      return data.action === 'block' ? countRefusal(inner) : inner
    case 'stressor_added': {
      const added = StressorAdded.safeParse(data).data
      return added
        ? addStressor(inner, added.stressor, added.severity ?? settings.initial_severity, at, settings)
        : inner
    }
    case 'stressor_eased': {
      const off = StressorEased.safeParse(data).data
      return off ? easeStressor(inner, off.stressor, RELIEF) : inner
    }
    default:
      return inner
  }
}

async function afterGoal(
  svc: PluginHandle,
  inner: PersistedState,
  goal_id: string,
  completed: boolean,
  home: PersonaFields,
): Promise<PersistedState> {
  const { steps, refused, declined } = await endOfGoal(svc.use(Store), goal_id)
  const moved = afterOutcome(inner, completed ? 'completed' : 'abandoned', home)
  // To say that a goal cannot be reached is no failure.
  if (declined) return moved
  const next = { ...moved, outcomes: [...inner.outcomes, [completed, steps] as [boolean, number]].slice(-OUTCOMES) }
  if (completed) return { ...next, hours_without_goal: 0 }
  return refused ? countRefusal(next) : next
}

function countRefusal(inner: PersistedState): PersistedState {
  return { ...inner, refusals: inner.refusals + 1 }
}

function isAddressed({ type, data }: HappenedRow, agent_id: string): boolean {
  return type === 'nudge_received' || (type === 'message_sent' && data.to_agent === agent_id)
}

/** Returns the facts that stressor conditions use. */
export function factsOf(
  situation: SituationRow,
  inner: PersistedState,
  heard_at: number,
  budget_left: number | null,
): SituationFacts {
  const ended = inner.outcomes.length
  const completed = inner.outcomes.filter(([done]) => done).length
  return {
    agent_id: situation.agent_id,
    goals: { ended, completed, abandoned: ended - completed },
    last_steps: inner.outcomes.at(-1)?.[1] ?? 0,
    hours_without_goal: inner.hours_without_goal,
    hours_unheard: inner.hours_unheard,
    // A message arrived after the count was read, so none is unanswered.
    unanswered: heard_at > situation.heard_at ? 0 : situation.unanswered,
    refusals: inner.refusals,
    failures: situation.failures,
    budget_left,
  }
}

const VERDICTS: readonly StressorVerdict[] = ['raise', 'resolve', undefined]

/** Asks each stressor with a `sense` function whether its condition holds. */
export async function runStressors(
  svc: PluginHandle,
  inner: PersistedState,
  facts: SituationFacts,
  settings: Settings,
): Promise<PersistedState> {
  let next = inner
  const now = svc.clock.ms()
  for (const stressor of svc.list(Stressors)) {
    const given = verdictOf(svc, stressor, facts)
    // Most stressors answer synchronously.
    const verdict = given instanceof Promise ? await given : given
    if (VERDICTS.includes(verdict)) next = applyVerdict(next, stressor.name, verdict, now, settings)
    else
      logStressorError(
        svc,
        stressor,
        facts,
        `sense() returned ${JSON.stringify(verdict)} instead of "raise", "resolve" or undefined`,
      )
  }
  return next
}

/** Returns a stressor's verdict; a failure counts as unchanged. */
function verdictOf(
  svc: PluginHandle,
  stressor: Stressor,
  facts: SituationFacts,
): ReturnType<NonNullable<Stressor['sense']>> {
  try {
    const verdict = stressor.sense?.(facts)
    if (!(verdict instanceof Promise)) return verdict
    return withTimeLimit(svc.clock, HANDLER_LIMIT_MS, `The stressor "${stressor.name}"`, verdict).catch(error =>
      logStressorError(svc, stressor, facts, error),
    )
  } catch (error) {
    return logStressorError(svc, stressor, facts, error)
  }
}

function logStressorError(
  svc: PluginHandle,
  { name }: Stressor,
  { agent_id }: SituationFacts,
  error: unknown,
): undefined {
  svc.log.warn({ agent_id }, `stressor "${name}": ${errorMessage(error)}`)
}

/** Returns the remaining share of the daemon's budget; null without a limit. */
export async function budgetLeft(svc: PluginHandle): Promise<number | null> {
  if (!svc.has(Budget)) return null
  const limited = ['daemon.budget_usd', 'daemon.budget_tokens'].some(key => Number(svc.config.get(key)) > 0)
  if (!limited) return null
  const { exceeded, remaining, limits } = await svc
    .use(Store)
    .readCached('suffering.budget', () => svc.use(Budget).status())
  if (exceeded) return 0
  const shares = (['usd', 'tokens'] as const).map(unit => (limits[unit] ? (remaining[unit] ?? 0) / limits[unit] : 1))
  return Math.min(...shares)
}
