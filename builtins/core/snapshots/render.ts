import { brief } from '#lib/brief'
import { changedLines } from '#lib/changed-files'
import { columns } from '#lib/columns'
import { pluralize } from '#lib/pluralize'
import type { ChangesUndone, FolderChange, FolderChangeDetail } from './contract.ts'

/** Renders an agent's changes, a line each. */
export function renderChanges(changes: readonly FolderChange[]): string {
  const rows = changes.map(change => [
    change.change_id,
    `${change.began_at.slice(0, 16).replace('T', ' ')} UTC`,
    stateOf(change),
    change.folder,
    brief(change.subject, 60),
  ])
  return columns(rows).join('\n') || 'no changes in folders that you gave the agent'
}

/** Renders a change: its files, its lines, and what can be done with it. */
export function renderChange(change: FolderChangeDetail): string {
  const { change_id, agent_id, folder, subject, problem, undone_at, changed, patch, truncated } = change
  const head = `${change_id}: ${stateOf(change)} in ${folder}, for: ${brief(subject)}`
  if (problem) return [head, problem].join('\n')
  const verb = undone_at === null ? 'undo' : 'redo'
  return [
    [head, ...changedLines(changed)].join('\n'),
    ...(patch === ''
      ? []
      : [
          patch.trimEnd() + (truncated ? '\n[The rest is left out.]' : ''),
          `Next: svc changes ${verb} ${agent_id} --change ${change_id}`,
        ]),
  ].join('\n\n')
}

export function renderUndone({ agent_id, change_id, folder, files, redone }: ChangesUndone): string {
  const [done, back] = redone ? ['made again', 'undo'] : ['undone', 'redo']
  return [
    `${change_id}: ${done} in ${pluralize(files.length, 'file')} of ${folder}; to take that back: svc changes ${back} ${agent_id} --change ${change_id}`,
    ...files.map(path => `  ${path}`),
  ].join('\n')
}

function stateOf({ problem, ended_at, undone_at, files }: FolderChange): string {
  if (problem !== null) return 'no snapshot'
  if (ended_at === null) return 'in progress'
  const count = pluralize(files ?? 0, 'file')
  return undone_at === null ? count : `${count}, undone`
}
