import { defineError, type Tool, token, z } from '#kernel'
import type { Verdict } from '../runtime/contract.ts'

/** A tool call that waits, or waited, for the operator. */
export const Approval = z.object({
  approval_id: z.string(),
  agent_id: z.string(),
  tool_name: z.string(),
  arguments: z.unknown().describe('The stored arguments: what is shown is what runs'),
  args_sha256: z.string(),
  status: z.enum(['pending', 'approved', 'denied', 'consumed']),
  created_at: z.iso.datetime(),
  session_id: z.string().nullable(),
  goal_id: z.string().nullable(),
  task_id: z.string().nullable(),
  reason: z.string().nullable(),
  edited: z.boolean().describe('The operator changed the arguments'),
  resolved_at: z.iso.datetime().nullable(),
  resolved_by: z.string().nullable(),
})
export type Approval = z.infer<typeof Approval>

/** A call before it runs, as the gate sees it. */
export interface GatedCall {
  /** The journal's id. */
  call_id: string
  agent_id: string
  goal_id: string | null
  session_id: string | null
  /** Of a one-shot task: its approvals never park the daemon's agent. */
  task_id: string | null
  tool: Tool
  arguments: unknown
}

export interface Approvals {
  /** Whether the call runs, waits or is refused; an approval that lets it run is taken by that, once and for all. */
  gate(call: GatedCall): Promise<Verdict>
  /** Pending approvals that hold the daemon's work on this agent; those of tasks don't. */
  holding(agent_id: string): Promise<string[]>
}
export const Approvals = token<Approvals>('approvals')

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
  sentence: (p: { approval_id: string; agent_id: string }) =>
    `Agent ${p.agent_id} has no approval "${p.approval_id}"; list those that wait with: svc approvals`,
})
export const ApprovalResolvedError = defineError({
  code: 'approval_resolved',
  status: 409,
  title: 'Approval resolved',
  sentence: (p: { approval_id: string; status: string; by: string }) =>
    `Approval ${p.approval_id} was ${p.status} already, by ${p.by}.`,
})
