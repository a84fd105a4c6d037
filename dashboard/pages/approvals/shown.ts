import { useRef, useState } from 'preact/hooks'
import type { Waiting } from '../../ui/types.ts'

export interface ShownApproval {
  approval: Waiting
  /** Whether the call is still pending; a decided one keeps its place, with its outcome. */
  isOpen: boolean
}

/**
 * Returns the calls that were pending at any time since the page was opened, in a fixed order: no decision, made here
 * or elsewhere, moves another call under the pointer. New calls are added at the end.
 */
export function useShown(waiting: readonly Waiting[] = []): { shown: readonly ShownApproval[]; clear(): void } {
  const known = useRef(new Map<string, Waiting>())
  const [, render] = useState(0)
  // Setting an existing key of a map keeps its place.
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
