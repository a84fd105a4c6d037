import { AgentNotFoundError, AgentRef, Agents, AmbiguousAgentError } from '#core/agents/contract'
import {
  ConflictError,
  defineError,
  InvalidInputError,
  type OperationCall,
  operation,
  type PluginHandle,
  z,
} from '#kernel'
import { callerName } from '#lib/caller-name'
import { idSchema } from '#lib/id-schema'
import { Page } from '#lib/list'
import { Store } from '#platform/store/contract'
import { ApprovalSettings } from './config.ts'
import {
  AgentCannotDecideError,
  APPROVAL_STATUSES,
  Approval,
  ApprovalNotFoundError,
  ApprovalResolvedError,
  ApprovalSummary,
  UnknownDecisionError,
} from './contract.ts'
import { deadline, resolve, settle } from './decisions.ts'
import { previewOf } from './preview.ts'
import { type ApprovalRow, countApprovals, findApproval, listApprovals } from './repository.ts'
import { detail, renderApproval, renderQueue, summary } from './view.ts'

const id = AgentRef
const approval_id = idSchema("An approval's id", 'ap-1a2b3c4d5e6f')
const status = z
  .enum([...APPROVAL_STATUSES, 'decided', 'all'])
  .default('pending')
  .describe(
    'Status to filter by. Pending approvals are listed oldest first, others and all newest first; decided: all but pending ones, the last decided first',
  )
const Decision = z.strictObject({
  approval_id,
  // Required, but a missing or other value is refused with the message and status code that the specification defines.
  decision: z
    .unknown()
    .catch(undefined)
    .meta({ type: 'string', enum: ['approve', 'deny'], examples: ['approve'], description: '`approve` or `deny`' }),
  reason: z.string().max(2000).nullish().describe('Reason for the decision, or a remark, for the agent'),
  arguments: z
    .record(z.string(), z.unknown())
    .optional()
    .describe('Arguments to approve in place of the requested ones'),
})
type Decision = z.output<typeof Decision>

const NothingToEditError = defineError({
  code: 'nothing_to_edit',
  status: 422,
  exit: 2,
  title: 'Nothing to edit',
  message: () => 'Arguments can only be given with the decision "approve".',
})

const ofAgents = [AgentNotFoundError, AmbiguousAgentError] as const
const decides = [
  UnknownDecisionError,
  ApprovalNotFoundError,
  ApprovalResolvedError,
  AgentCannotDecideError,
  NothingToEditError,
  InvalidInputError,
  ConflictError,
] as const

const store = (svc: PluginHandle) => svc.use(Store)

const limit = (svc: PluginHandle) => deadline(svc, svc.use(ApprovalSettings))

const agentOf = async (svc: PluginHandle, ref: string) => (await svc.use(Agents).find(ref)).agent_id

async function requireApproval(svc: PluginHandle, approval_id: string, agent_id?: string): Promise<ApprovalRow> {
  const row = await findApproval(store(svc), approval_id)
  if (row && (agent_id === undefined || row.agent_id === agent_id)) return row
  throw new ApprovalNotFoundError({ approval_id, ...(agent_id === undefined ? {} : { agent_id }) })
}

const withPreview = async (svc: PluginHandle, row: ApprovalRow) => detail(row, limit(svc), await previewOf(svc, row))

async function decide(svc: PluginHandle, row: ApprovalRow, input: Decision, call: OperationCall) {
  const { decision, reason = null, arguments: args } = input
  if (decision !== 'approve' && decision !== 'deny') throw new UnknownDecisionError()
  if (args !== undefined && decision === 'deny') throw new NothingToEditError()
  const more = args === undefined ? {} : { arguments: args }
  // Also settles timed-out approvals when no daemon runs, so that people cannot decide them any more.
  await settle(svc, svc.use(ApprovalSettings))
  return detail(await resolve(svc, row, { decision, reason, resolved_by: callerName(call), ...more }), limit(svc))
}

