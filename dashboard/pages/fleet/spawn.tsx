import { useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { never, useQuery } from '../../api/query.ts'
import { go, to } from '../../routes.ts'
import { ActionForm } from '../../ui/action-form.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Loaded } from '../../ui/states.tsx'
import { visible } from '../../ui/text/format.ts'

/** Dialog that spawns an agent from one of the project's presets. */
export function Spawn({ onSpawned }: { onSpawned: () => void }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <button type="button" class="primary" onClick={() => setOpen(true)}>
        Spawn an agent
      </button>
      {open && (
        <Dialog title="Spawn an agent" onClose={() => setOpen(false)}>
          <SpawnForm
            onSpawned={id => {
              setOpen(false)
              onSpawned()
              go(to('agents', [id]))
            }}
          />
        </Dialog>
      )}
    </>
  )
}

/** The fields come after the dialog has opened, so it cannot set the focus by itself. */
const focus = (field: HTMLElement | null) => field?.focus()

function SpawnForm({ onSpawned }: { onSpawned: (agent_id: string) => void }) {
  const profiles = useQuery('profiles', { ask: () => api.profiles.list(), on: never })
  const spawn = useAction(async (wanted: Parameters<typeof api.agents.spawn>[0]) => {
    const { agent_id } = await api.agents.spawn(wanted)
    onSpawned(agent_id)
  }, 'Spawned.')
  const submit = (element: HTMLFormElement) => {
    const form = new FormData(element)
    const textOf = (name: string) => String(form.get(name)).trim()
    const [name, model, goal] = [textOf('name'), textOf('model'), textOf('goal')]
    const [workspace, worktree] = [textOf('workspace'), form.get('worktree')]
    const folders = textOf('folders')
      .split('\n')
      .flatMap(line => line.trim() || [])
    void spawn.run({
      preset: textOf('preset'),
      ...(name ? { name } : {}),
      ...(model ? { model } : {}),
      ...(goal ? { goal } : {}),
      ...(workspace ? { workspace } : {}),
      ...(folders.length > 0 ? { folders } : {}),
      ...(worktree === 'agent' || worktree === 'goal' ? { worktree } : {}),
    })
  }
  return (
    <Loaded query={profiles}>
      {found => (
        <ActionForm action={spawn} submit="Spawn" onSubmit={submit}>
          <label>
            Preset
            <select name="preset" required ref={focus}>
              {found.map(({ name, profile, error }) => (
                <option key={name} value={name} disabled={Boolean(error)}>
                  {visible(`${name}: ${error ?? profile?.role ?? ''}`.slice(0, 120))}
                </option>
              ))}
            </select>
          </label>
          <label>
            Name
            <input name="name" maxLength={64} placeholder="name of the preset" />
          </label>
          <label>
            First goal
            <textarea name="goal" rows={2} maxLength={4000} placeholder="a goal that it chooses" />
          </label>
          <label>
            Model
            <input
              name="model"
              placeholder="model of the preset, or the default"
              pattern="\S*"
              title="Without spaces"
            />
          </label>
          <label>
            Workspace
            <input name="workspace" placeholder="its own folder, or /home/ada/project" />
            <span class="hint">The agent reads and writes this folder. Add :ro for read-only access.</span>
          </label>
          <label>
            Git worktree
            <select name="worktree">
              <option value="">default of the preset</option>
              <option value="agent">one branch for all work</option>
              <option value="goal">one branch per goal</option>
            </select>
            <span class="hint">
              The agent changes a copy on a branch, which you review and merge. The workspace must be a git repository.
            </span>
          </label>
          <label>
            Further folders
            <textarea name="folders" rows={2} placeholder="/home/ada/papers" />
            <span class="hint">One per line, read-only. Add :rw for read-write access.</span>
          </label>
        </ActionForm>
      )}
    </Loaded>
  )
}
