import { useRef, useState } from 'preact/hooks'
import type { Waiting } from '../../ui/types.ts'

export interface ShownApproval {
  approval: Waiting
  /** Whether it still waits; one that does not keeps its place, with its outcome. */
  isOpen: boolean
}

/**
 * The calls that waited at any time since the page was opened, each in its place: a decision, made here or elsewhere, moves
 * no other call under the pointer. Calls that come later stand at the end.
 */
export function useShown(waiting: readonly Waiting[] = []): { shown: readonly ShownApproval[]; clear(): void } {
  const known = useRef(new Map<string, Waiting>())
  const [, render] = useState(0)
  // To set what a map has leaves it in its place.
  for (const approval of waiting) known.current.set(approval.approval_id, approval)
  const open = new Set(waiting.map(({ approval_id }) => approval_id))
  const shown = [...known.current.values()].map(approval => ({ approval, isOpen: open.has(approval.approval_id) }))
  return {
    shown,
    clear() {
      for (const { approval, isOpen } of shown) if (!isOpen) known.current.delete(approval.approval_id)
      render(n => n + 1)
    },
  }
}
