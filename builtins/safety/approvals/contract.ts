import { AgentName } from '#core/agents/contract'
import type { Verdict } from '#core/runtime/contract'
import { defineError, point, token, z } from '#kernel'
import type { Tool } from '#tools/toolkits/contract'
import { GivenFolder } from '../sandbox/contract.ts'

export const APPROVAL_STATUSES = ['pending', 'approved', 'denied', 'consumed'] as const

/** A tool call that needs or needed a decision, as shown in lists. */
export const ApprovalSummary = z.object({
  approval_id: z.string(),
  agent_id: z.string(),
  agent_name: AgentName,
  tool_name: z.string(),
  danger: z.string().nullable().describe('Why a call can do harm, as declared by the tool, such as `deletes notes`'),
  arguments: z
    .unknown()
    .describe(
      'Stored arguments, exactly those that the call runs with; null in lists if they are long, see args_chars',
    ),
  args_chars: z.int().describe('Length of the arguments as JSON'),
  args_sha256: z.string().describe('SHA-256 hash of the arguments as JSON with sorted keys and no spaces'),
  status: z.enum(APPROVAL_STATUSES).describe('`consumed`: the call was approved and has started'),
  created_at: z.iso.datetime(),
  expires_at: z.iso.datetime().nullable().describe('Time at which the approval is denied automatically'),
  session_id: z.string().nullable(),
  goal_id: z.string().nullable(),
  goal: z.string().nullable().describe('Objective of the goal that the call is for'),
  task_id: z.string().nullable(),
  folders: z.array(GivenFolder).describe('Folders given to the agent, which the call may use'),
  reason: z.string().nullable(),
  edited: z.boolean().describe('Whether the arguments were changed before the approval'),
  resolved_at: z.iso.datetime().nullable(),
  resolved_by: z.string().nullable().describe('`X-Svc-User`, `cli`, `system`, `rule:<rule_id>` or `reviewer:<name>`'),
})
export type ApprovalSummary = z.infer<typeof ApprovalSummary>

export const Approval = ApprovalSummary.extend({
  original_arguments: z.unknown().describe('Arguments that the model requested, if they were changed; else null'),
  preview: z
    .string()
    .nullable()
    .describe('What a waiting call would do as things are now, such as a diff; null if its tool does not say'),
  used_at: z.iso.datetime().nullable().describe('When the call began'),
  call_id: z.string().nullable().describe('Id, in the tool journal, of the call that used the approval'),
})
export type Approval = z.infer<typeof Approval>

/**
 * A pattern: a string that matches a glob (`*`: anything but `/`; `**`: anything; neither matches `..`, nor an operator
 * in a shell command), or any value.
 */
export const ArgumentPattern = z.union([
  z.strictObject({ glob: z.string().max(1000) }),
  z.strictObject({ any: z.literal(true) }),
])
export type ArgumentPattern = z.infer<typeof ArgumentPattern>

/** Conditions of a rule for all arguments: an exact value or a pattern for each. */
export const ArgumentMatches = z
  .record(z.string(), z.unknown())
  .describe(
    'For each argument an exact value, {"glob": "drafts/*"} or {"any": true}, which also matches a left out one; a call with any other argument does not match, unless it has its default',
  )
export type ArgumentMatches = z.infer<typeof ArgumentMatches>

/** A standing approval: matching calls run without asking, until a time or for a number of uses. */
export const ApprovalRule = z.object({
  rule_id: z.string(),
  agent_id: z.string().nullable().describe('null: any agent'),
  agent_name: AgentName,
  tool_name: z.string(),
  arguments: ArgumentMatches.nullable().describe('null: any arguments'),
  until: z.iso.datetime().nullable(),
  uses: z.int().nullable().describe('Maximum number of uses'),
  used: z.int(),
  active: z.boolean().describe('Whether the rule applies: not revoked, not expired, not used up'),
  reason: z.string().nullable(),
  created_at: z.iso.datetime(),
  created_by: z.string(),
  revoked_at: z.iso.datetime().nullable(),
  revoked_by: z.string().nullable(),
})
export type ApprovalRule = z.infer<typeof ApprovalRule>

/** A call before it runs, as passed to the gate. */
export interface GatedCall {
  /** Id in the tool journal; the row in `tool_calls` must exist. */
  call_id: string
  agent_id: string
  goal_id: string | null
  session_id: string | null
  /** One-shot task of the call, if any; its approvals never park the daemon's agent. */
  task_id: string | null
  tool: Tool
  arguments: unknown
  /** Whether the call was just requested, so that no earlier decision exists. */
  isNew?: boolean
  /** Whether an earlier call of the answer waits: this one is not run, but asked about where the operator must decide. */
  isHeld?: boolean | undefined
  /** Throws if the call cannot succeed; then it is refused before anyone reviews it. */
  check?(): Promise<void>
}