export const approvalsQueue = operation({
  name: 'approvals.queue',
  summary: 'List pending approvals, oldest first',
  description: 'A tool call that needs approval waits in this list, at no cost, until it is decided.',
  input: Page.extend({ status }),
  output: z.array(ApprovalSummary),
  http: { method: 'GET', path: '/approvals' },
  cli: { usage: 'approvals', short: { limit: 'n', status: 's' } },
  mcp: true,
  run: async ({ status, limit: max, offset }, { svc }) =>
    (await listApprovals(store(svc), { status }, max, offset)).map(row => summary(row, limit(svc))),
  count: ({ status }, { svc }) => countApprovals(store(svc), { status }),
  render: renderQueue,
})

export const approvalsList = operation({
  name: 'approvals.list',
  summary: "List an agent's approvals, pending or all",
  description: 'Lists pending approvals by default; use `status` for those decided earlier.',
  input: Page.extend({ id, status }),
  output: z.array(ApprovalSummary),
  http: { method: 'GET', path: '/agents/{id}/approvals' },
  cli: { usage: 'approvals of <id>', short: { limit: 'n', status: 's' } },
  mcp: true,
  errors: ofAgents,
  run: async ({ id, status, limit: max, offset }, { svc }) =>
    (await listApprovals(store(svc), { agent_id: await agentOf(svc, id), status }, max, offset)).map(row =>
      summary(row, limit(svc)),
    ),
  count: async ({ id, status }, { svc }) => countApprovals(store(svc), { agent_id: await agentOf(svc, id), status }),
  render: renderQueue,
})

export const approvalsGet = operation({
  name: 'approvals.get',
  summary: "Show an agent's approval in full",
  description: 'Includes all arguments of the call, their hash, and the decision if there is one.',
  input: z.object({ id, approval_id }),
  output: Approval,
  http: { method: 'GET', path: '/agents/{id}/approvals/{approval_id}' },
  errors: [...ofAgents, ApprovalNotFoundError],
  run: async ({ id, approval_id }, { svc }) =>
    withPreview(svc, await requireApproval(svc, approval_id, await agentOf(svc, id))),
})

export const approvalsShow = operation({
  name: 'approvals.show',
  summary: 'Show an approval in full',
  description: 'Includes all arguments of the call, their hash, and the decision if there is one.',
  input: z.object({ approval_id }),
  output: Approval,
  http: { method: 'GET', path: '/approvals/{approval_id}' },
  cli: { usage: 'approvals show <approval_id>' },
  mcp: true,
  errors: [ApprovalNotFoundError],
  run: async ({ approval_id }, { svc }) => withPreview(svc, await requireApproval(svc, approval_id)),
  render: renderApproval,
})

export const approvalsResolve = operation({
  name: 'approvals.resolve',
  summary: "Approve or deny an agent's tool call",
  description: 'If `arguments` is given, the call runs with these arguments instead.',
  input: Decision.extend({ id }),
  output: Approval,
  http: { method: 'POST', path: '/agents/{id}/approvals/{approval_id}' },
  errors: [...ofAgents, ...decides],
  run: async (input, call) =>
    decide(
      call.svc,
      await requireApproval(call.svc, input.approval_id, await agentOf(call.svc, input.id)),
      input,
      call,
    ),
})

export const approvalsDecide = operation({
  name: 'approvals.decide',
  summary: 'Approve or deny a tool call',
  description: 'A decision applies once, to exactly these arguments. A second decision is refused with status 409.',
  input: Decision,
  output: Approval,
  http: { method: 'POST', path: '/approvals/{approval_id}' },
  cli: [
    {
      usage: 'approve <approval_id>',
      summary: 'Approve a pending tool call',
      preset: { decision: 'approve' },
      short: { reason: 'r' },
    },
    {
      usage: 'deny <approval_id>',
      summary: 'Deny a pending tool call',
      preset: { decision: 'deny' },
      hidden: ['arguments'],
      short: { reason: 'r' },
    },
  ],
  errors: decides,
  run: async (input, call) => decide(call.svc, await requireApproval(call.svc, input.approval_id), input, call),
  render: ({ approval_id, status, edited }) => `${approval_id}: ${status}${edited ? ', with changed arguments' : ''}`,
})

export const approvalOperations = [
  approvalsQueue,
  approvalsList,
  approvalsGet,
  approvalsShow,
  approvalsResolve,
  approvalsDecide,
]
