import type { RunEnd } from '#core/runtime/contract'
import type { SvcError } from '#kernel'
import { AnswerCutError, TaskRefusedError, TaskRepeatingError, type TaskResponse } from '../contract.ts'

/** How a stretch of work on a task ends. */
export interface Ending {
  status: TaskResponse['status']
  error?: SvcError
  approval_ids?: readonly string[]
}

/**
 * What the end of the loop means for the task.
 * @param said whether there is anything to show
 */
export function endingOf(end: RunEnd, max_tokens: number, said: boolean): Ending {
  switch (end.status) {
    case 'finished':
      return { status: 'completed' }
    case 'parked':
      return { status: 'waiting_approval', approval_ids: end.approval_ids }
    case 'refused':
      return { status: 'failed', error: new TaskRefusedError({ said }) }
    case 'cut':
      return { status: 'failed', error: new AnswerCutError({ max_tokens }) }
    case 'repeating':
      return { status: 'failed', error: new TaskRepeatingError({ calls: end.calls }) }
    default:
      return { status: 'max_steps' }
  }
}
