import type { EventName, Kernel } from '#kernel'
import { describeEvent } from '#lib/event-text'

/** Events that are of interest to a reader of the log. */
const NARRATED = [
  'agent_spawned',
  'agent_deleted',
  'goal_generated',
  'tool_result',
  'goal_completed',
  'goal_abandoned',
  'goal_max_steps',
] as readonly EventName[]

/** Logs the agents' events while this process runs, without those of disabled modules. */
export function narrate({ hooks, log }: Kernel): void {
  const declared = hooks.events()
  for (const event of NARRATED.filter(name => declared.has(name))) {
    hooks.on(
      event,
      payload => {
        const data = payload as { agent_id: string }
        log.info({ agent_id: data.agent_id }, describeEvent(event, data))
      },
      'cli',
    )
  }
}