/** Name, in place of a tool's, for permission to call a model of unknown price. No tool can have this name. */
export const MODEL_CALL = 'model:call'

/** Something that is allowed or denied once for all agents, rather than call by call. */
export interface PermitRequest {
  /** Agent on whose behalf permission is requested; null when no agent of the project needs it. */
  agent_id: string | null
  /** Used in place of a tool's name. */
  name: typeof MODEL_CALL
  /** Distinguishes requests of the same name. */
  arguments: unknown
  /** Why the request could do harm, shown to the operator. */
  danger: string
}

/** `unasked`: no agent exists for which to ask. `off`: approvals are disabled. */
export type Permit =
  | { state: 'granted' | 'unasked' | 'off' }
  | { state: 'pending'; approval_id: string }
  | { state: 'denied'; approval_id: string; by: string; reason: string | null }

export interface Approvals {
  /**
   * Returns whether the configuration requires approval for this tool. The intent of its calls is then recorded as
   * `planned`.
   */
  needsApproval(tool: Tool): boolean
  /** @deprecated Use `needsApproval`. */
  needed?: Approvals['needsApproval']
  /**
   * Decides whether the call runs, waits or is refused. An approval is used up in the transaction that writes `started`
   * into the journal; a call that waits is `parked` there.
   */
  gate(call: GatedCall): Promise<Verdict>
  /**
   * Returns whether operators allow something for all agents. They are asked once: an approval becomes a standing rule,
   * and a denial stays. A request that timed out is asked again.
   */
  permit(request: PermitRequest): Promise<Permit>
  /** Returns the pending approvals that block the daemon's work on this agent; those of tasks do not. */
  holding(agent_id: string): Promise<string[]>
}
export const Approvals = token<Approvals>('approvals')

/** A reviewer's decision; undefined passes the call on to the next reviewer, and finally to the operator. */
export type Review =
  | { decision: 'approve'; reason?: string }
  | { decision: 'deny'; reason: string }
  /** Replaces the arguments for further review and approval. */
  | { decision: 'edit'; arguments: unknown }

/** Reviews gated calls before the operator does. A reviewer that throws, or takes longer than 10 s, is skipped. */
export interface ApprovalReviewer {
  name: string
  /** Order of the reviewers; lower stages are asked first. Default: 0. */
  stage?: number
  review(call: {
    agent_id: string
    goal_id: string | null
    task_id: string | null
    tool_name: string
    /** As the tool receives them, with defaults. */
    arguments: unknown
  }): Review | undefined | Promise<Review | undefined>
}
export const ApprovalReviewers = point<ApprovalReviewer>('approval_reviewers', {
  key: reviewer => reviewer.name,
  has: { name: 'text', review: 'function' },
  asked: 'review',
})

declare module '#kernel' {
  interface Events {
    approval_requested: { agent_id: string; approval_id: string; tool_name: string; task_id: string | null }
    approval_resolved: {
      agent_id: string
      approval_id: string
      decision: 'approve' | 'deny'
      resolved_by: string
      task_id: string | null
    }
  }
}

export const ApprovalNotFoundError = defineError({
  code: 'approval_not_found',
  status: 404,
  title: 'Approval not found',
  message: (p: { approval_id: string; agent_id?: string }) =>
    `${p.agent_id === undefined ? 'There is' : `Agent ${p.agent_id} has`} no approval "${p.approval_id}"; list the pending ones with: svc approvals`,
})
export const ApprovalResolvedError = defineError({
  code: 'approval_resolved',
  status: 409,
  title: 'Approval already decided',
  message: (p: { approval_id: string; status: string; by: string }) =>
    `Approval ${p.approval_id} was already ${p.status}, by ${p.by}.`,
})
export const UnknownDecisionError = defineError({
  code: 'unknown_decision',
  status: 400,
  exit: 2,
  title: 'Unknown decision',
  message: () => 'The decision must be "approve" or "deny".',
})
export const AgentCannotDecideError = defineError({
  code: 'agent_cannot_decide',
  status: 403,
  title: 'Agent cannot decide',
  message: (p: { agent_id: string }) => `${p.agent_id} is an agent; only people can decide approvals.`,
})
export const RuleNotFoundError = defineError({
  code: 'rule_not_found',
  status: 404,
  title: 'Rule not found',
  message: (p: { rule_id: string }) =>
    `There is no active rule "${p.rule_id}"; list the rules with: svc approvals rules`,
})
