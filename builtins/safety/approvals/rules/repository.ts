import { agentNameOf } from '#core/agents/statements'
import { z } from '#kernel'
import { defineEffect, insertInto, type Store, type Stored } from '#platform/store/contract'
import type { ApprovalRule } from '../contract.ts'

export interface RuleRow
  extends Stored<Omit<ApprovalRule, 'arguments'>, 'until' | 'active' | 'created_at' | 'revoked_at'> {
  /** JSON of the argument patterns; null for any arguments. */
  arguments: string | null
}

const ACTIVE = 'revoked_at IS NULL AND (until IS NULL OR until > ?) AND (uses IS NULL OR used < uses)'
const RULE = `SELECT rule_id, agent_id, tool_name, arguments, until, uses, used, CASE WHEN ${ACTIVE} THEN 1 ELSE 0 END AS active, reason, created_at, created_by,
  revoked_at, revoked_by, ${agentNameOf('approval_rules.agent_id')} AS agent_name FROM approval_rules`

export function listRules(store: Store, now: number, all: boolean): Promise<RuleRow[]> {
  return store.all<RuleRow>(`SELECT * FROM (${RULE}) rules WHERE active = 1 OR ? = 1 ORDER BY created_at, rule_id`, [
    now,
    all,
  ])
}

export function findRule(store: Store, now: number, rule_id: string): Promise<RuleRow | undefined> {
  return store.get<RuleRow>(`${RULE} WHERE rule_id = ?`, [now, rule_id])
}

/** Returns the active rules for this agent and tool, oldest first. */
export function rulesFor(store: Store, now: number, agent_id: string, tool_name: string): Promise<RuleRow[]> {
  return store.all<RuleRow>(
    `${RULE} WHERE tool_name = ? AND (agent_id IS NULL OR agent_id = ?) AND ${ACTIVE} ORDER BY created_at, rule_id`,
    [now, tool_name, agent_id, now],
  )
}

export const insertRule = defineEffect({
  name: 'approval_rules.insert',
  schema: z.object({
    rule_id: z.string(),
    agent_id: z.string().nullable(),
    tool_name: z.string(),
    arguments: z.string().nullable(),
    until: z.int().nullable(),
    uses: z.int().nullable(),
    reason: z.string().nullable(),
    created_by: z.string(),
  }),
  statements: (row, now) => insertInto('approval_rules', { ...row, created_at: now }),
})

/** Counts one use of a rule; refused when the rule is no longer active. */
export const useRule = defineEffect({
  name: 'approval_rules.use',
  mustChange: true,
  schema: z.object({ rule_id: z.string() }),
  statements: ({ rule_id }, now) => ({
    sql: `UPDATE approval_rules SET used = used + 1 WHERE rule_id = ? AND ${ACTIVE}`,
    params: [rule_id, now],
  }),
})

export const revokeRule = defineEffect({
  name: 'approval_rules.revoke',
  mustChange: true,
  schema: z.object({ rule_id: z.string(), revoked_by: z.string() }),
  statements: ({ rule_id, revoked_by }, now) => ({
    sql: 'UPDATE approval_rules SET revoked_at = ?, revoked_by = ? WHERE rule_id = ? AND revoked_at IS NULL',
    params: [now, revoked_by, rule_id],
  }),
})

export const RULE_EFFECTS = [insertRule, useRule, revokeRule]
