import { ActiveAgent, BlockReasons } from '#core/agents/contract'
import { ToolGate } from '#core/runtime/contract'
import { definePlugin, errorMessage, type PluginHandle, z } from '#kernel'
import { coalesce } from '#lib/coalesce'
import { withEarlierNames } from '#lib/earlier-names'
import { eachRound } from '#lib/poller'
import { DaemonStarts } from '#platform/daemon/contract'
import { type Cycle, type HasWork, idsOf } from '#platform/heartbeat/contract'
import { Effects, Store } from '#platform/store/contract'
import { ApprovalConfig, ApprovalSettings } from './config.ts'
import { Approvals } from './contract.ts'
import { settle } from './decisions.ts'
import { Gate } from './gate.ts'
import { warnOfTools } from './names.ts'
import { approvalOperations } from './operations.ts'
import { permit } from './permits.ts'
import { APPROVAL_EFFECTS, findHeldAgents, holding, isHeld, openQuestions } from './repository.ts'
import { approvalsForget } from './retention.ts'
import { ruleOperations } from './rules/operations.ts'
import { RULE_EFFECTS } from './rules/repository.ts'

export default definePlugin({
  name: 'approvals',
  description: 'Holds tool calls until they are approved or denied. Each approval is decided once and used once.',
  needs: ['store', 'agents'],
  section: 'approval',
  config: ApprovalConfig,
  setup(svc, config) {
    const gate = new Gate(svc, config)
    const approvals: Approvals = {
      needsApproval: tool => gate.needsApproval(tool),
      gate: call => gate.gate(call),
      permit: request => permit(svc, config, request),
      holding: agent_id => holding(svc.use(Store), agent_id),
    }
    svc.provide(ToolGate, approvals)
    svc.provide(Approvals, withEarlierNames(approvals, { needed: 'needsApproval' }))
    for (const effect of [...APPROVAL_EFFECTS, ...RULE_EFFECTS]) svc.add(Effects, effect.kind)
    svc.provide(ApprovalSettings, config)
    for (const operation of [...approvalOperations, ...ruleOperations]) svc.operation(operation)
    approvalsForget(svc)

    svc.add(BlockReasons, {
      name: 'approvals',
      stage: 20,
      async why({ agent_id }) {
        const [first, ...more] = await svc.use(Approvals).holding(agent_id)
        if (!first) return undefined
        const others = more.length > 0 ? ` and ${more.length} more` : ''
        // This reason comes before that of a goal with an open question.
        const questions = await openQuestions(svc.use(Store), agent_id)
        const [answers, command] =
          questions.length > 0 ? [`, and for your answer to ${questions.join(', ')}`, ' and svc questions'] : ['', '']
        return {
          reason: `The agent waits for a decision on ${first}${others}${answers}. List them with: svc approvals${command}`,
          at: null,
          needsOperator: true,
        }
      },
    })

    const subject = { agent_id: z.string(), approval_id: z.string(), task_id: z.string().nullable() }
    svc.event(
      'approval_requested',
      z.object({ ...subject, tool_name: z.string() }).describe('A tool call waits for a decision'),
    )
    const decision = z.enum(['approve', 'deny'])
    svc.event(
      'approval_resolved',
      z.object({ ...subject, decision, resolved_by: z.string() }).describe('A tool call was approved or denied'),
    )

    svc.add(DaemonStarts, { name: 'approvals', begin: async () => warnOfTools(svc, config) })
    const settleOnce = coalesce(() => settle(svc, config))
    svc.on('beat', settleOnce)
    svc.on('goal_abandoned', settleOnce)
    svc.on('goal_completed', settleOnce)
    svc.start(() => settleNowAndThen(svc, config), { in: ['server'] })
    const hasWork: HasWork = due => findHeldAgents(svc.use(Store), idsOf(due))
    svc.tap('approval_gate', { name: 'approvals', hasWork }, async (cycle: Cycle) => {
      if (!(await isWaiting(svc, cycle))) return
      cycle.result = 'parked'
      cycle.done = true
    })
  },
})

/**
 * Returns whether the cycle's agent waits for a decision. The status of a paused or dead agent does not show this, so
 * it is read from the database.
 */
function isWaiting(svc: PluginHandle, cycle: Cycle): boolean | Promise<boolean> {
  const status = cycle.get(ActiveAgent)?.status
  if (status === undefined || status === 'paused' || status === 'dead') return isHeld(svc.use(Store), cycle.agent_id)
  return status === 'waiting_approval'
}

/** Interval of checks in a server, in milliseconds. Its tasks wait for decisions also when no daemon runs. */
const LOOK_MS = 5_000

function settleNowAndThen(svc: PluginHandle, config: ApprovalConfig) {
  return eachRound(svc.clock, LOOK_MS, () =>
    settle(svc, config).catch(error =>
      svc.log.warn({}, `approvals could not be checked for expiry: ${errorMessage(error)}`),
    ),
  )
}
