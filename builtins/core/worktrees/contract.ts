import { AgentRef } from '#core/agents/contract'
import { defineError, z } from '#kernel'
import { ChangedFile } from '#lib/changed-files'

/** Changes of an agent on one branch of its worktree. */
export const AgentChanges = z
  .object({
    agent_id: z.string().meta({ examples: ['coder-1a2b3c4d'] }),
    repository: z.string().meta({ examples: ['/home/ada/project'] }),
    branch: z.string().meta({ examples: ['svc/coder-1a2b3c4d'] }),
    goal_id: z.string().nullable().describe('Goal of the branch; null if the branch is for all work'),
    base: z.string().describe('Commit of the repository that the changes are compared with'),
    files: z.array(ChangedFile),
    commits: z
      .array(z.object({ commit: z.string(), subject: z.string() }))
      .describe('Commits, newest first, at most 50'),
    uncommitted: z.boolean().describe('Whether some changes are not committed yet; accepting commits them'),
    patch: z.string().describe('Patch with the changes line by line, as git prints it'),
    truncated: z.boolean().describe('Whether the end of `patch` was cut off'),
    others: z
      .array(z.object({ branch: z.string(), goal_id: z.string().nullable() }))
      .describe('Further branches of the agent that are neither accepted nor discarded'),
  })
  .meta({ id: 'AgentChanges' })
export type AgentChanges = z.infer<typeof AgentChanges>

export const Accepted = z.object({
  agent_id: z.string(),
  repository: z.string(),
  branch: z.string(),
  commit: z.string().describe('The newest commit of the changes'),
  merged: z.boolean().describe('Whether the changes were merged; if not, the branch was created for you to merge'),
})
export type Accepted = z.infer<typeof Accepted>

export const ChangesKept = z
  .object({ agent_id: z.string(), repository: z.string(), branch: z.string() })
  .describe('Changes of a deleted agent that were not accepted were kept as a branch of the repository')

export const WhichChanges = z.object({
  id: AgentRef,
  goal: z
    .string()
    .max(128)
    .optional()
    .meta({ examples: ['goal-1a2b3c4d5e6f'] })
    .describe('Goal whose branch to use (default: the current branch)'),
})

declare module '#kernel' {
  interface Events {
    changes_kept: z.infer<typeof ChangesKept>
  }
}

/** The agent has no git worktree, or no branch for the goal; list its branches with: svc diff <agent> */
export const NoWorktreeError = defineError({
  code: 'no_worktree',
  status: 409,
  title: 'No worktree',
  message: (p: { agent_id: string; goal?: string | undefined }) =>
    p.goal
      ? `${p.agent_id} has no branch for the goal ${p.goal}; list its branches with: svc diff ${p.agent_id}`
      : `${p.agent_id} has no git worktree. What its goals changed in your folders: svc changes list ${p.agent_id}`,
})
export const NoChangesError = defineError({
  code: 'no_changes',
  status: 409,
  title: 'No changes',
  message: (p: { agent_id: string; branch: string }) => `${p.agent_id} changed nothing on ${p.branch}.`,
})
export const DirtyRepositoryError = defineError({
  code: 'dirty_repository',
  status: 409,
  title: 'Uncommitted changes',
  message: (p: { repository: string; files: string[]; branch: string }) =>
    `Nothing was merged: ${p.repository} has uncommitted changes (${joinNames(p.files)}). The branch ${p.branch} was created there. Commit or stash the changes and try again, or merge the branch yourself.`,
})
export const BranchExistsError = defineError({
  code: 'branch_exists',
  status: 409,
  title: 'Branch exists',
  message: (p: { repository: string; branch: string }) =>
    `${p.repository} already has a branch ${p.branch} that has other commits or is checked out. Rename or delete it and try again: git branch -m ${p.branch} <new name>`,
})
export const MergeConflictError = defineError({
  code: 'merge_conflict',
  status: 409,
  title: 'Merge conflict',
  message: (p: { repository: string; branch: string; files: string[]; head: string }) =>
    `Nothing was merged: ${p.branch} conflicts with ${p.repository} in ${joinNames(p.files)}. The branch was created there: merge it yourself, or nudge the agent to merge commit ${p.head} into its work.`,
})
export const UnsafeRepositoryError = defineError({
  code: 'unsafe_repository',
  status: 409,
  title: 'Unsafe repository',
  message: (p: { repository: string; problem: string }) =>
    `git was not run in ${p.repository}: without a sandbox, ${p.problem} could run programs with your rights. Install bubblewrap, or run git yourself.`,
})
export const GitFailedError = defineError({
  code: 'git_failed',
  status: 409,
  title: 'git failed',
  message: (p: { command: string; folder: string; problem: string }) =>
    `git ${p.command} failed in ${p.folder}: ${p.problem.replace(/[.\s]*$/, '')}.`,
})

const LISTED = 5

function joinNames(files: readonly string[]): string {
  const more = files.length - LISTED
  return files.slice(0, LISTED).join(', ') + (more > 0 ? ` and ${more} more` : '')
}
