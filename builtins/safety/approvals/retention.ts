import type { PluginHandle } from '#kernel'
import { addRetentionRule, RetentionRules } from '#platform/retention/contract'
import { Store } from '#platform/store/contract'
import { denyDead } from './decisions.ts'
import { countDead } from './repository.ts'

/** Removes decisions for which no call waits any more, including those of dead agents. */
export function approvalsForget(svc: PluginHandle): void {
  svc.add(RetentionRules, {
    name: 'dead_agent_approvals',
    stage: -10,
    count: () => countDead(svc.use(Store)),
    piece: (_, limit) => denyDead(svc, limit),
  })
  addRetentionRule(svc, {
    name: 'approvals',
    key: 'approval_id',
    where: `status <> 'pending' AND coalesce(resolved_at, created_at) < ? AND NOT EXISTS
      (SELECT 1 FROM tool_calls_view c WHERE c.approval_id = approvals.approval_id AND c.state <> 'done')`,
  })
  addRetentionRule(svc, { name: 'approval_rules', key: 'rule_id', where: 'coalesce(revoked_at, until) < ?' })
}
