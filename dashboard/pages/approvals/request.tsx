import { useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { to } from '../../routes.ts'
import { Code } from '../../ui/code.tsx'
import { focused } from '../../ui/focus.ts'
import { Trouble } from '../../ui/states.tsx'
import { Tag } from '../../ui/status.tsx'
import { When } from '../../ui/time.tsx'
import type { Item } from '../../ui/types.ts'
import { visible } from '../../ui/words.ts'
import { Edit } from './edit.tsx'
import { Grant } from './grant.tsx'

export type Waiting = Item<'approvals.queue'>

/** One call that waits: exactly what would run, and what can be said to it. */
export function Request({ approval, onDecided }: { approval: Waiting; onDecided: () => void }) {
  const { approval_id, agent_id, tool_name, danger, args_chars, args_sha256, created_at, expires_at, task_id } =
    approval
  const [mode, setMode] = useState<'' | 'deny' | 'edit' | 'grant'>('')
  const approve = useAction(async () => {
    await api.approvals.decide({ approval_id, decision: 'approve' })
    onDecided()
  }, `Approved: ${tool_name}.`)
  return (
    <li class="card request">
      <header>
        <h2>
          <code>{visible(tool_name)}</code>
        </h2>
        {danger && <Tag kind="warn">{visible(danger)}</Tag>}
        <span class="soft">
          <a href={to('agents', [agent_id])}>{visible(agent_id)}</a> asked <When at={created_at} />
          {task_id && ' for a task'}
          {expires_at && (
            <>
              , denied by itself <When at={expires_at} />
            </>
          )}
        </span>
        <a class="aside" href={to('approvals', ['item', approval_id])}>
          {approval_id}
        </a>
      </header>
      <Shown approval={approval} />
      <p class="hint">
        {args_chars.toLocaleString('en')} characters · SHA-256{' '}
        <code title={args_sha256}>{args_sha256.slice(0, 16)}…</code>
      </p>
      <Trouble fault={approve.fault} />
      <div class="row">
        <button type="button" class="primary" disabled={approve.running} onClick={() => void approve.run()}>
          Approve
        </button>
        <button type="button" class="danger" aria-expanded={mode === 'deny'} onClick={() => setMode('deny')}>
          Deny…
        </button>
        <button type="button" aria-expanded={mode === 'edit'} onClick={() => setMode('edit')}>
          Edit and approve…
        </button>
        <button type="button" class="quiet" aria-expanded={mode === 'grant'} onClick={() => setMode('grant')}>
          Allow from now on…
        </button>
      </div>
      {mode === 'deny' && <Deny approval={approval} onDone={onDecided} onCancel={() => setMode('')} />}
      {mode === 'edit' && <Edit approval={approval} onDone={onDecided} onCancel={() => setMode('')} />}
      {mode === 'grant' && <Grant approval={approval} onDone={onDecided} onCancel={() => setMode('')} />}
    </li>
  )
}

/** The stored arguments: all of them, or as many as the list holds with a link to the rest. */
function Shown({ approval: { arguments: args, args_chars, approval_id } }: { approval: Waiting }) {
  const isCut = typeof args === 'string' && args_chars > args.length
  return (
    <>
      <Code value={args} label="Arguments" />
      {isCut && (
        <p class="trouble">
          Only the beginning is shown.{' '}
          <a href={to('approvals', ['item', approval_id])}>See all of it before you decide.</a>
        </p>
      )}
    </>
  )
}

function Deny({ approval, onDone, onCancel }: { approval: Waiting; onDone: () => void; onCancel: () => void }) {
  const { approval_id, tool_name } = approval
  const deny = useAction(async (reason: string) => {
    await api.approvals.decide({ approval_id, decision: 'deny', ...(reason ? { reason } : {}) })
    onDone()
  }, `Denied: ${tool_name}.`)
  return (
    <form
      class="stack"
      onSubmit={event => {
        event.preventDefault()
        void deny.run(String(new FormData(event.currentTarget).get('reason')).trim())
      }}
    >
      <label>
        Why? The agent reads it and plans anew.
        <textarea name="reason" rows={2} maxLength={2000} ref={focused} />
      </label>
      <Trouble fault={deny.fault} />
      <div class="row">
        <button type="submit" class="danger" disabled={deny.running}>
          Deny
        </button>
        <button type="button" class="quiet" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  )
}
