import { useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { ofKinds, useQuery } from '../../api/query.ts'
import { Card } from '../../ui/card.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { RowButton } from '../../ui/lists/row-button.tsx'
import { Table } from '../../ui/lists/table.tsx'
import { Empty, Loaded, Trouble } from '../../ui/states.tsx'
import { Tag } from '../../ui/status.tsx'
import { fullName } from '../../ui/text/agent-names.ts'
import { moment, plural, visible } from '../../ui/text/format.ts'
import { When } from '../../ui/time.tsx'
import type { Item } from '../../ui/types.ts'
import { Import } from '../fleet/import.tsx'
import { Changes } from './changes.tsx'
import type { ViewProps } from './view.ts'

type Kept = Item<'checkpoints.list'>

const SHOWN = 200

/** Checkpoints of an agent: create, compare and restore them, and export the agent as a file. */
export function Checkpoints({ agent: { agent_id: id, name, status }, reload }: ViewProps) {
  const query = useQuery(`checkpoints ${id}`, {
    ask: () => api.checkpoints.list({ id, limit: SHOWN }),
    on: ofKinds('checkpoint_'),
  })
  const [from, setFrom] = useState('')
  const [to, setTo] = useState('')
  const [restoring, setRestoring] = useState<Kept | undefined>(undefined)
  const [deleting, setDeleting] = useState<Kept | undefined>(undefined)
  return (
    <div class="stack">
      <Take id={id} name={name} onTaken={query.reload} />
      <Loaded query={query}>
        {all =>
          all.length === 0 ? (
            <Empty title="No checkpoints yet.">The daemon creates one when it stops. Create one now above.</Empty>
          ) : (
            <>
              <List all={all} canRestore={status !== 'dead'} onRestore={setRestoring} onDelete={setDeleting} />
              <Card title="Changes">
                <div class="stack">
                  <Compare all={all} from={from} to={to} onFrom={setFrom} onTo={setTo} />
                  <Changes id={id} from={findKnown(all, from) ?? all[0]!.checkpoint_id} to={findKnown(all, to)} />
                </div>
              </Card>
            </>
          )
        }
      </Loaded>
      {restoring && (
        <Restore
          id={id}
          name={name}
          kept={restoring}
          onDone={() => Promise.all([query.reload(), reload()])}
          onClose={() => setRestoring(undefined)}
        />
      )}
      {deleting && <Delete id={id} kept={deleting} onDone={query.reload} onClose={() => setDeleting(undefined)} />}
    </div>
  )
}

const findKnown = (all: readonly Kept[], id: string) => all.find(each => each.checkpoint_id === id)?.checkpoint_id

function Take({ id, name, onTaken }: { id: string; name: string; onTaken: () => Promise<void> }) {
  const take = useAction(async (form: HTMLFormElement) => {
    await api.checkpoints.take({ id, label: String(new FormData(form).get('label')) })
    form.reset()
    await onTaken()
  }, 'Checkpoint created.')
  const download = useAction(async () => save(`${name}.svcagent`, await api.bundles.export({ id })))
  return (
    <Card
      title="Create checkpoint"
      aside={
        <>
          <button type="button" disabled={download.running} onClick={() => void download.run()}>
            Download the agent
          </button>
          <Import />
        </>
      }
    >
      <form
        class="row ask"
        onSubmit={event => {
          event.preventDefault()
          void take.run(event.currentTarget)
        }}
      >
        <input name="label" aria-label="Label" maxLength={200} placeholder="Label" />
        <button type="submit" class="primary" disabled={take.running}>
          Create
        </button>
      </form>
      <Trouble fault={take.fault ?? download.fault} />
      <p class="hint apart">
        The file contains the agent’s goals, memory and settings. Import it in this or another project with{' '}
        <code>svc agent import {visible(name)}.svcagent</code>
      </p>
    </Card>
  )
}

/** Saves content as a file for the reader. The request needs the key, so a plain link would fail. */
function save(file: string, content: unknown): void {
  const text = typeof content === 'string' ? content : JSON.stringify(content)
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }))
  link.download = file.replace(/[^\w.-]+/g, '-')
  link.click()
  // The download has started by then.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}

