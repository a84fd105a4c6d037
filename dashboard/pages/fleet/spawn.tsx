import { useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { never, useQuery } from '../../api/query.ts'
import { go, to } from '../../routes.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Loaded, Trouble } from '../../ui/states.tsx'
import { visible } from '../../ui/text/words.ts'

/** Brings an agent to life from one of the project's presets. */
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

function SpawnForm({ onSpawned }: { onSpawned: (agent_id: string) => void }) {
  const profiles = useQuery('profiles', { ask: () => api.profiles.list(), on: never })
  const spawn = useAction(async (preset: string, model: string, workspace: string) => {
    const given = { ...(model ? { model } : {}), ...(workspace ? { workspace } : {}) }
    const { agent_id } = await api.agents.spawn({ preset, ...given })
    onSpawned(agent_id)
  }, 'It lives.')
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const form = new FormData(event.currentTarget as HTMLFormElement)
    const [preset = '', model = '', workspace = ''] = ['preset', 'model', 'workspace'].map(name =>
      String(form.get(name)).trim(),
    )
    void spawn.run(preset, model, workspace)
  }
  return (
    <Loaded query={profiles}>
      {found => (
        <form class="stack" onSubmit={submit}>
          <label>
            Preset
            <select name="preset" required>
              {found.map(({ name, profile, error }) => (
                <option key={name} value={name} disabled={Boolean(error)}>
                  {visible(`${name}: ${error ?? profile?.role ?? ''}`.slice(0, 120))}
                </option>
              ))}
            </select>
          </label>
          <label>
            Model
            <input name="model" placeholder="the preset's, or the default" pattern="\S*" title="Without spaces" />
          </label>
          <label>
            Folder to work in
            <input name="workspace" placeholder="one of its own, or /home/ada/project" />
            <span class="hint">Read and written by the agent; with :ro at the end only read.</span>
          </label>
          <Trouble fault={spawn.fault} />
          <div class="row">
            <button type="submit" class="primary" disabled={spawn.running}>
              Spawn
            </button>
          </div>
        </form>
      )}
    </Loaded>
  )
}
