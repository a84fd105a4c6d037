import { FINISH_GOAL } from '#core/runtime/contract'
import { z } from '#kernel'
import { AMONG, defineEffect, jsonList, type Store } from '#platform/store/contract'
import { Acceptance, AcceptanceCheck, type Goal } from '../contract.ts'

const Checks = z.array(AcceptanceCheck)

/** Parses a goal's column `acceptance`. */
export function readAcceptance(column: string | null): AcceptanceCheck[] {
  return column === null ? [] : Checks.parse(JSON.parse(column))
}

/** Returns whether the agent chose the goal itself, so that its criteria are the agent's. */
export function isOwn({ origin }: Pick<Goal, 'origin'>): boolean {
  return origin === 'generated' || origin === 'subgoal'
}

/** Returns the criterion of a check, without its result. */
export function termOf({ met: _, problem: __, ...term }: AcceptanceCheck): Acceptance {
  return Acceptance.parse(term)
}

/** Returns criteria as unchecked. */
export function uncheckedTerms(acceptance: readonly Acceptance[]): AcceptanceCheck[] {
  return acceptance.map(each => ({ ...each, met: null, problem: null }))
}

/** Replaces the criteria of an active goal. */
export const replaceAcceptance = defineEffect({
  name: 'goals.replace_acceptance',
  mustChange: true,
  schema: z.object({ goal_id: z.string(), acceptance: Checks }),
  statements: ({ goal_id, acceptance }) => ({
    sql: "UPDATE goals SET acceptance = ? WHERE goal_id = ? AND status = 'active'",
    params: [acceptance.length > 0 ? JSON.stringify(acceptance) : null, goal_id],
  }),
})

/**
 * Sets the criteria of a goal, or their results; `refused` counts towards the limit. Results of criteria that were
 * replaced since they were read (`checked`) are dropped.
 */
export const setAcceptance = defineEffect({
  name: 'goals.set_acceptance',
  schema: z.object({
    goal_id: z.string(),
    acceptance: Checks,
    refused: z.boolean(),
    checked: z.string().optional().describe('The column as it was when the criteria were read'),
  }),
  statements: ({ goal_id, acceptance, refused, checked }) => ({
    sql: `UPDATE goals SET acceptance = ?, refusals = refusals + ? WHERE goal_id = ? AND status = 'active'
        ${checked === undefined ? '' : 'AND acceptance = ?'}`,
    params: [JSON.stringify(acceptance), refused ? 1 : 0, goal_id, ...(checked === undefined ? [] : [checked])],
  }),
})

/** Records that evidence was missing; later claims of this kind are not refused for that. */
export const claimsRefused = defineEffect({
  name: 'goals.claims_refused',
  schema: z.object({ goal_id: z.string(), as: z.int() }),
  statements: ({ goal_id, as }) => ({
    sql: 'UPDATE goals SET claims_refused = ? WHERE goal_id = ?',
    params: [as, goal_id],
  }),
})

export const ACCEPTANCE_EFFECTS = [replaceAcceptance, setAcceptance, claimsRefused]

/** Returns whether a call of a goal succeeded whose arguments contain a text. */
export async function hasSucceeded(store: Store, goal_id: string, about: string): Promise<boolean> {
  const row = await store.get(
    `SELECT 1 AS found FROM tool_calls_view WHERE goal_id = ? AND state = 'done' AND is_error = 0
     AND tool <> '${FINISH_GOAL}' AND arguments LIKE ? LIMIT 1`,
    [goal_id, `%${about}%`],
  )
  return row !== undefined
}

/** A call that ran a command or a script, or of a named tool: its arguments as JSON, and its result as the agent read it. */
export interface CommandRun {
  tool: string
  arguments: string
  outcome: string | null
}

/** Returns a goal's calls that ran a command or a script, and those of the named tools, newest first. */
export function commandRuns(store: Store, goal_id: string, tools: readonly string[]): Promise<CommandRun[]> {
  return store.all<CommandRun>(
    `SELECT tool, arguments, outcome FROM tool_calls_view WHERE goal_id = ? AND state = 'done'
     AND (arguments LIKE '%"command"%' OR arguments LIKE '%"script"%' OR tool ${AMONG}) ORDER BY started_at DESC, call_id DESC`,
    [goal_id, jsonList(tools)],
  )
}
