import { AgentNotFoundError, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { defineError, operation, type PluginHandle, z } from '#kernel'
import { callerName } from '#lib/caller-name'
import { idSchema } from '#lib/id-schema'
import { Instant, Store } from '#platform/store/contract'
import { ApprovalSettings } from '../config.ts'
import {
  AgentCannotDecideError,
  ApprovalRule,
  ArgumentMatches,
  ArgumentPattern,
  RuleNotFoundError,
} from '../contract.ts'
import { refuseAgents, release, settle } from '../decisions.ts'
import { renderRules, ruleLine, shownRule } from '../view.ts'
import { findRule, insertRule, listRules, revokeRule } from './repository.ts'

const EndlessRuleError = defineError({
  code: 'endless_rule',
  status: 422,
  exit: 2,
  title: 'Rule without an end',
  message: () => 'Give the rule an end: a time in the future (until), a number of uses (uses), or both.',
})

const isPattern = (value: unknown) =>
  typeof value !== 'object' ||
  value === null ||
  !('glob' in value || 'any' in value) ||
  ArgumentPattern.safeParse(value).success

const Grant = z.strictObject({
  tool_name: z
    .string()
    .min(1)
    .max(64)
    .meta({ examples: ['file_write'] })
    .describe('Tool whose calls the rule approves'),
  agent: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe('Id or name of the agent that the rule applies to; all agents by default'),
  arguments: ArgumentMatches.refine(each => Object.values(each).every(isPattern), {
    error: 'a pattern is {"glob": "text with * or **"} or {"any": true}',
  })
    .nullish()
    .describe(
      'For each argument an exact value, {"glob": "drafts/*"} or {"any": true}; any arguments by default. In a shell command, a * stands for no ; & | < > ` $( or line break, so that a rule grants one command',
    ),
  until: Instant.optional().describe('Time at which the rule ends, such as 2026-01-31T18:00:00Z'),
  uses: z
    .int()
    .min(1)
    .max(1_000_000)
    .optional()
    .meta({ examples: [5] })
    .describe('Maximum number of calls that the rule approves'),
  reason: z.string().max(2000).optional().describe('Reason for the rule, kept for the record'),
})

const now = (svc: PluginHandle) => svc.clock.ms()

export const approvalsRules = operation({
  name: 'approvals.rules',
  summary: 'List approval rules',
  description: 'A call that matches a rule runs without waiting for approval.',
  input: z.object({ all: z.boolean().default(false).describe('Include rules that are used up, expired or revoked') }),
  output: z.array(ApprovalRule),
  http: { method: 'GET', path: '/approval-rules' },
  cli: { usage: 'approvals rules', short: { all: 'a' } },
  mcp: true,
  run: async ({ all }, { svc }) => (await listRules(svc.use(Store), now(svc), all)).map(shownRule),
  render: renderRules,
})

export const approvalsGrant = operation({
  name: 'approvals.grant',
  summary: 'Add an approval rule',
  description:
    'Matching calls of a tool run without waiting for approval, until a time or for a number of uses. The rule also approves matching calls that already wait, oldest first.',
  input: Grant,
  output: ApprovalRule.extend({
    approved: z.array(z.string()).describe('Waiting approvals that the rule has decided'),
    waiting: z
      .array(z.object({ approval_id: z.string(), reason: z.string() }))
      .describe('Approvals of the tool that still wait, and which argument does not match the rule'),
  }),
  http: {
    method: 'POST',
    path: '/approval-rules',
    status: 201,
    idempotent: true,
    location: ({ rule_id }: ApprovalRule) => `/approval-rules/${rule_id}`,
  },
  cli: { usage: 'approvals grant <tool_name>', example: 'approvals grant file_write --uses 5' },
  errors: [AgentNotFoundError, AmbiguousAgentError, AgentCannotDecideError, EndlessRuleError],
  async run({ tool_name, agent, arguments: args, until, uses, reason }, call) {
    const { svc } = call
    const ends = until === undefined ? null : Date.parse(until)
    if (ends === null ? uses === undefined : ends <= now(svc)) throw new EndlessRuleError()
    const created_by = callerName(call)
    await refuseAgents(svc, created_by)
    const agent_id = agent === undefined ? null : (await svc.use(Agents).find(agent)).agent_id
    const rule_id = svc.ports.ids.make('rule', 8)
    const text = args ? JSON.stringify(args) : null
    const rule = { rule_id, agent_id, tool_name, created_by, arguments: text }
    const granting = insertRule({ ...rule, until: ends, uses: uses ?? null, reason: reason ?? null })
    await svc.use(Store).apply([granting, ...(call.effects ?? [])])
    const findGranted = () => findRule(svc.use(Store), now(svc), rule_id)
    // Requests that have timed out are denied, even if a rule would now approve them.
    await settle(svc, svc.use(ApprovalSettings))
    const released = await release(svc, (await findGranted())!)
    return { ...shownRule((await findGranted())!), ...released }
  },
  render: ({ approved, waiting, ...rule }) =>
    [
      ruleLine(rule),
      ...approved.map(id => `  approved ${id}`),
      ...waiting.map(({ approval_id, reason }) => `  ${approval_id} still waits: ${reason}`),
    ].join('\n'),
})

export const approvalsRule = operation({
  name: 'approvals.rule',
  summary: 'Show an approval rule',
  description: 'Includes its conditions, its limit and the number of times it was used.',
  input: z.object({
    rule_id: idSchema("A rule's id", 'rule-1a2b3c4d'),
  }),
  output: ApprovalRule,
  http: { method: 'GET', path: '/approval-rules/{rule_id}' },
  errors: [RuleNotFoundError],
  async run({ rule_id }, { svc }) {
    const row = await findRule(svc.use(Store), now(svc), rule_id)
    if (!row) throw new RuleNotFoundError({ rule_id })
    return shownRule(row)
  },
  render: ruleLine,
})

export const approvalsRevoke = operation({
  name: 'approvals.revoke',
  summary: 'Revoke an approval rule',
  description: 'Matching calls wait for approval again from now on.',
  input: z.object({
    rule_id: idSchema("A rule's id", 'rule-1a2b3c4d'),
  }),
  output: z.null(),
  http: { method: 'DELETE', path: '/approval-rules/{rule_id}', status: 204 },
  cli: { usage: 'approvals revoke <rule_id>' },
  errors: [RuleNotFoundError, AgentCannotDecideError],
  async run({ rule_id }, call) {
    const { svc } = call
    const revoked_by = callerName(call)
    await refuseAgents(svc, revoked_by)
    if (!(await svc.use(Store).apply([revokeRule({ rule_id, revoked_by })]))) throw new RuleNotFoundError({ rule_id })
    return null
  },
  render: () => 'revoked',
})

export const ruleOperations = [approvalsRules, approvalsGrant, approvalsRule, approvalsRevoke]
