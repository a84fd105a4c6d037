import { errorMessage, type PluginHandle } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { Store } from '#platform/store/contract'
import type { CheckpointService } from './checkpoint-service.ts'
import type { CheckpointsConfig } from './config.ts'
import { liveAgents } from './repository.ts'

/** Maximum number of agents saved at a stop, so that stopping stays fast. */
const MOST_AT_ONCE = 10_000

/** Saves an agent after every given number of cycles, once the cycle's writes are committed. */
export function afterCycle(
  svc: PluginHandle,
  config: CheckpointsConfig,
  service: CheckpointService,
  { agent_id, cycle_num }: { agent_id: string; cycle_num: number },
): Promise<unknown> | undefined {
  if (config.every_cycles === 0 || cycle_num % config.every_cycles !== 0) return undefined
  return service
    .note(agent_id, `after cycle ${cycle_num}`)
    .catch(error => svc.log.warn({ agent_id, cycle_num }, errorMessage(error)))
}

/** Saves living agents after the last cycle, most recently active first, until `daemon.stop_grace` is over. */
export async function atShutdown(
  svc: PluginHandle,
  config: CheckpointsConfig,
  service: CheckpointService,
): Promise<void> {
  if (!config.at_shutdown) return
  const { clock, log } = svc
  const until = clock.monotonic() + config.grace * 1000
  const agents = await liveAgents(svc.use(Store), MOST_AT_ONCE)
  for (const [n, { agent_id }] of agents.entries()) {
    if (clock.monotonic() >= until) {
      const late = agents.length - n
      log.warn(
        {},
        `no checkpoints were saved for ${pluralize(late, 'agent')}, because checkpoints.grace was over; their data in the database is safe`,
      )
      return
    }
    const failed = await service.note(agent_id, 'daemon_shutdown').then(() => undefined, errorMessage)
    if (failed) log.warn({ agent_id }, failed)
  }
}
