import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { ofAgent, useQuery } from '../../api/query.ts'
import { to } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { Table } from '../../ui/lists/table.tsx'
import { Empty, Loaded, Trouble } from '../../ui/states.tsx'
import { Tag } from '../../ui/status.tsx'
import { ChangedFiles } from '../../ui/text/changed-files.tsx'
import { Patch } from '../../ui/text/diff.tsx'
import { plural, visible } from '../../ui/text/format.ts'
import { When } from '../../ui/time.tsx'
import type { Answer, Item } from '../../ui/types.ts'
import type { ViewProps } from './view.ts'

type Change = Item<'snapshots.list'>

const SHOWN = 200

/** What goals and tasks changed in the operator's folders: to review line by line, undo and redo. */
export function FolderChanges({ agent: { agent_id: id }, place }: ViewProps) {
  const change = place.parts[2]
  return change ? <One id={id} change={change} /> : <All id={id} />
}

function All({ id }: { id: string }) {
  const query = useChanges(id)
  return (
    <Loaded query={query}>
      {all =>
        all.length === 0 ? (
          <Empty title="No changes yet.">
            Here you see what goals and tasks change in the folders that you gave the agent, and can undo it.
          </Empty>
        ) : (
          <Card title="Changes in your folders">
            <Table
              caption="Changes"
              rows={all}
              keyOf={({ change_id }) => change_id}
              columns={[
                {
                  name: 'Goal or task',
                  kind: 'grow',
                  cell: ({ change_id, subject, folder }) => (
                    <>
                      <a class="clamp" href={to('agents', [id, 'changes', change_id])}>
                        {visible(subject)}
                      </a>
                      <small>
                        <code>{visible(folder)}</code>
                      </small>
                    </>
                  ),
                },
                { name: 'Files', kind: 'narrow', cell: change => <State change={change} /> },
                { name: 'Began', kind: 'narrow', cell: ({ began_at }) => <When at={began_at} /> },
              ]}
            />
          </Card>
        )
      }
    </Loaded>
  )
}

/** Links to what one goal changed. */
export function ChangesOfGoal({ id, goal_id }: { id: string; goal_id: string }) {
  const own = useChanges(id).data?.filter(change => change.goal_id === goal_id) ?? []
  return (
    <>
      {own.map(({ change_id, folder, files }) => (
        <p key={change_id}>
          <a href={to('agents', [id, 'changes', change_id])}>
            {files === null ? 'Changes' : plural(files, 'changed file')} in {visible(folder)}
          </a>
        </p>
      ))}
    </>
  )
}

const useChanges = (id: string) =>
  useQuery(`folder changes ${id}`, { ask: () => api.snapshots.list({ id, limit: SHOWN }), on: endsWork(id) })

/** Selects the events after which the changes of an agent differ. */
const endsWork = (id: string) => (event: Parameters<ReturnType<typeof ofAgent>>[0]) =>
  ofAgent(id)(event) && /^(goal|task|changes)_/.test(event.type)

function State({ change: { files, ended_at, undone_at, problem } }: { change: Change }) {
  if (problem !== null) return <Tag kind="warn">no snapshot</Tag>
  if (ended_at === null) return <Tag>in progress</Tag>
  return (
    <>
      {plural(files ?? 0, 'file')} {undone_at !== null && <Tag>undone</Tag>}
    </>
  )
}

function One({ id, change }: { id: string; change: string }) {
  const query = useQuery(`folder change ${id} ${change}`, {
    ask: () => api.snapshots.show({ id, change }),
    on: endsWork(id),
  })
  return (
    <div class="stack">
      <a href={to('agents', [id, 'changes'])}>All changes</a>
      <Loaded query={query}>
        {shown => (
          <>
            <Card title="Changes" aside={<State change={{ ...shown, files: shown.changed.length }} />}>
              <Review change={shown} reload={query.reload} />
            </Card>
            {shown.patch !== '' && <Patch patch={shown.patch} label="Changes line by line" />}
            {shown.truncated && <p class="hint">The patch is cut off here.</p>}
          </>
        )}
      </Loaded>
    </div>
  )
}

interface ReviewProps {
  change: Answer<'snapshots.show'>
  reload: () => Promise<void>
}

function Review({ change, reload }: ReviewProps) {
  const { agent_id: id, change_id, subject, folder, began_at, problem, ended_at, undone_at, changed } = change
  const isUndone = undone_at !== null
  const turn = useAction(
    async () => {
      await api.snapshots[isUndone ? 'redo' : 'undo']({ id, change: change_id })
      await reload()
    },
    isUndone ? 'Changes restored.' : 'Changes undone.',
  )
  return (
    <div class="stack">
      <p>{visible(subject)}</p>
      <p class="soft">
        <code>{visible(folder)}</code>, began <When at={began_at} />
      </p>
      {problem !== null && <p class="hint">{visible(problem)}</p>}
      {problem === null && changed.length === 0 ? (
        <Empty title="Nothing has changed." />
      ) : (
        <ChangedFiles files={changed} />
      )}
      {ended_at === null && <p class="hint">The agent is still working on this. Pause it before you undo changes.</p>}
      <Trouble fault={turn.fault} />
      {changed.length > 0 && (
        <div class="row">
          <button
            type="button"
            class={isUndone ? '' : 'primary'}
            disabled={turn.running}
            onClick={() => void turn.run()}
          >
            {isUndone ? 'Redo' : 'Undo'}
          </button>
        </div>
      )}
    </div>
  )
}
