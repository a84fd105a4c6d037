import { shortestFirst } from '#lib/brief'
import { deciderOf } from '#lib/event-text'
import { idAndName } from '#lib/id-and-name'
import { oneLine } from '#lib/sanitize'
import { isoTime } from '#platform/store/contract'
import type { Approval, ApprovalRule, ApprovalSummary } from './contract.ts'
import type { ApprovalRow } from './repository.ts'
import type { RuleRow } from './rules/repository.ts'

/** Maximum length of arguments that are shown in lists; longer ones appear as length and hash. */
const SHORT = 2_000

/** Converts a row into its summary. @param limit how long an approval may wait, in milliseconds; null means forever */
export function summary(row: ApprovalRow, limit: number | null): ApprovalSummary {
  const pending = row.status === 'pending' && limit !== null
  return {
    approval_id: row.approval_id,
    agent_id: row.agent_id,
    agent_name: row.agent_name,
    tool_name: row.tool_name,
    danger: row.danger,
    arguments: row.arguments.length > SHORT ? null : JSON.parse(row.arguments),
    args_chars: row.arguments.length,
    args_sha256: row.args_hash,
    status: row.status,
    created_at: isoTime(row.created_at),
    expires_at: pending ? isoTime(row.created_at + limit) : null,
    session_id: row.session_id,
    goal_id: row.goal_id,
    goal: row.goal,
    task_id: row.task_id,
    folders: row.folders === null ? [] : JSON.parse(row.folders),
    reason: row.reason,
    edited: row.original_arguments !== null,
    resolved_at: isoTime(row.resolved_at),
    resolved_by: row.resolved_by,
  }
}

export function detail(row: ApprovalRow, limit: number | null, preview: string | null = null): Approval {
  return {
    ...summary(row, limit),
    arguments: JSON.parse(row.arguments),
    original_arguments: row.original_arguments === null ? null : JSON.parse(row.original_arguments),
    preview,
    used_at: isoTime(row.used_at),
    call_id: row.used_by,
  }
}

export function shownRule(row: RuleRow): ApprovalRule {
  return {
    ...row,
    arguments: row.arguments === null ? null : JSON.parse(row.arguments),
    until: isoTime(row.until),
    active: row.active === 1,
    created_at: isoTime(row.created_at),
    revoked_at: isoTime(row.revoked_at),
  }
}

/** Renders approvals as a list, with short arguments in full and long ones as length and hash. */
export function renderQueue(approvals: readonly ApprovalSummary[]): string {
  if (approvals.length === 0) return 'no matching approvals'
  return approvals.flatMap(each => [headline(each), `  ${shortArguments(each)}`, ...foldersLine(each)]).join('\n')
}

function headline({
  approval_id,
  agent_id,
  agent_name: name,
  tool_name,
  danger,
  status,
  created_at,
  resolved_by,
}: ApprovalSummary): string {
  const decided = status === 'pending' ? '' : `  ${status} by ${deciderOf(resolved_by ?? 'system')}`
  return `${approval_id}  ${idAndName({ agent_id, name })}  ${tool_name}${danger ? ` (${oneLine(danger)})` : ''}  since ${created_at}${decided}`
}

/** Lists the machine's folders that the call may use. */
function foldersLine({ folders }: ApprovalSummary): string[] {
  if (folders.length === 0) return []
  return [`  folders: ${folders.map(({ path, access }) => `${path} (${access})`).join(', ')}`]
}

function shortArguments({ arguments: args, args_chars, args_sha256, approval_id }: ApprovalSummary): string {
  if (args !== null || args_chars <= SHORT) return JSON.stringify(shortestFirst(args))
  return `${args_chars} characters, sha256 ${args_sha256}; show them with: svc approvals show ${approval_id}`
}

export function renderApproval(approval: Approval): string {
  const {
    arguments: args,
    args_chars,
    args_sha256,
    original_arguments,
    reason,
    goal_id,
    goal,
    task_id,
    expires_at,
  } = approval
  const lines = [
    headline(approval),
    goal_id && `  for goal ${goal_id}${goal ? `: ${oneLine(goal)}` : ''}`,
    task_id && `  for task ${task_id}`,
    ...foldersLine(approval),
    reason && `  reason: ${oneLine(reason)}`,
    expires_at && `  denied automatically at ${expires_at}`,
    `  arguments: ${args_chars} characters, sha256 ${args_sha256}`,
    indentJson(shortestFirst(args)),
    approval.preview && `  what it would do now:\n${approval.preview.replace(/^/gm, '    | ')}`,
    approval.edited && `  edited; requested were:\n${indentJson(original_arguments)}`,
    approval.status === 'pending' && `  svc approve ${approval.approval_id}   or   svc deny ${approval.approval_id}`,
  ]
  return lines.filter(Boolean).join('\n')
}

export function renderRules(rules: readonly ApprovalRule[]): string {
  if (rules.length === 0) return 'no rules: every gated call waits for a decision'
  return rules.map(ruleLine).join('\n')
}

export function ruleLine(rule: ApprovalRule): string {
  const limits = [
    rule.until && `until ${rule.until}`,
    rule.uses === null ? `used ${rule.used} times` : `used ${rule.used} of ${rule.uses} times`,
    rule.revoked_at && `revoked by ${rule.revoked_by}`,
  ]
  const { agent_id, agent_name: name } = rule
  const agent = agent_id === null ? 'any agent' : idAndName({ agent_id, name })
  const args = rule.arguments === null ? 'any arguments' : JSON.stringify(rule.arguments)
  return `${rule.rule_id}  ${rule.tool_name}  ${agent}  ${args}  ${limits.filter(Boolean).join(', ')}, by ${rule.created_by}`
}

/** Formats as JSON, which escapes line breaks, so that no argument can imitate a line of this output. */
function indentJson(value: unknown): string {
  return `    ${JSON.stringify(value, null, 2).replaceAll('\n', '\n    ')}`
}
