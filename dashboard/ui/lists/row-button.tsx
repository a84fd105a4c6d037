import { visible } from '../text/format.ts'

/** Number of characters of a row's name by which a reader recognizes the row. */
const MOST = 80

interface RowButtonProps {
  /** What the row is about: without the row, several buttons with the same text would be the same. */
  of: string
  danger?: boolean
  disabled?: boolean
  onClick: () => void
  /** Text of the button. */
  children: string
}

/** Button for an action on one row of a list. */
export function RowButton({ of, danger = false, disabled = false, onClick, children }: RowButtonProps) {
  return (
    <button
      type="button"
      class={danger ? 'small danger' : 'small'}
      aria-label={`${children} ${visible(of.slice(0, MOST))}`}
      disabled={disabled}
      onClick={onClick}
    >
      {children}
    </button>
  )
}
