import { useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { ofAgent, type Query, useQuery } from '../../api/query.ts'
import { to } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { Empty, Loaded, Trouble } from '../../ui/states.tsx'
import { ChangedFiles } from '../../ui/text/changed-files.tsx'
import { Patch } from '../../ui/text/diff.tsx'
import { plural, visible } from '../../ui/text/format.ts'
import type { Answer } from '../../ui/types.ts'
import type { ViewProps } from './view.ts'

type Changed = Answer<'worktrees.diff'>

/** Changes in the agent's git worktree, to review, merge into the operator's repository, or discard. */
export function Worktree({ agent: { agent_id: id }, place }: ViewProps) {
  const goal = place.parts[2]
  const input = goal ? { id, goal } : { id }
  const query = useQuery(`worktree ${id} ${goal ?? ''}`, { ask: () => api.worktrees.diff(input), on: ofAgent(id) })
  return (
    <Loaded query={query}>
      {changes => (
        <div class="stack">
          <Card title="Changes" aside={<code>{visible(changes.branch)}</code>}>
            <Review changes={changes} input={input} reload={query.reload} />
          </Card>
          {changes.patch !== '' && <Patch patch={changes.patch} label="Changes line by line" />}
          {changes.truncated && <p class="hint">The patch is cut off here. The worktree has all changes.</p>}
        </div>
      )}
    </Loaded>
  )
}

interface ReviewProps {
  changes: Changed
  input: { id: string; goal?: string }
  reload: Query<Changed>['reload']
}

function Review({ changes, input, reload }: ReviewProps) {
  const { files, commits, repository, uncommitted, others, agent_id } = changes
  const accept = useAction(async (branch: boolean) => {
    await api.worktrees.accept({ ...input, branch })
    await reload()
  }, 'Changes accepted.')
  const [isDiscarding, setDiscarding] = useState(false)
  return (
    <div class="stack">
      {files.length === 0 ? <Empty title="Nothing has changed." /> : <ChangedFiles files={files} />}
      {commits.length > 0 && (
        <p class="soft">
          {plural(commits.length, 'commit')}: {visible(commits.map(each => each.subject).join('; '))}
        </p>
      )}
      {uncommitted && <p class="hint">Some changes are not committed. Accepting the changes commits them.</p>}
      <Trouble fault={accept.fault} />
      {files.length > 0 && (
        <div class="row">
          <button type="button" class="primary" disabled={accept.running} onClick={() => void accept.run(false)}>
            Merge into {visible(repository)}
          </button>
          <button type="button" disabled={accept.running} onClick={() => void accept.run(true)}>
            Create a branch
          </button>
          <button type="button" class="quiet" disabled={accept.running} onClick={() => setDiscarding(true)}>
            Discard…
          </button>
        </div>
      )}
      {isDiscarding && <Discard input={input} reload={reload} onClose={() => setDiscarding(false)} />}
      {others.length > 0 && (
        <p class="soft">
          Further branches:{' '}
          {others.map(({ branch, goal_id }) => (
            <a key={branch} href={to('agents', [agent_id, 'worktree', ...(goal_id ? [goal_id] : [])])}>
              {visible(branch)}
            </a>
          ))}
        </p>
      )}
    </div>
  )
}

function Discard({ input, reload, onClose }: Omit<ReviewProps, 'changes'> & { onClose: () => void }) {
  const discard = useAction(async () => {
    await api.worktrees.discard(input)
    await reload()
  }, 'Changes discarded.')
  return (
    <Confirm title="Discard all changes?" label="Discard" action={discard} onClose={onClose}>
      <p>The worktree is reset to what is checked out in your repository, and its changes are lost.</p>
    </Confirm>
  )
}
