import type { PluginHandle } from '#kernel'
import { type DoctorFinding, finding } from '#lib/doctor-check'
import { pluralize } from '#lib/pluralize'
import { Store } from '#platform/store/contract'
import { blockOf } from './block-reasons.ts'
import { approvalOfTask, findAgents, leasesOver, listAlive } from './repository.ts'

/** Maximum number of agents checked: each takes some reads. */
const AGENTS_MOST = 100
/** Maximum number of reasons shown. */
const REASONS_MOST = 4
/** Ids in reasons, such as those of approvals. */
const IDS = /\b[a-z]+-[0-9a-f]{8,}\b/g

/** Checks for agents that wait for the operator, by the reasons that `svc why` gives. Reasons may differ in their ids. */
export async function waitingFinding(svc: PluginHandle): Promise<DoctorFinding> {
  const first = { spawned_at: Number.MIN_SAFE_INTEGER, n: 0 }
  const groups = new Map<string, { reason: string; agents: string[] }>()
  const store = svc.use(Store)
  const over = await leasesOver(svc)
  for (const { agent_id } of await listAlive(store, 'awake', first, AGENTS_MOST)) {
    const [agent] = await findAgents(store, agent_id, over)
    const block = agent && (await blockOf(svc, agent))
    const reason = block?.needsOperator ? block.reason : await taskReason(svc, agent_id)
    if (reason === undefined) continue
    const kind = reason.replace(IDS, '')
    const group = groups.get(kind) ?? { reason, agents: [] }
    groups.set(kind, group)
    group.agents.push(agent_id)
  }
  const [agent] = [...groups.values()].flatMap(({ agents }) => agents)
  if (agent === undefined) return finding.ok('no agent waits for you')
  const reasons = [...groups.values()].map(({ reason, agents }) => {
    const [one = '', ...others] = agents
    return others.length === 0 ? `${one}: ${reason}` : `${pluralize(agents.length, 'agent')}, such as ${one}: ${reason}`
  })
  const more = reasons.length - REASONS_MOST
  const rest = more > 0 ? [`${more} more`] : []
  return finding.warn(
    [...reasons.slice(0, REASONS_MOST), ...rest].join('; '),
    `follow the advice in the message; for one agent see: svc why ${agent}`,
  )
}

async function taskReason(svc: PluginHandle, agent_id: string): Promise<string | undefined> {
  const approval = await approvalOfTask(svc.use(Store), agent_id)
  return approval && `Its task waits for a decision on ${approval.approval_id}. List them with: svc approvals`
}
