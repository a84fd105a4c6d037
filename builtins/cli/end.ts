/** How a task's stream ends, as far as people are told of it. */
export interface End {
  status?: string
  error?: { detail?: string } | null
  approval_ids?: string[]
}

/** How it ended, with why where it failed, and with what to do where it waits for somebody. */
export function endOf({ status = 'done', error, approval_ids = [] }: End): string {
  if (error?.detail) return `${status}: ${error.detail}`
  return approval_ids.length > 0 ? `${status}: decide with svc approve ${approval_ids.join(', ')}` : String(status)
}
