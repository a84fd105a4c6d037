import type { PluginHandle } from '#kernel'
import { type DoctorFinding, finding } from '#lib/doctor-check'
import { pluralize } from '#lib/pluralize'
import { Store } from '#platform/store/contract'
import { blockOf } from './block-reasons.ts'
import { findAgents, leasesOver, listAlive } from './repository.ts'

/** Maximum number of agents checked: each takes some reads. */
const AGENTS_MOST = 100
/** Maximum number of reasons shown. */
const REASONS_MOST = 4

/** Checks for agents that wait for the operator, by the reasons that `svc why` gives. */
export async function waitingFinding(svc: PluginHandle): Promise<DoctorFinding> {
  const first = { spawned_at: Number.MIN_SAFE_INTEGER, n: 0 }
  const agentsOf = new Map<string, string[]>()
  const store = svc.use(Store)
  const over = await leasesOver(svc)
  for (const { agent_id } of await listAlive(store, 'awake', first, AGENTS_MOST)) {
    const [agent] = await findAgents(store, agent_id, over)
    const block = agent && (await blockOf(svc, agent))
    if (!block?.needsOperator) continue
    agentsOf.set(block.reason, [...(agentsOf.get(block.reason) ?? []), agent_id])
  }
  const [agent] = [...agentsOf.values()].flat()
  if (agent === undefined) return finding.ok('no agent waits for you')
  const reasons = [...agentsOf].map(([reason, [one, ...others]]) => {
    return `${others.length > 0 ? pluralize(others.length + 1, 'agent') : one}: ${reason}`
  })
  const more = reasons.length - REASONS_MOST
  const rest = more > 0 ? [`${more} more`] : []
  return finding.warn(
    [...reasons.slice(0, REASONS_MOST), ...rest].join('; '),
    `follow the advice in the message; for one agent see: svc why ${agent}`,
  )
}
