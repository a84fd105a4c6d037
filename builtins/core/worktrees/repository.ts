import { WorktreePer } from '#core/agents/contract'
import { z } from '#kernel'
import { defineEffect, insertInto, type Store } from '#platform/store/contract'

const Branch = z.object({
  agent_id: z.string(),
  branch: z.string(),
  goal_id: z.string().nullable(),
  /** Top folder of the operator's repository. */
  repository: z.string(),
  base: z.string(),
  per: WorktreePer,
})
/** A branch of an agent's worktree. */
export type Branch = z.infer<typeof Branch>

/** Returns the branches of an agent, the checked-out one first. */
export function branchesOf(store: Store, agent_id: string): Promise<Branch[]> {
  return store.all<Branch>(
    `SELECT agent_id, branch, goal_id, repository, base, per FROM worktree_branches WHERE agent_id = ?
     ORDER BY entered_at DESC, branch`,
    [agent_id],
  )
}

/** Records that a branch was checked out, with its base. */
export const enterBranch = defineEffect({
  name: 'worktrees.enter',
  schema: Branch,
  statements: ({ agent_id, branch, goal_id, repository, base, per }, now) =>
    insertInto(
      'worktree_branches',
      { agent_id, branch, goal_id, repository, base, per, entered_at: now },
      'ON CONFLICT (agent_id, branch) DO UPDATE SET entered_at = excluded.entered_at',
    ),
})

/** Moves the base of a branch after earlier changes were accepted or discarded. */
export const moveBase = defineEffect({
  name: 'worktrees.move_base',
  schema: Branch.pick({ agent_id: true, branch: true, base: true }),
  statements: ({ agent_id, branch, base }) => ({
    sql: 'UPDATE worktree_branches SET base = ? WHERE agent_id = ? AND branch = ?',
    params: [base, agent_id, branch],
  }),
})

/** Removes the record of a branch that was accepted or discarded. */
export const forgetBranch = defineEffect({
  name: 'worktrees.forget',
  schema: Branch.pick({ agent_id: true, branch: true }),
  statements: ({ agent_id, branch }) => ({
    sql: 'DELETE FROM worktree_branches WHERE agent_id = ? AND branch = ?',
    params: [agent_id, branch],
  }),
})
