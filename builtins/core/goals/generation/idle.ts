import { hash } from 'node:crypto'
import { type NewAgent, ProfileShapes, shapeProfile } from '#core/agents/contract'
import { PERSONA_FIELDS, type Profile, Profiles } from '#core/profiles/contract'
import { type Effect, type PluginHandle, z } from '#kernel'
import { type Cycle, type Due, idsOf } from '#platform/heartbeat/contract'
import { AMONG, defineEffect, insertInto, jsonList, Store } from '#platform/store/contract'
import type { GoalsConfig } from '../config.ts'
import { messageSources, readSource } from '../context/guarded.ts'
import { toolsDescription } from '../context/sections.ts'
import type { GoalContext, GoalRow } from '../contract.ts'

/** Stands for a time that never comes. */
export const NEVER = Number.MAX_SAFE_INTEGER

/** State on which goal generation depends: the same state leads to the same decision. */
interface DecisionState {
  /**
   * Fingerprint of the agent's identity and abilities. It leaves out its goals, because a new one wakes it, and other
   * agents' activity, which changes constantly.
   */
  world: string
  /** Number of times the agent had been woken by then. */
  wakes: number
}

/** The agent whose idle state is read. */
type Sleeper = Pick<GoalContext, 'agent_id' | 'profile' | 'model'>

/** State of an agent that may be idle: its current fingerprint, and its last search that found nothing to do. */
interface IdleState extends DecisionState {
  before: { times: number; asked_at: number; ask_again_at: number } | undefined
  /** Whether a row records that nothing to do was found, with any fingerprint. */
  isRecorded: boolean
  /** Why the last answer of the model was no goal, if it was none. */
  last: NoGoal | undefined
  /** Whether the operator sent messages that no model has answered yet. */
  nudged: boolean
  /** Whether it has read earlier ones. */
  wasNudged: boolean
}

/** Reads the current idle state of an agent. */
export async function readIdleState(svc: PluginHandle, { agent_id, profile, model }: Sleeper): Promise<IdleState> {
  const row = await svc
    .use(Store)
    .get<{ wakes: number; noted_at: number | null; nudged: number; was_nudged: number } & Nullable<IdleRow>>(
      `SELECT l.wakes, i.wakes AS noted_at, i.times, i.world, i.asked_at, i.ask_again_at, i.said, i.refused,
       EXISTS (SELECT 1 FROM nudges_view WHERE agent_id = l.id AND delivered_at IS NULL) AS nudged,
       EXISTS (SELECT 1 FROM nudges_view WHERE agent_id = l.id AND delivered_at IS NOT NULL) AS was_nudged
     FROM leases_view l LEFT JOIN idle_agents i ON i.agent_id = l.id WHERE l.id = ?`,
      [agent_id],
    )
  const world = fingerprint(svc, profile, model)
  const { wakes = 0, noted_at = null } = row ?? {}
  const before = noted_at === wakes && row?.world === world ? (row as IdleRow) : undefined
  const isRecorded = noted_at !== null
  // A model that refuses the request gave no answer.
  const last = row && isRecorded && row.ask_again_at !== NEVER ? { said: row.said, refused: row.refused } : undefined
  return { world, wakes, before, isRecorded, last, nudged: row?.nudged === 1, wasNudged: row?.was_nudged === 1 }
}

interface IdleRow extends NoGoal {
  times: number
  world: string
  asked_at: number
  ask_again_at: number
}
type Nullable<T> = { [K in keyof T]: T[K] | null }

/** Configuration keys that affect models and their answers. */
const MODEL_KEYS = ['default_model', 'planning_model', 'parameters', 'providers', 'ollama_base_url']

function fingerprint(svc: PluginHandle, profile: Profile, model: string | null): string {
  const ofModels = MODEL_KEYS.map(key => svc.config.get(`model.${key}`))
  return hash('sha256', JSON.stringify([lastingProfile(profile), model, ofModels, toolsDescription(svc, profile)]))
}

/** Returns the profile without fields that change with mood, so that a mood does not change the fingerprint. */
function lastingProfile({ temperature: _, max_steps: __, persona, ...lasting }: Profile): object {
  const moving = Object.fromEntries(PERSONA_FIELDS.map(field => [field, undefined]))
  return { ...lasting, persona: persona && { ...persona, ...moving } }
}

