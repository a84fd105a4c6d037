import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Action } from '../api/action.ts'
import { Trouble } from './states.tsx'
import { visible } from './text/format.ts'

interface ConfirmProps {
  title: string
  /** Label of the button that does it. */
  label: string
  action: Action<[]>
  onClose: () => void
  /** What is lost. */
  children: ComponentChildren
}

/** Asks before something that cannot be undone; closes once it is done. */
export function Confirm({ title, label, action, onClose, children }: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="stack">
        {children}
        <Trouble fault={action.fault} />
        <div class="row">
          <button
            type="button"
            class="danger"
            disabled={action.running}
            onClick={async () => (await action.run()) && onClose()}
          >
            {label}
          </button>
          <button type="button" class="quiet" onClick={onClose}>
            Cancel
          </button>
        </div>
      </div>
    </Dialog>
  )
}

/** Modal dialog. Escape and the button close it. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string
  onClose: () => void
  children: ComponentChildren
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  // Not after painting: until then the focus would be on the page's content. The browser returns it to what opened this.
  useLayoutEffect(() => {
    const element = dialog.current!
    element.showModal()
    return () => element.close()
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby="dialog-title"
      onClose={({ currentTarget }) => currentTarget.isConnected && onClose()}
    >
      <header>
        <h2 id="dialog-title">{visible(title)}</h2>
        <button type="button" class="quiet" aria-label="Close" onClick={() => dialog.current?.close()}>
          ✕
        </button>
      </header>
      {children}
    </dialog>
  )
}
