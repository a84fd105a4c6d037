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
  description:
    'Compares the branch with the commit that it started from, and includes changes that are not committed yet.',
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
    'Commits the remaining changes and merges the branch into the one that is checked out, without hooks. On a conflict nothing is merged, and the branch is created for a manual merge.',
  input: WhichChanges.extend({
    branch: z.boolean().default(false).describe('Only create the branch in your repository, without merging it'),
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
  description:
    'Resets the worktree to the current state of your repository. Branches that were created in your repository are kept.',
  input: WhichChanges,
  output: z.object({ agent_id: z.string(), branch: z.string(), base: z.string() }),
  http: { method: 'POST', path: '/agents/{id}/diff/discard' },
  cli: { usage: 'changes discard <id>', short: { goal: 'g' } },
  mcp: true,
  errors: [...FOUND, FolderError],
  run: ({ id, goal }, { svc }) => discard(svc, id, goal),
  render: ({ agent_id, branch, base }) => `${agent_id}: ${branch} was reset to ${base.slice(0, 12)}`,
})

export const worktreeOperations = [worktreesDiff, worktreesAccept, worktreesDiscard]
