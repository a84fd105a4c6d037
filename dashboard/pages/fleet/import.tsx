import { useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { go, to } from '../../routes.ts'
import { ActionForm } from '../../ui/action-form.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { visible } from '../../ui/text/format.ts'
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
              toast('Agent imported.')
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
  const load = useAction(async (element: HTMLFormElement) => {
    const form = new FormData(element)
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
        <p>The agent was imported without these parts, because this project lacks their modules:</p>
        <ul>
          {left.left_out.map(part => (
            <li key={part}>{visible(part)}</li>
          ))}
        </ul>
        <div class="row">
          <button type="button" class="primary" onClick={() => onDone(left)}>
            Show agent
          </button>
        </div>
      </div>
    )
  }
  return (
    <ActionForm action={load} submit="Import" onSubmit={load.run}>
      <label>
        Bundle
        <input name="file" type="file" accept=".svcagent,.json,application/json" required />
      </label>
      <div class="fields">
        <label>
          Preset
          <input name="preset" placeholder="from the bundle" maxLength={64} />
        </label>
        <label>
          Model
          <input name="model" placeholder="from the bundle" pattern="\S*" title="Without spaces" maxLength={200} />
        </label>
      </div>
      <p class="hint">
        To get a bundle, choose “Download the agent” on an agent’s page, under Checkpoints. The new agent starts with
        the goals and the memory of that agent.
      </p>
    </ActionForm>
  )
}

function bundleOf(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text)
  } catch {
    throw new Error('Cannot read the bundle: it is not JSON. Choose a file that “Download the agent” saved.')
  }
}
