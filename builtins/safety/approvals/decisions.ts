import { hash } from 'node:crypto'
import { canonicalJson } from '#core/runtime/contract'
import { ConflictError, type Effect, InvalidInputError, issuesOf, type PluginHandle } from '#kernel'
import { deciderOf } from '#lib/event-text'
import { Store, wakeAgents } from '#platform/store/contract'
import { type Tool, Toolkits } from '#tools/toolkits/contract'
import type { ApprovalConfig } from './config.ts'
import { AgentCannotDecideError, ApprovalNotFoundError, ApprovalResolvedError, MODEL_CALL } from './contract.ts'
import { resolvedEvent } from './gate.ts'
import {
  type ApprovalRow,
  findApproval,
  hasAgent,
  listApprovals,
  pendingOfDead,
  resolveApproval,
  settledByThemselves,
} from './repository.ts'
import { insertRule, type RuleRow, useRule } from './rules/repository.ts'
import { matchedTool, mismatchOf } from './rules/rules.ts'

export interface Decision {
  decision: 'approve' | 'deny'
  reason: string | null
  resolved_by: string
  /** Arguments approved in place of the requested ones. */
  arguments?: unknown
}

/**
 * Decides a pending approval and wakes its agent.
 * @throws ApprovalResolvedError with the decision when it was already decided; AgentCannotDecideError;
 * InvalidInputError
 */
export async function resolve(svc: PluginHandle, row: ApprovalRow, decision: Decision): Promise<ApprovalRow> {
  const { approval_id } = row
  if (row.status !== 'pending') throw resolvedError(row)
  await refuseAgents(svc, decision.resolved_by)
  const edited = decision.arguments === undefined ? null : await checkArguments(svc, row, decision.arguments)
  if (await decide(svc, row, decision, edited)) return (await findApproval(svc.use(Store), approval_id))!
  const now = await findApproval(svc.use(Store), approval_id)
  if (!now) throw new ApprovalNotFoundError({ approval_id })
  throw resolvedError(now)
}

function resolvedError({ approval_id, status, resolved_by }: ApprovalRow) {
  const by = deciderOf(resolved_by ?? 'system')
  return new ApprovalResolvedError({ approval_id, status: status === 'denied' ? 'denied' : 'approved', by })
}

/** Ensures that only people decide, never agents. @throws AgentCannotDecideError */
export async function refuseAgents(svc: PluginHandle, who: string): Promise<void> {
  if (await hasAgent(svc.use(Store), who)) throw new AgentCannotDecideError({ agent_id: who })
}

async function decide(
  svc: PluginHandle,
  row: ApprovalRow,
  { decision, reason, resolved_by }: Decision,
  edited: Awaited<ReturnType<typeof checkArguments>>,
  also: readonly Effect[] = [],
): Promise<boolean> {
  const { approval_id, agent_id } = row
  const status = decision === 'approve' ? 'approved' : 'denied'
  return svc.use(Store).apply([
    ...also,
    ...(decision === 'approve' && row.tool_name === MODEL_CALL && also.length === 0
      ? [lastingRule(svc, row, reason, resolved_by)]
      : []),
    resolveApproval({ approval_id, status, reason, resolved_by, edited }),
    resolvedEvent(row, decision, resolved_by),
    // The daemon does not handle a task's approvals.
    ...(row.task_id === null ? [wakeAgents({ agents: [agent_id], reason: 'approval' })] : []),
  ])
}

/** Returns the rule for an approved model call: for all agents, until it is revoked. */
function lastingRule(
  svc: PluginHandle,
  { tool_name, arguments: args }: ApprovalRow,
  reason: string | null,
  created_by: string,
) {
  const rule_id = svc.ports.ids.make('rule', 8)
  return insertRule({
    rule_id,
    agent_id: null,
    tool_name,
    arguments: args,
    until: null,
    uses: null,
    reason,
    created_by,
  })
}

export function toolOf(svc: PluginHandle, tool_name: string): Tool | undefined {
  const tools = svc.list(Toolkits).flatMap((toolkit): readonly Tool[] => toolkit.tools)
  return tools.find(({ name }) => name === tool_name)
}

/** Validates replaced arguments against the tool's schema. Returns null when they are unchanged. */
async function checkArguments(svc: PluginHandle, { tool_name, arguments: requested }: ApprovalRow, args: unknown) {
  const tool = toolOf(svc, tool_name)
  if (!tool) {
    const sentence = `The tool ${tool_name} is not available, so the changed arguments cannot be checked; approve or deny the requested arguments.`
    throw new ConflictError({ message: sentence })
  }
  const parsed = await tool.parameters.safeParseAsync(args)
  if (!parsed.success) {
    const issues = issuesOf(parsed.error, 'arguments')
    throw new InvalidInputError({ what: `The changed input of ${tool_name}`, issues }, { errors: issues })
  }
  const json = canonicalJson(args)
  return json === requested ? null : { arguments: json, args_hash: hash('sha256', json) }
}

/**
 * Approves pending calls that a new rule allows, oldest first, until the rule is used up.
 * @returns the approvals of the tool's calls: those that are approved, and why others still wait
 */
export async function release(svc: PluginHandle, { rule_id, agent_id, tool_name, reason, ...rule }: RuleRow) {
  const matches = rule.arguments === null ? null : JSON.parse(rule.arguments)
  const tool = toolOf(svc, tool_name)
  const [approved, waiting]: [string[], { approval_id: string; reason: string }[]] = [[], []]
  const of = { agent_id: agent_id ?? undefined, tool_name, status: 'pending' } as const
  for (const row of await listApprovals(svc.use(Store), of)) {
    const args: unknown = JSON.parse(row.arguments)
    // A tool that is not available may run any of its arguments in a shell.
    const mismatch = mismatchOf(matches, args, tool ? matchedTool(tool) : { shell: Object.keys(args ?? {}) })
    const decision: Decision = { decision: 'approve', reason, resolved_by: `rule:${rule_id}` }
    const { approval_id } = row
    if (mismatch !== undefined) waiting.push({ approval_id, reason: mismatch })
    else if (await decide(svc, row, decision, null, [useRule({ rule_id })])) approved.push(approval_id)
    else waiting.push({ approval_id, reason: 'the rule is used up' })
  }
  return { approved, waiting }
}

/**
 * Denies approvals that have timed out, and those of goals or tasks that have ended. Uses the wall clock, so that a
 * restart changes nothing.
 */
export async function settle(svc: PluginHandle, config: ApprovalConfig): Promise<void> {
  const limit = deadline(svc, config)
  const overdue = limit === null ? null : svc.clock.ms() - limit
  for (const row of await settledByThemselves(svc.use(Store), overdue)) {
    const reason = row.moot ? `its ${row.task_id ? 'task' : 'goal'} has ended` : 'no decision came in time'
    await decide(svc, row, { decision: 'deny', reason, resolved_by: 'system' }, null)
  }
}

/** Denies the pending approvals of dead agents. @returns their number */
export async function denyDead(svc: PluginHandle, limit: number): Promise<number> {
  const rows = await pendingOfDead(svc.use(Store), limit)
  for (const row of rows)
    await decide(svc, row, { decision: 'deny', reason: 'its agent is dead', resolved_by: 'system' }, null)
  return rows.length
}

/**
 * Returns how long an approval may wait, in milliseconds, computed with the current heartbeat interval; null means
 * forever.
 */
export function deadline(svc: PluginHandle, { timeout_cycles }: ApprovalConfig): number | null {
  if (timeout_cycles === 0) return null
  return Math.round(timeout_cycles * Number(svc.config.get('daemon.heartbeat')) * 1000)
}
