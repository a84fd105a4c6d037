import type { ComponentChildren } from 'preact'
import type { Action } from '../api/action.ts'
import { Trouble } from './states.tsx'

interface ActionFormProps {
  /** What the form runs: its button is disabled meanwhile, and its error shown above the button. */
  action: Pick<Action<[]>, 'running' | 'fault'>
  onSubmit: (form: HTMLFormElement) => unknown
  /** Text of the button that submits. */
  submit: string
  kind?: 'primary' | 'danger'
  /** Whether the fields have what the action needs. */
  isReady?: boolean
  /** Without it, there is no button to cancel. */
  onCancel?: () => void
  children: ComponentChildren
}

/** Form for one action. */
export function ActionForm(props: ActionFormProps) {
  const { action, onSubmit, submit, kind = 'primary', isReady = true, onCancel, children } = props
  return (
    <form
      class="stack"
      onSubmit={event => {
        event.preventDefault()
        onSubmit(event.currentTarget)
      }}
    >
      {children}
      <Trouble fault={action.fault} />
      <div class="row">
        <button type="submit" class={kind} disabled={action.running || !isReady}>
          {submit}
        </button>
        {onCancel && (
          <button type="button" class="quiet" onClick={onCancel}>
            Cancel
          </button>
        )}
      </div>
    </form>
  )
}
