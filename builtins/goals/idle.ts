import { createHash } from 'node:crypto'
import { type Cycle, type Effect, type GoalContext, type PluginHandle, z } from '#kernel'
import type { Profile } from '../profiles/contract.ts'
import { defineEffect, Store } from '../store/contract.ts'
import { PERSONA_FIELDS } from '../suffering/contract.ts'
import type { GoalsConfig } from './config.ts'

/** What an agent decides by: the same again brings the same again. */
export interface World {
  /** A fingerprint; what others are at changes all the time and is left out. */
  world: string
  /** How often the agent was woken until then. */
  wakes: number
}

export async function worldOf(svc: PluginHandle, context: GoalContext): Promise<World> {
  const { agent_id, profile, model, recent_goals, memory_snippets, tools_description } = context
  const goals = recent_goals.map(({ goal_id, status }) => [goal_id, status])
  const world = JSON.stringify([settled(profile), model, goals, memory_snippets, tools_description])
  const lease = await svc.use(Store).get<{ wakes: number }>('SELECT wakes FROM leases WHERE agent_id = ?', [agent_id])
  return { world: createHash('sha256').update(world).digest('hex'), wakes: lease?.wakes ?? 0 }
}

/** The profile without what moves by itself as a person does: an agent that only feels otherwise lives in the same world. */
function settled({ temperature: _, max_steps: __, persona, ...lasting }: Profile): object {
  const moving = Object.fromEntries(PERSONA_FIELDS.map(field => [field, undefined]))
  return { ...lasting, persona: persona && { ...persona, ...moving } }
}

/** Whether the model has just said of this world that there is nothing to do. */
export async function isAsleep(
  svc: PluginHandle,
  config: GoalsConfig,
  { agent_id, nudges, news }: GoalContext,
  now: World,
): Promise<boolean> {
  if (!config.idle_backoff || nudges.length > 0 || news.length > 0) return false
  const before = await idleOf(svc.use(Store), agent_id)
  if (!before || !isSame(before, now)) return false
  const time = svc.clock.ms()
  // A clock that was set back must not prolong it.
  return before.asked_at <= time && time < before.ask_again_at
}

/** The model found nothing to do: it is asked again after twice as long as the last time, as long as nothing changes. */
export async function sleepLonger(
  svc: PluginHandle,
  config: GoalsConfig,
  { agent_id }: Cycle,
  now: World,
): Promise<Effect[]> {
  if (!config.idle_backoff) return []
  const before = await idleOf(svc.use(Store), agent_id)
  const times = before && isSame(before, now) ? before.times + 1 : 1
  const heartbeat = Number(svc.config.get('daemon.heartbeat')) * 1000
  const rest = Math.min(heartbeat * 2 ** Math.min(times, 30), Math.max(config.idle_backoff_limit * 1000, heartbeat))
  return [fellAsleep({ agent_id, times, ...now, rest: Math.round(rest) })]
}

interface IdleRow extends World {
  times: number
  asked_at: number
  ask_again_at: number
}

function idleOf(store: Store, agent_id: string): Promise<IdleRow | undefined> {
  return store.get('SELECT times, world, wakes, asked_at, ask_again_at FROM idle_agents WHERE agent_id = ?', [agent_id])
}

function isSame(a: World, b: World): boolean {
  return a.world === b.world && a.wakes === b.wakes
}

/** There is something to do again. */
export const wokeUp = defineEffect({
  name: 'idle.woke_up',
  schema: z.object({ agent_id: z.string() }),
  statements: ({ agent_id }) => [{ sql: 'DELETE FROM idle_agents WHERE agent_id = ?', params: [agent_id] }],
})

/** What all agents decide by may be another now. */
export const allWokeUp = defineEffect({
  name: 'idle.all_woke_up',
  schema: z.object({}),
  statements: () => [{ sql: 'DELETE FROM idle_agents' }],
})

const fellAsleep = defineEffect({
  name: 'idle.fell_asleep',
  schema: z.object({
    agent_id: z.string(),
    times: z.number().int(),
    world: z.string(),
    wakes: z.number().int(),
    /** Milliseconds. */
    rest: z.number().int(),
  }),
  statements: ({ agent_id, times, world, wakes, rest }, now) => [
    {
      sql: `INSERT INTO idle_agents (agent_id, times, world, wakes, asked_at, ask_again_at) VALUES (?, ?, ?, ?, ?, ?)
            ON CONFLICT (agent_id) DO UPDATE SET times = excluded.times, world = excluded.world, wakes = excluded.wakes,
            asked_at = excluded.asked_at, ask_again_at = excluded.ask_again_at`,
      params: [agent_id, times, world, wakes, now, now + rest],
    },
  ],
})

export const IDLE_EFFECTS = [wokeUp, allWokeUp, fellAsleep]

/** Until when an agent's model is not asked as things stand, in milliseconds; null when it would be. */
export async function asleepUntil(svc: PluginHandle, agent_id: string): Promise<number | null> {
  const row = await svc.use(Store).get<{ ask_again_at: number }>(
    `SELECT i.ask_again_at FROM idle_agents i JOIN leases l ON l.agent_id = i.agent_id AND l.wakes = i.wakes
     WHERE i.agent_id = ? AND i.ask_again_at > ?`,
    [agent_id, svc.clock.ms()],
  )
  return row?.ask_again_at ?? null
}
