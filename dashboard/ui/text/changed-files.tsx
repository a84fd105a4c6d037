import { Tag } from '../status.tsx'
import type { Answer } from '../types.ts'
import { visible } from './format.ts'

const KINDS = { added: 'good', changed: 'warn', removed: 'bad' } as const

/** Changed files, each with the number of lines added and removed. */
export function ChangedFiles({ files }: { files: Answer<'worktrees.diff'>['files'] }) {
  return (
    <ul class="plain list">
      {files.map(({ path, status, added, removed }) => (
        <li key={path}>
          <Tag kind={KINDS[status]}>{status}</Tag>
          <code>{visible(path)}</code>
          <small>{added === null ? 'binary' : `+${added} −${removed}`}</small>
        </li>
      ))}
    </ul>
  )
}