interface ListProps {
  all: readonly Kept[]
  canRestore: boolean
  onRestore: (kept: Kept) => void
  onDelete: (kept: Kept) => void
}

/** Returns the label of a checkpoint, or its id if it has none. */
const nameOf = ({ label, checkpoint_id }: Kept) => label || checkpoint_id

function List({ all, canRestore, onRestore, onDelete }: ListProps) {
  return (
    <Card title={plural(all.length, 'checkpoint')}>
      <Table
        caption="Checkpoints"
        rows={all}
        keyOf={({ checkpoint_id }) => checkpoint_id}
        columns={[
          {
            name: 'Label',
            kind: 'grow',
            cell: ({ label, origin, checkpoint_id }) => (
              <>
                <span class="clamp">{visible(label) || 'No label'}</span>
                <small>
                  <code>{checkpoint_id}</code> {origin === 'automatic' && <Tag>automatic</Tag>}
                </small>
              </>
            ),
          },
          {
            name: 'Content',
            wide: true,
            cell: ({ parts }) => <span class="clamp">{visible(parts.join(', ') || 'nothing')}</span>,
          },
          { name: 'Size', kind: 'number', wide: true, cell: ({ bytes }) => `${(bytes / 1024).toFixed(1)} KB` },
          { name: 'Created', kind: 'narrow', cell: ({ created_at }) => <When at={created_at} /> },
          {
            name: 'Action',
            kind: 'narrow',
            cell: kept => (
              <div class="row actions">
                <RowButton of={nameOf(kept)} disabled={!canRestore} onClick={() => onRestore(kept)}>
                  Restore…
                </RowButton>
                <RowButton of={nameOf(kept)} danger onClick={() => onDelete(kept)}>
                  Delete…
                </RowButton>
              </div>
            ),
          },
        ]}
      />
    </Card>
  )
}

interface CompareProps {
  all: readonly Kept[]
  from: string
  to: string
  onFrom: (id: string) => void
  onTo: (id: string) => void
}

function Compare({ all, from, to, onFrom, onTo }: CompareProps) {
  const options = all.map(kept => (
    <option key={kept.checkpoint_id} value={kept.checkpoint_id}>
      {visible(`${moment(kept.created_at)} · ${nameOf(kept)}`.slice(0, 80))}
    </option>
  ))
  return (
    <div class="fields">
      <label>
        From
        <select
          value={findKnown(all, from) ?? all[0]!.checkpoint_id}
          onChange={event => onFrom(event.currentTarget.value)}
        >
          {options}
        </select>
      </label>
      <label>
        To
        <select value={findKnown(all, to) ?? ''} onChange={event => onTo(event.currentTarget.value)}>
          <option value="">now</option>
          {options}
        </select>
      </label>
    </div>
  )
}

interface RestoreProps {
  id: string
  name: string
  kept: Kept
  onDone: () => Promise<unknown>
  onClose: () => void
}

function Restore({ id, name, kept, onDone, onClose }: RestoreProps) {
  const { checkpoint_id, created_at } = kept
  const restore = useAction(async () => {
    await api.checkpoints.restore({ id, checkpoint_id })
    await onDone()
  }, 'Restored. The previous state was saved as a checkpoint.')
  return (
    <Confirm title={`Restore ${fullName({ agent_id: id, name })}?`} label="Restore" action={restore} onClose={onClose}>
      <p>
        This restores “{visible(nameOf(kept))}”, created <When at={created_at} />: the agent’s goals, persona and
        everything else in the checkpoint. Work in progress stops. The current state is saved as a checkpoint first.
      </p>
      <Changes id={id} from={checkpoint_id} isBack />
    </Confirm>
  )
}

function Delete({ id, kept, onDone, onClose }: Omit<RestoreProps, 'name'>) {
  const remove = useAction(async () => {
    await api.checkpoints.delete({ id, checkpoint_id: kept.checkpoint_id })
    await onDone()
  }, 'Checkpoint deleted.')
  return (
    <Confirm title="Delete this checkpoint?" label="Delete" action={remove} onClose={onClose}>
      <p>
        “{visible(nameOf(kept))}”, created <When at={kept.created_at} />, is permanently deleted. The agent stays as it
        is.
      </p>
    </Confirm>
  )
}
