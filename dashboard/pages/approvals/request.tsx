import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Action, useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { useQuery } from '../../api/query.ts'
import { to } from '../../routes.ts'
import { Trouble } from '../../ui/states.tsx'
import { Tag } from '../../ui/status.tsx'
import { agentOf } from '../../ui/text/agent-names.ts'
import { Arguments } from '../../ui/text/arguments.tsx'
import { visible } from '../../ui/text/format.ts'
import { When } from '../../ui/time.tsx'
import type { Approval, Waiting } from '../../ui/types.ts'
import { claimDecision, decide } from './decide.ts'
import { Deny } from './deny.tsx'
import { Edit } from './edit.tsx'
import { Grant } from './grant.tsx'
import { Outcome } from './outcome.tsx'

interface RequestProps {
  approval: Waiting
  /** Whether the call is pending, as far as the page knows; otherwise its decision is shown. */
  isOpen: boolean
  onDecided: () => void
  /** Called when the reader starts and ends editing the arguments. */
  onEditing?: (isEdited: boolean) => void
  /** Checkbox that adds this call to a bulk decision. */
  box?: ComponentChildren
  /** Called once all of its long arguments are shown. */
  onSeen?: () => void
}

/** Returns whether the list left out long arguments. */
export const isCut = ({ arguments: args, args_chars }: Waiting) => args === null && args_chars > 'null'.length

/**
 * One pending call: exactly what would run, and every way to decide it. Long arguments must be shown in full before
 * they can be approved. A decided call keeps its place and size, so that nothing moves.
 */
export function Request({ approval: listed, isOpen, onDecided, onEditing, box, onSeen }: RequestProps) {
  const { approval_id, agent_id, tool_name } = listed
  const [whole, setWhole] = useState<Approval | undefined>(undefined)
  const [mode, setMode] = useState<Mode>('')
  const [reason, setReason] = useState('')
  const [draft, setDraft] = useState<string | undefined>(undefined)
  const [isMine, setMine] = useState(false)
  const opener = useRef<HTMLElement | null>(null)
  const isDecided = isMine || !isOpen
  const steady = useSteadyCard(isDecided, isMine)
  const isEditing = mode === 'edit' && !isDecided
  useEffect(() => {
    if (!isEditing) return
    onEditing?.(true)
    return () => onEditing?.(false)
  }, [isEditing])
  const outcome = useQuery(isDecided ? `approval ${approval_id}` : null, {
    ask: () => api.approvals.show({ approval_id }),
    // The tool's result shows that an approved call ran.
    on: event =>
      event.data?.approval_id === approval_id || (event.type === 'tool_result' && event.agent_id === agent_id),
  })
  // After an edit, the arguments that ran are shown.
  const approval = outcome.data?.edited ? outcome.data : (whole ?? listed)
  const { args_chars, args_sha256 } = approval
  const { preview }: Partial<Approval> = approval
  const cut = isCut(approval)
  const see = useAction(async () => {
    setWhole(await api.approvals.show({ approval_id }))
    onSeen?.()
  })
  const onDecision = () => {
    setMine(true)
    onDecided()
  }
  const approve = useAction(async () => {
    await decide({ approval_id, decision: 'approve' })
    onDecision()
  }, `Approved: ${tool_name}.`)
  const open = (chosen: Mode) => (event: { currentTarget: HTMLElement }) => {
    opener.current = event.currentTarget
    setMode(chosen)
  }
  const cancel = () => {
    setMode('')
    setDraft(undefined)
    opener.current?.focus()
  }
  return (
    <li class={isDecided ? 'card request is-decided' : 'card request'} {...steady}>
      <RequestHeader approval={listed} box={box} />
      {listed.goal_id && (
        <p class="clamp">
          <span class="soft">Goal: </span>
          <a href={to('agents', [listed.agent_id, 'goals', listed.goal_id])}>
            {visible(listed.goal ?? listed.goal_id)}
          </a>
        </p>
      )}
      {cut ? (
        <p class="held">
          These arguments are long. Show all of them before you decide:{' '}
          <button type="button" class="small" disabled={see.running} onClick={() => void see.run()}>
            Show all {args_chars.toLocaleString('en')} characters
          </button>
        </p>
      ) : (
        <Arguments value={approval.arguments} whole={whole !== undefined} isRequested={whole !== undefined} />
      )}
      {typeof preview === 'string' && <pre class="code">{visible(preview)}</pre>}
      {approval.folders.length > 0 && (
        <p class="hint">
          Folders of the agent: {visible(approval.folders.map(({ path, access }) => `${path} (${access})`).join(', '))}
        </p>
      )}
      <p class="hint">
        {args_chars.toLocaleString('en')} characters · SHA-256{' '}
        <code title={args_sha256}>{args_sha256.slice(0, 16)}…</code>
      </p>
      {isDecided ? (
        <Outcome query={outcome} unsent={isMine ? '' : mode === 'edit' ? draft : reason} />
      ) : (
        <>
          <Trouble fault={see.fault ?? approve.fault} />
          <Decisions approve={approve} mode={mode} isCut={cut} onOpen={open} />
          {mode === 'deny' && (
            <Deny approval={approval} reason={reason} onReason={setReason} onDone={onDecision} onCancel={cancel} />
          )}
          {mode === 'edit' && (
            <Edit approval={approval} draft={draft} onDraft={setDraft} onDone={onDecision} onCancel={cancel} />
          )}
          {mode === 'grant' && <Grant approval={approval} onDone={onDecision} onCancel={cancel} />}
        </>
      )}
    </li>
  )
}

