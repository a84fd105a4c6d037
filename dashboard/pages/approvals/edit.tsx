import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { never, useQuery } from '../../api/query.ts'
import { ActionForm } from '../../ui/action-form.tsx'
import { focusOnMount } from '../../ui/focus.ts'
import { Loaded } from '../../ui/states.tsx'
import { Diff } from '../../ui/text/diff.tsx'
import type { Approval, Waiting } from '../../ui/types.ts'
import { claimDecision, decide } from './decide.ts'

interface EditProps {
  approval: Waiting
  /** Text typed so far; undefined before the first input. */
  draft: string | undefined
  onDraft: (text: string) => void
  onDone: () => void
  onCancel: () => void
}

/** Form to edit the arguments before approval; it shows the changes while they are typed. */
export function Edit({ approval: { approval_id }, ...rest }: EditProps) {
  const whole = useQuery(`approval ${approval_id}`, { ask: () => api.approvals.show({ approval_id }), on: never })
  return <Loaded query={whole}>{approval => <Form approval={approval} {...rest} />}</Loaded>
}

function Form({ approval, draft, onDraft, onDone, onCancel }: Omit<EditProps, 'approval'> & { approval: Approval }) {
  const { approval_id, arguments: args } = approval
  const text = draft ?? JSON.stringify(args, null, 2)
  const edited = parseObject(text)
  const approve = useAction(async (value: Record<string, unknown>) => {
    await decide({ approval_id, decision: 'approve', arguments: value })
    onDone()
  }, 'Approved as edited.')
  return (
    <ActionForm
      action={approve}
      submit="Approve as edited"
      isReady={edited !== undefined}
      onSubmit={() => edited && claimDecision() && approve.run(edited)}
      onCancel={onCancel}
    >
      <label>
        Arguments (JSON)
        <textarea
          class="mono"
          rows={Math.min(20, text.split('\n').length + 1)}
          spellcheck={false}
          value={text}
          onInput={event => onDraft(event.currentTarget.value)}
          ref={focusOnMount}
        />
      </label>
      {edited ? (
        <Diff before={args} after={edited} label="Your changes" />
      ) : (
        <p class="trouble" role="alert">
          This is not a JSON object.
        </p>
      )}
    </ActionForm>
  )
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}
