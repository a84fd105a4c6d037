import { changedLines } from '#lib/changed-files'
import { pluralize } from '#lib/pluralize'
import type { Accepted, AgentChanges } from './contract.ts'

/** Renders the changed files, the commits, and then the patch. */
export function renderChanges(changes: AgentChanges): string {
  const { agent_id, repository, branch, base, files, commits, uncommitted, patch, truncated, others } = changes
  const head = `${agent_id}: ${pluralize(files.length, 'file')} changed on ${branch}, since ${base.slice(0, 12)} of ${repository}`
  const notes = [
    ...commits.map(({ commit, subject }) => `  ${commit} ${subject}`),
    ...(uncommitted ? ['  Some changes are not committed; accepting commits them.'] : []),
    ...others.map(other => `  Other branch: ${other.branch}${other.goal_id ? ` (--goal ${other.goal_id})` : ''}`),
  ]
  const next = `Next: svc changes accept ${agent_id}, or svc changes discard ${agent_id}`
  return [
    [head, ...changedLines(files), ...notes].join('\n'),
    ...(patch === '' ? [] : [patch.trimEnd() + (truncated ? '\n[The rest is left out.]' : ''), next]),
  ].join('\n\n')
}

export function renderAccepted({ agent_id, repository, branch, commit, merged }: Accepted): string {
  const short = commit.slice(0, 12)
  if (merged) return `${agent_id}: merged ${short} into ${repository}`
  return `${agent_id}: branch ${branch} of ${repository} is at ${short}. Merge it: git -C ${repository} merge ${branch}`
}
