import { api, faultOf } from '../../api/client.ts'
import { toast } from '../../ui/toasts.tsx'

/** After a decision, clicks that follow each other faster than this decide nothing, in milliseconds. */
const PAUSE_MS = 1_000
let clickedAt = Number.NEGATIVE_INFINITY

/**
 * Asks for the right to decide, for one click: the second of two quick clicks was meant for the first call, whatever lies
 * under the pointer by then. Says so when it refuses.
 */
export function claimDecision(): boolean {
  const since = performance.now() - clickedAt
  clickedAt = performance.now()
  if (since >= PAUSE_MS) return true
  toast('Not decided: you clicked again within a second.')
  return false
}

/** Decides on a call. One that was decided elsewhere leaves the queue at once: a toast says how. */
export async function decide(decision: Parameters<typeof api.approvals.decide>[0]) {
  try {
    return await api.approvals.decide(decision)
  } catch (error) {
    const { status, message } = faultOf(error)
    if (status === 409) toast(message)
    throw error
  }
}
