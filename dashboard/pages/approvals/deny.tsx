import { useAction } from '../../api/action.ts'
import { ActionForm } from '../../ui/action-form.tsx'
import { focusOnMount } from '../../ui/focus.ts'
import type { Waiting } from '../../ui/types.ts'
import { claimDecision, decide } from './decide.ts'

interface DenyProps {
  approval: Waiting
  reason: string
  onReason: (reason: string) => void
  onDone: () => void
  onCancel: () => void
}

/** Form that denies a call, with a reason for the agent. */
export function Deny({ approval, reason, onReason, onDone, onCancel }: DenyProps) {
  const { approval_id, tool_name } = approval
  const deny = useAction(async () => {
    const why = reason.trim()
    await decide({ approval_id, decision: 'deny', ...(why ? { reason: why } : {}) })
    onDone()
  }, `Denied: ${tool_name}.`)
  return (
    <ActionForm
      action={deny}
      submit="Deny"
      kind="danger"
      onSubmit={() => claimDecision() && deny.run()}
      onCancel={onCancel}
    >
      <label>
        Reason (optional). The agent reads it and plans again.
        <textarea
          rows={2}
          maxLength={2000}
          value={reason}
          onInput={event => onReason(event.currentTarget.value)}
          ref={focusOnMount}
        />
      </label>
    </ActionForm>
  )
}