/** Returns whether a recent search with this fingerprint found nothing to do. */
export function isAsleep(svc: PluginHandle, { idle_backoff }: GoalsConfig, { before }: IdleState): boolean {
  if (before?.ask_again_at === NEVER) return true
  if (!idle_backoff || !before) return false
  const now = svc.clock.ms()
  // A clock that was set back must not prolong the sleep.
  return before.asked_at <= now && now < before.ask_again_at
}

/**
 * Returns whether a sleeping agent has no new messages. Nudges, and messages of most sources, wake the agent in their
 * own commit; only the other sources are asked here.
 */
export async function sleepsOn(svc: PluginHandle, agent_id: string): Promise<boolean> {
  for (const source of messageSources(svc)) {
    if (source.value.portion === undefined && (await readSource(source, agent_id, null)).items.length > 0) return false
  }
  return true
}

/** An agent whose last search found nothing to do, with the fingerprint of that search. */
interface Sleeping extends NewAgent {
  world: string
}

/**
 * Returns the due agents that must run: those with a goal, with a failure or wait to clear, with messages to read, with
 * a changed fingerprint, or whose model is to be asked again.
 */
export async function findAgentsToRun(
  svc: PluginHandle,
  { idle_backoff }: GoalsConfig,
  due: readonly Due[],
): Promise<string[]> {
  const agents = idsOf(due)
  if (!idle_backoff || messageSources(svc).some(({ value }) => value.portion === undefined)) return agents
  const now = svc.clock.ms()
  const sleeping = await svc.use(Store).all<Sleeping>(
    `SELECT a.agent_id, a.name, a.role, a.given_role, a.model, a.preset, a.spawned_by, i.world FROM agents_view a JOIN leases_view l ON l.id = a.agent_id
     JOIN idle_agents i ON i.agent_id = a.agent_id AND i.wakes = l.wakes AND i.asked_at <= ? AND i.ask_again_at > ?
     WHERE a.agent_id ${AMONG} AND a.failures = 0 AND a.waiting_for IS NULL AND a.held_by IS NULL
       AND NOT EXISTS (SELECT 1 FROM goals g WHERE g.agent_id = a.agent_id AND g.status = 'active')`,
    [now, now, jsonList(agents)],
  )
  const fingerprintOf = fingerprints(svc)
  const asleep = new Set<string>()
  for (const agent of sleeping) if ((await fingerprintOf(agent)) === agent.world) asleep.add(agent.agent_id)
  return agents.filter(agent_id => !asleep.has(agent_id))
}

/** Returns a function that computes the fingerprints of agents, and caches those that agents share. */
function fingerprints(svc: PluginHandle): (agent: NewAgent) => Promise<string | undefined> {
  const presets = new Map<string, Promise<Profile | undefined>>()
  const known = new Map<Profile, Map<string | null, string>>()
  const shapes = svc.list(ProfileShapes).filter(({ passing }) => !passing)
  return async agent => {
    let preset = presets.get(agent.preset)
    if (!preset) {
      // A full cycle reports a preset that is broken or missing.
      preset = svc
        .use(Profiles)
        .get(agent.preset, 'beat')
        .catch(() => undefined)
      presets.set(agent.preset, preset)
    }
    const own = await preset
    if (!own) return undefined
    const profile = await shapeProfile(shapes, agent, own)
    const model = modelOf(agent, profile)
    const worlds = known.get(profile) ?? new Map<string | null, string>()
    known.set(profile, worlds)
    const world = worlds.get(model) ?? fingerprint(svc, profile, model)
    worlds.set(model, world)
    return world
  }
}

/** Returns the model that the agent's row or its profile names; null for the default. */
export function modelOf(agent: Pick<NewAgent, 'model'>, profile: Profile): string | null {
  return agent.model || profile.model || null
}

/** Why a search found no goal. */
export interface NoGoal {
  /** Why there is nothing to do, or why the objective was refused; null when no reason was given. */
  said: string | null
  /** The objective that was refused. */
  refused: string | null
}

/** Number of its own goals in a row that led to nothing, after which an agent rests. */
const MAX_FRUITLESS = 3
/** Number of steps of a goal that ended by text alone: the answer, and its repetition when asked for a call. */
const STEPS_OF_TEXT = 2
/** Beginning of the reason of such a rest. */
export const RESTS = 'It rests, because the last'

/**
 * Lets an agent rest before it chooses another goal when its last ones led to nothing, so that one whose model cannot
 * work does not spend at each heartbeat. The rest doubles with each such goal.
 * @param newest its newest goals, newest first
 * @returns undefined when it need not rest, or did since its last goal
 */