type Mode = '' | 'deny' | 'edit' | 'grant'

/** Keeps the size of a card once its call is decided, and the focus in the card if it was there. */
function useSteadyCard(isDecided: boolean, isMine: boolean) {
  const card = useRef<HTMLLIElement>(null)
  const height = useRef<number | undefined>(undefined)
  const hadFocus = useRef(false)
  // Read while the buttons are still there.
  if (isDecided && height.current === undefined) {
    height.current = card.current?.getBoundingClientRect().height
    hadFocus.current = card.current?.contains(document.activeElement) ?? false
  }
  useEffect(() => {
    // After a decision, made by keyboard or elsewhere, the focus stays in this card.
    if (isMine || hadFocus.current) card.current?.querySelector<HTMLElement>('.outcome')?.focus({ preventScroll: true })
  }, [isMine, isDecided])
  return { ref: card, style: height.current === undefined ? undefined : { minBlockSize: `${height.current}px` } }
}

/** What asks to run, for whom, since when and until when. */
function RequestHeader({ approval, box }: Pick<RequestProps, 'approval' | 'box'>) {
  const { approval_id, agent_id, tool_name, danger, created_at, expires_at, task_id } = approval
  return (
    <header>
      {box}
      <h2>
        <code>{visible(tool_name)}</code>
      </h2>
      {danger && <Tag kind="warn">{visible(danger)}</Tag>}
      <span class="soft">
        <a href={to('agents', [agent_id])}>{visible(agentOf(approval))}</a> requested <When at={created_at} />
        {task_id && ' for a task'}
        {expires_at && (
          <>
            , denied automatically <When at={expires_at} />
          </>
        )}
      </span>
      <a class="aside soft" href={to('approvals', ['item', approval_id])}>
        {approval_id}
      </a>
    </header>
  )
}

interface DecisionsProps {
  approve: Action<[]>
  mode: Mode
  isCut: boolean
  onOpen: (mode: Mode) => (event: { currentTarget: HTMLElement }) => void
}

/** Buttons for every way to decide; each but the first opens a form. */
function Decisions({ approve, mode, isCut, onOpen }: DecisionsProps) {
  const isEditing = mode === 'edit'
  return (
    <div class="row" title={isEditing ? 'Approve the call as edited, or cancel the edit first' : undefined}>
      {!isCut && (
        <button
          type="button"
          class="primary"
          disabled={approve.running || isEditing}
          onClick={() => claimDecision() && void approve.run()}
        >
          Approve
        </button>
      )}
      <button
        type="button"
        class="danger"
        disabled={isEditing}
        aria-expanded={mode === 'deny'}
        onClick={onOpen('deny')}
      >
        Deny…
      </button>
      {!isCut && (
        <>
          <button type="button" aria-expanded={mode === 'edit'} onClick={onOpen('edit')}>
            Edit and approve…
          </button>
          <button
            type="button"
            class="quiet"
            disabled={isEditing}
            aria-expanded={mode === 'grant'}
            onClick={onOpen('grant')}
          >
            Allow similar calls…
          </button>
        </>
      )}
    </div>
  )
}
