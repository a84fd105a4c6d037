import { hash } from 'node:crypto'
import { canonicalJson } from '#core/runtime/contract'
import type { PluginHandle } from '#kernel'
import { appendEvent, Store } from '#platform/store/contract'
import type { ApprovalConfig } from './config.ts'
import type { Permit, PermitRequest } from './contract.ts'
import { askOnce, hasAgent, lastFor } from './repository.ts'
import { rulesFor, useRule } from './rules/repository.ts'
import { isMatch } from './rules/rules.ts'

/** Returns whether an operator allows something for all agents; asks once when that was not yet decided. */
export async function permit(svc: PluginHandle, config: ApprovalConfig, request: PermitRequest): Promise<Permit> {
  if (!config.enabled) return { state: 'off' }
  if (config.auto_approve.includes(request.name) || (await isGranted(svc, request))) return { state: 'granted' }
  const store = svc.use(Store)
  const json = canonicalJson(request.arguments)
  const same = { tool_name: request.name, args_hash: hash('sha256', json) }
  const before = await lastFor(store, same)
  if (before?.status === 'pending') return { state: 'pending', approval_id: before.approval_id }
  // A timed-out request does not count as denied.
  if (before?.status === 'denied' && before.resolved_by !== 'system') {
    return {
      state: 'denied',
      approval_id: before.approval_id,
      by: before.resolved_by ?? 'system',
      reason: before.reason,
    }
  }
  const { agent_id } = request
  if (agent_id === null || !(await hasAgent(store, agent_id))) return { state: 'unasked' }
  const approval_id = svc.ports.ids.make('ap', 12)
  const isNew = await store.apply([
    askOnce({ ...same, approval_id, agent_id, danger: request.danger, arguments: json }),
    appendEvent({
      type: 'approval_requested',
      agent_id,
      data: { agent_id, approval_id, tool_name: request.name, task_id: null },
    }),
  ])
  if (isNew) return { state: 'pending', approval_id }
  const other = await lastFor(store, same)
  return other?.status === 'pending' ? { state: 'pending', approval_id: other.approval_id } : { state: 'unasked' }
}

/** Returns whether a standing rule allows the request. A rule with limited uses counts this as one use. */
async function isGranted(svc: PluginHandle, { agent_id, name, arguments: args }: PermitRequest): Promise<boolean> {
  const store = svc.use(Store)
  for (const rule of await rulesFor(store, svc.clock.ms(), agent_id ?? '', name)) {
    if (!isMatch(rule.arguments === null ? null : JSON.parse(rule.arguments), args)) continue
    if (rule.uses === null || (await store.apply([useRule({ rule_id: rule.rule_id })]))) return true
  }
  return false
}