export function restAfterFailures(
  svc: PluginHandle,
  config: GoalsConfig,
  { agent_id }: Cycle,
  { world, wakes, isRecorded }: IdleState,
  newest: readonly GoalRow[],
): Effect | undefined {
  const other = newest.findIndex(goal => !isFruitless(goal))
  const failed = other === -1 ? newest.length : other
  if (!config.idle_backoff || isRecorded || failed < MAX_FRUITLESS) return undefined
  const said = `${RESTS} ${failed} goals that it chose were abandoned, or ended without a tool call.`
  const rest = restTime(svc, config, failed - MAX_FRUITLESS + 1)
  return fellAsleep({ agent_id, times: 0, world, wakes, rest, said, refused: null })
}

function isFruitless({ origin, status, unconfirmed, steps_completed }: GoalRow): boolean {
  if (origin !== 'generated') return false
  return status === 'abandoned' || (unconfirmed === 1 && steps_completed <= STEPS_OF_TEXT)
}

/** Returns how long an agent rests after an event that happened a number of times in a row, in milliseconds. */
function restTime(svc: PluginHandle, { idle_backoff_limit }: GoalsConfig, times: number): number {
  const heartbeat = Number(svc.config.get('daemon.heartbeat')) * 1000
  return Math.round(Math.min(heartbeat * 2 ** Math.min(times, 30), Math.max(idle_backoff_limit * 1000, heartbeat)))
}

/** Records that no goal was found. The wait until the next search doubles, unless something changes. */
export function sleepLonger(
  svc: PluginHandle,
  config: GoalsConfig,
  { agent_id }: Cycle,
  { world, wakes, before }: IdleState,
  noGoal: NoGoal,
): Effect[] {
  if (!config.idle_backoff) return [fellAsleep({ agent_id, times: 0, world, wakes, rest: 0, ...noGoal })]
  const times = (before?.times ?? 0) + 1
  return [fellAsleep({ agent_id, times, world, wakes, rest: restTime(svc, config, times), ...noGoal })]
}

/**
 * Records that the model refuses the request. It is asked again when the model changes, or something happens to the
 * agent.
 */
export function sleepUntilChanged({ agent_id }: Cycle, { world, wakes }: IdleState, said: string): Effect {
  return fellAsleep({ agent_id, times: 0, world, wakes, rest: null, said, refused: null })
}

/** Wakes an agent that may have something to do. */
export const wokeUp = defineEffect({
  name: 'idle.woke_up',
  schema: z.object({ agent_id: z.string() }),
  statements: ({ agent_id }) => ({ sql: 'DELETE FROM idle_agents WHERE agent_id = ?', params: [agent_id] }),
})

/** Wakes all agents, because something that affects all their decisions may have changed. */
export const allWokeUp = defineEffect({
  name: 'idle.all_woke_up',
  schema: z.object({}),
  // The rows stay, because an agent rests only once after a goal.
  statements: () => ({ sql: 'UPDATE idle_agents SET wakes = -1' }),
})

const fellAsleep = defineEffect({
  name: 'idle.fell_asleep',
  schema: z.object({
    agent_id: z.string(),
    times: z.int(),
    world: z.string(),
    wakes: z.int(),
    /** Milliseconds until the next search; null waits for a change. */
    rest: z.int().nullable(),
    said: z.string().nullable().default(null),
    refused: z.string().nullable().default(null),
  }),
  statements: ({ rest, ...row }, now) =>
    insertInto(
      'idle_agents',
      { ...row, asked_at: now, ask_again_at: rest === null ? NEVER : now + rest },
      `ON CONFLICT (agent_id) DO UPDATE SET times = excluded.times, world = excluded.world, wakes = excluded.wakes,
        asked_at = excluded.asked_at, ask_again_at = excluded.ask_again_at, said = excluded.said, refused = excluded.refused`,
    ),
})

export const IDLE_EFFECTS = [wokeUp, allWokeUp, fellAsleep]

/**
 * Returns why the last search found no goal, and until when the agent rests, in milliseconds; undefined once it was
 * woken.
 */
export function lastSearch(
  svc: PluginHandle,
  agent_id: string,
): Promise<(NoGoal & { ask_again_at: number }) | undefined> {
  return svc.use(Store).get(
    `SELECT i.ask_again_at, i.said, i.refused FROM idle_agents i JOIN leases_view l ON l.id = i.agent_id AND l.wakes = i.wakes
     WHERE i.agent_id = ?`,
    [agent_id],
  )
}
