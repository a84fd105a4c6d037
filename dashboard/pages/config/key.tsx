import { useRef, useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { Trouble } from '../../ui/states.tsx'
import { Tag } from '../../ui/status.tsx'
import { visible } from '../../ui/text/format.ts'
import { toast } from '../../ui/toasts.tsx'
import type { Key } from '../../ui/types.ts'
import { Field, parsedValue, textOf } from './field.tsx'

/** Row of one key: its description, its value, and its field while it is edited. */
export function KeyRow({ found, onChanged }: { found: Key; onChanged: () => Promise<void> }) {
  const { key, schema, value, default: fallback, source, env, secret, reload } = found
  const [editing, setEditing] = useState(false)
  const opener = useRef<HTMLButtonElement>(null)
  const close = () => {
    setEditing(false)
    opener.current?.focus()
  }
  const description = typeof schema.description === 'string' ? schema.description : ''
  return (
    <li>
      <div>
        <p class="row">
          <code>{key}</code>
          {source !== 'default' && <Tag kind="good">{source === 'env' ? `from ${env}` : 'set'}</Tag>}
          <Tag>{reload === 'applied' ? 'applies at once' : 'applies after a restart'}</Tag>
        </p>
        {description && <p class="soft">{visible(description)}</p>}
        {editing ? (
          <Editor
            found={found}
            onDone={async () => {
              close()
              await onChanged()
            }}
            onCancel={close}
          />
        ) : (
          <p>
            <code>{visible(secret && value ? '***' : textOf(found, value)) || '–'}</code>
            {source !== 'default' && <small> · default {visible(textOf(found, fallback)) || '–'}</small>}
          </p>
        )}
      </div>
      <button
        ref={opener}
        type="button"
        class="small"
        aria-label={`Change ${key}`}
        aria-expanded={editing}
        onClick={() => setEditing(true)}
      >
        Change
      </button>
    </li>
  )
}

function Editor({ found, onDone, onCancel }: { found: Key; onDone: () => Promise<void>; onCancel: () => void }) {
  const { key, source, env, reload } = found
  const [text, setText] = useState(() => (found.secret ? '' : textOf(found, found.value)))
  const onSaved = async () => {
    toast(reload === 'applied' ? 'Saved. It applies from the next heartbeat.' : 'Saved. It applies after a restart.')
    await onDone()
  }
  const save = useAction(async () => {
    await api.config.patch(nestKey(key, parsedValue(found, text)))
    await onSaved()
  })
  const unset = useAction(async () => {
    await api.config.unset({ key })
    await onSaved()
  })
  return (
    <form
      class="stack"
      onSubmit={event => {
        event.preventDefault()
        void save.run()
      }}
    >
      <Field found={found} text={text} onText={setText} />
      {source === 'env' && <p class="held">{env} is set in the environment and overrides the value here.</p>}
      <Trouble fault={save.fault ?? unset.fault} />
      <div class="row">
        {/* The field of a secret begins empty, and an empty key turns authentication off. */}
        <button type="submit" class="primary small" disabled={save.running || (found.secret && text === '')}>
          Save
        </button>
        {source === 'file' && (
          <button type="button" class="small" disabled={unset.running} onClick={() => void unset.run()}>
            Reset to default
          </button>
        )}
        <button type="button" class="small quiet" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  )
}

/** Builds `{ daemon: { heartbeat: 5 } }` from `daemon.heartbeat` and 5. */
function nestKey(key: string, value: unknown): Record<string, unknown> {
  return key.split('.').reduceRight<unknown>((below, name) => ({ [name]: below }), value) as Record<string, unknown>
}
