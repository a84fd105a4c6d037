// The events of agents and goals are declared by their modules.
import type {} from '#core/agents/contract'
import type {} from '#core/goals/contract'
import type { EventName, Events, Kernel } from '#kernel'
import { pluralize } from '#lib/pluralize'

type Narrators = { [E in EventName]?: (payload: Events[E]) => string }

/** Log messages for the events that are of interest to people. */
const NARRATORS: Narrators = {
  agent_spawned: ({ preset }) => `spawned from ${preset}`,
  agent_deleted: () => 'removed',
  goal_generated: ({ objective }) => `new goal: ${objective}`,
  tool_result: ({ tool, ok, ran }) =>
    ok ? `used ${tool}` : ran === false ? `called ${tool}, which did not run` : `used ${tool}, which failed`,
  goal_completed: ({ goal_id }) => `completed ${goal_id}`,
  goal_abandoned: ({ goal_id }) => `abandoned ${goal_id}`,
  goal_max_steps: ({ goal_id, steps_done }) =>
    `continues ${goal_id} in its next cycle, after ${pluralize(Number(steps_done), 'step')}`,
}

/** Returns the log message of an event; undefined for events that are not logged. */
export function narrateEvent(event: string, payload: unknown): string | undefined {
  return (NARRATORS as Record<string, ((payload: unknown) => string) | undefined>)[event]?.(payload)
}

/** Logs the agents' events while this process runs. */
export function narrate({ hooks, log }: Kernel): void {
  for (const event of Object.keys(NARRATORS) as (keyof typeof NARRATORS)[]) {
    const words = NARRATORS[event] as (payload: unknown) => string
    hooks.on(
      event,
      payload => log.info({ agent_id: (payload as { agent_id: string }).agent_id }, words(payload)),
      'cli',
    )
  }
}
