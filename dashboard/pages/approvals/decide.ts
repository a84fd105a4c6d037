import { api, faultOf } from '../../api/client.ts'
import { toast } from '../../ui/toasts.tsx'

/** Minimum time between two clicks for the second one to decide anything, in milliseconds. */
const PAUSE_MS = 1_000
let clickedAt = Number.NEGATIVE_INFINITY

/**
 * Claims one click for a decision: the second of two quick clicks was meant for the first call, whatever is under the
 * pointer by then. Shows a toast if it refuses.
 */
export function claimDecision(): boolean {
  const since = performance.now() - clickedAt
  clickedAt = performance.now()
  if (since >= PAUSE_MS) return true
  toast('Not decided: you clicked again within a second.')
  return false
}

/** Decides a call. If it was decided elsewhere, a toast shows how. */
export async function decide(decision: Parameters<typeof api.approvals.decide>[0]) {
  try {
    return await api.approvals.decide(decision)
  } catch (error) {
    const { status, message } = faultOf(error)
    if (status === 409) toast(message)
    throw error
  }
}

/** Returns who decided: without a tenant, requests are those of the user `default`; a rule is named by its id. */
export const deciderOf = (resolved_by: string) =>
  resolved_by === 'default' ? 'the operator' : resolved_by.replace(/^rule:/, '')
