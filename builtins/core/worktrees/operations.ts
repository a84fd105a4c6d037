import { AgentNotFoundError, AmbiguousAgentError } from '#core/agents/contract'
import { operation, z } from '#kernel'
import { FolderError } from '#safety/sandbox/contract'
import {
  Accepted,
  AgentChanges,
  BranchExistsError,
  DirtyRepositoryError,
  GitFailedError,
  MergeConflictError,
  NoChangesError,
  NoWorktreeError,
  UnsafeRepositoryError,
  WhichChanges,
} from './contract.ts'
import { renderAccepted, renderChanges } from './render.ts'
import { accept, changesOf, discard } from './review.ts'

const FOUND = [AgentNotFoundError, AmbiguousAgentError, NoWorktreeError, GitFailedError, UnsafeRepositoryError] as const

export const worktreesDiff = operation({
  name: 'worktrees.diff',
  summary: 'Show what an agent changed in its git worktree',
  description: 'Compared with the commit that it began from, with what it has not committed yet.',
  input: WhichChanges,
  output: AgentChanges,
  http: { method: 'GET', path: '/agents/{id}/diff' },
  cli: { usage: 'diff <id>', short: { goal: 'g' } },
  mcp: true,
  errors: FOUND,
  run: ({ id, goal }, { svc }) => changesOf(svc, id, goal),
  render: renderChanges,
})

export const worktreesAccept = operation({
  name: 'worktrees.accept',
  summary: "Merge an agent's changes into your repository",
  description:
    'Commits what is left and merges it into what is checked out, without hooks. On a conflict nothing is merged, and the branch is there to merge by hand.',
  input: WhichChanges.extend({
    branch: z.boolean().default(false).describe('Only make the branch in your repository; you merge it yourself'),
  }),
  output: Accepted,
  http: { method: 'POST', path: '/agents/{id}/diff/accept' },
  cli: { usage: 'changes accept <id>', short: { goal: 'g', branch: 'b' } },
  mcp: true,
  errors: [...FOUND, NoChangesError, DirtyRepositoryError, BranchExistsError, MergeConflictError, FolderError],
  run: ({ id, goal, branch }, { svc }) => accept(svc, id, goal, branch),
  render: renderAccepted,
})

export const worktreesDiscard = operation({
  name: 'worktrees.discard',
  summary: "Discard an agent's changes",
  description: 'Its worktree is as your repository is now. Branches that were made in your repository stay.',
  input: WhichChanges,
  output: z.object({ agent_id: z.string(), branch: z.string(), base: z.string() }),
  http: { method: 'POST', path: '/agents/{id}/diff/discard' },
  cli: { usage: 'changes discard <id>', short: { goal: 'g' } },
  mcp: true,
  errors: [...FOUND, FolderError],
  run: ({ id, goal }, { svc }) => discard(svc, id, goal),
  render: ({ agent_id, branch, base }) => `${agent_id}: ${branch} is at ${base.slice(0, 12)} again`,
})

export const worktreeOperations = [worktreesDiff, worktreesAccept, worktreesDiscard]
