import type { PluginHandle } from '#kernel'
import { type Due, idsOf } from '#platform/heartbeat/contract'
import { Store } from '#platform/store/contract'
import { Stressors } from './contract.ts'
import { findChangedAgents } from './repository.ts'
import { BUILT_IN } from './state/stressors.ts'

/**
 * Returns those of these agents whose inner state must be updated. With plugin stressors, whose inputs are unknown,
 * these are all agents.
 */
export async function agentsWithWork(svc: PluginHandle, due: readonly Due[]): Promise<string[]> {
  const agents = idsOf(due)
  if (svc.list(Stressors).some(stressor => stressor.sense && !BUILT_IN.includes(stressor))) return agents
  return findChangedAgents(svc.use(Store), agents, svc.clock.ms())
}
