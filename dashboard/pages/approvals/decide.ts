import { api, faultOf } from '../../api/client.ts'
import { toast } from '../../ui/toasts.tsx'

/** Decides on a call. One that somebody else has decided on leaves the queue at once: how is told where that stays. */
export async function decide(decision: Parameters<typeof api.approvals.decide>[0]): Promise<void> {
  try {
    await api.approvals.decide(decision)
  } catch (error) {
    const { status, message } = faultOf(error)
    if (status === 409) toast(message)
    throw error
  }
}
