import { useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { go, to } from '../../routes.ts'
import { Dialog } from '../../ui/dialog.tsx'
import { Trouble } from '../../ui/states.tsx'
import { visible } from '../../ui/text/words.ts'
import { toast } from '../../ui/toasts.tsx'
import type { Answer } from '../../ui/types.ts'

/** Dialog that imports an agent from a downloaded file; each import makes a new agent. */
export function Import({ onImported }: { onImported?: () => void }) {
  const [open, setOpen] = useState(false)
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Import an agent…
      </button>
      {open && (
        <Dialog title="Import an agent" onClose={() => setOpen(false)}>
          <ImportForm
            onDone={({ agent_id }) => {
              setOpen(false)
              toast('It lives.')
              onImported?.()
              go(to('agents', [agent_id]))
            }}
          />
        </Dialog>
      )}
    </>
  )
}

function ImportForm({ onDone }: { onDone: (imported: Answer<'bundles.import'>) => void }) {
  const [left, setLeft] = useState<Answer<'bundles.import'> | undefined>(undefined)
  const load = useAction(async (form: FormData) => {
    const fieldValue = (name: string) => String(form.get(name)).trim()
    const bundle = bundleOf(await (form.get('file') as File).text())
    const made = await api.bundles.import({
      bundle,
      ...(fieldValue('preset') ? { preset: fieldValue('preset') } : {}),
      ...(fieldValue('model') ? { model: fieldValue('model') } : {}),
    })
    if (made.left_out.length > 0) setLeft(made)
    else onDone(made)
  })
  if (left) {
    return (
      <div class="stack">
        <p>Imported, without these parts, whose modules this project does not have:</p>
        <ul>
          {left.left_out.map(part => (
            <li key={part}>{visible(part)}</li>
          ))}
        </ul>
        <div class="row">
          <button type="button" class="primary" onClick={() => onDone(left)}>
            Show it
          </button>
        </div>
      </div>
    )
  }
  return (
    <form
      class="stack"
      onSubmit={event => {
        event.preventDefault()
        void load.run(new FormData(event.currentTarget))
      }}
    >
      <label>
        Bundle
        <input name="file" type="file" accept=".svcagent,.json,application/json" required />
      </label>
      <div class="fields">
        <label>
          Preset
          <input name="preset" placeholder="its own" maxLength={64} />
        </label>
        <label>
          Model
          <input name="model" placeholder="its own" pattern="\S*" title="Without spaces" maxLength={200} />
        </label>
      </div>
      <p class="hint">
        A bundle is what “Download the agent” gives, on an agent’s page under Checkpoints. It begins with the goals and
        the memory of the one that it was made of.
      </p>
      <Trouble fault={load.fault} />
      <div class="row">
        <button type="submit" class="primary" disabled={load.running}>
          Import
        </button>
      </div>
    </form>
  )
}

function bundleOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('That file is no bundle: it is not JSON. A bundle is what “Download the agent” gives.')
  }
}
