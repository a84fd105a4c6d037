// The events of agents and goals become known with their rooms.
import type {} from '#core/agents/contract'
import type {} from '#core/goals/contract'
import type { EventName, Events, Kernel } from '#kernel'
import { counted } from '#lib/counted'

type Told = { [E in EventName]?: (payload: Events[E]) => string }

/** What people who watch the log want to hear of, in words. */
const TOLD: Told = {
  agent_spawned: ({ preset }) => `spawned from ${preset}`,
  agent_deleted: () => 'removed',
  goal_generated: ({ objective }) => `new goal: ${objective}`,
  tool_result: ({ tool, ok }) => (ok ? `used ${tool}` : `failed with ${tool}`),
  goal_completed: ({ goal_id }) => `completed ${goal_id}`,
  goal_abandoned: ({ goal_id }) => `gave up ${goal_id}`,
  goal_max_steps: ({ goal_id, steps_done }) =>
    `goes on with ${goal_id} next time, after ${counted(Number(steps_done), 'step')}`,
}

/** An event in words; undefined for those of which people want to hear less. */
export function narrated(event: string, payload: unknown): string | undefined {
  return (TOLD as Record<string, ((payload: unknown) => string) | undefined>)[event]?.(payload)
}

/** Logs the life of the agents while this process is up. */
export function narrate({ hooks, log }: Kernel): void {
  for (const event of Object.keys(TOLD) as (keyof typeof TOLD)[]) {
    const words = TOLD[event] as (payload: unknown) => string
    hooks.on(
      event,
      payload => log.info({ agent_id: (payload as { agent_id: string }).agent_id }, words(payload)),
      'cli',
    )
  }
}
