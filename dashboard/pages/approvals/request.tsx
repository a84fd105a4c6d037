import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { to } from '../../routes.ts'
import { Arguments } from '../../ui/arguments.tsx'
import { focused } from '../../ui/focus.ts'
import { Trouble } from '../../ui/states.tsx'
import { Tag } from '../../ui/status.tsx'
import { When } from '../../ui/time.tsx'
import type { Approval, Waiting } from '../../ui/types.ts'
import { visible } from '../../ui/words.ts'
import { decide } from './decide.ts'
import { Edit } from './edit.tsx'
import { Grant } from './grant.tsx'

interface RequestProps {
  approval: Waiting
  onDecided: () => void
  /** Where several are decided in one act: the box that adds this one to them. */
  box?: ComponentChildren
  /** Told once its reader has all of its long arguments before the eyes. */
  onSeen?: () => void
}

/** Lists leave long arguments out. */
export const isCut = ({ arguments: args, args_chars }: Waiting) => args === null && args_chars > 'null'.length

/**
 * One call that waits: exactly what would run, and what can be said to it. Who wants to let a call with long arguments
 * run is shown all of them first.
 */
export function Request({ approval: listed, onDecided, box, onSeen }: RequestProps) {
  const { approval_id, agent_id, tool_name, danger, args_chars, args_sha256, created_at, expires_at, task_id } = listed
  const [whole, setWhole] = useState<Approval | undefined>(undefined)
  const [mode, setMode] = useState<'' | 'deny' | 'edit' | 'grant'>('')
  const opener = useRef<HTMLElement | null>(null)
  const approval = whole ?? listed
  const cut = isCut(approval)
  const see = useAction(async () => {
    setWhole(await api.approvals.show({ approval_id }))
    onSeen?.()
  })
  const decided = () => {
    onDecided()
    document.getElementById('main')?.focus({ preventScroll: true })
  }
  const approve = useAction(async () => {
    await decide({ approval_id, decision: 'approve' })
    decided()
  }, `Approved: ${tool_name}.`)
  const open = (chosen: 'deny' | 'edit' | 'grant') => (event: { currentTarget: HTMLElement }) => {
    opener.current = event.currentTarget
    setMode(chosen)
  }
  const cancel = () => {
    setMode('')
    opener.current?.focus()
  }
  return (
    <li class="card request">
      <header>
        {box}
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
        <a class="aside soft" href={to('approvals', ['item', approval_id])}>
          {approval_id}
        </a>
      </header>
      {cut ? (
        <p class="held">
          These arguments are long. See all of them before you decide:{' '}
          <button type="button" class="small" disabled={see.running} onClick={() => void see.run()}>
            Show all {args_chars.toLocaleString('en')} characters
          </button>
        </p>
      ) : (
        <Arguments value={approval.arguments} whole={whole !== undefined} asked={whole !== undefined} />
      )}
      <p class="hint">
        {args_chars.toLocaleString('en')} characters · SHA-256{' '}
        <code title={args_sha256}>{args_sha256.slice(0, 16)}…</code>
      </p>
      <Trouble fault={see.fault ?? approve.fault} />
      <div class="row">
        {!cut && (
          <button type="button" class="primary" disabled={approve.running} onClick={() => void approve.run()}>
            Approve
          </button>
        )}
        <button type="button" class="danger" aria-expanded={mode === 'deny'} onClick={open('deny')}>
          Deny…
        </button>
        {!cut && (
          <>
            <button type="button" aria-expanded={mode === 'edit'} onClick={open('edit')}>
              Edit and approve…
            </button>
            <button type="button" class="quiet" aria-expanded={mode === 'grant'} onClick={open('grant')}>
              Allow from now on…
            </button>
          </>
        )}
      </div>
      {mode === 'deny' && <Deny approval={approval} onDone={decided} onCancel={cancel} />}
      {mode === 'edit' && <Edit approval={approval} onDone={decided} onCancel={cancel} />}
      {mode === 'grant' && <Grant approval={approval} onDone={decided} onCancel={cancel} />}
    </li>
  )
}

function Deny({ approval, onDone, onCancel }: { approval: Waiting; onDone: () => void; onCancel: () => void }) {
  const { approval_id, tool_name } = approval
  const deny = useAction(async (reason: string) => {
    await decide({ approval_id, decision: 'deny', ...(reason ? { reason } : {}) })
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
