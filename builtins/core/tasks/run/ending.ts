import type { RunEnd } from '#core/runtime/contract'
import type { SvcError } from '#kernel'
import { AnswerCutError, TaskRefusedError, TaskRepeatingError, type TaskResponse } from '../contract.ts'

/** How a period of work on a task ends. */
export interface Ending {
  status: TaskResponse['status']
  error?: SvcError
  /** Approvals that the task waits for. */
  approval_ids?: readonly string[]
  question_ids?: readonly string[]
}

/**
 * Converts the end of the loop to the task's status.
 * @param hasText whether there is any output
 * @param questions those of the awaited ids that are questions
 */
export function endingOf(end: RunEnd, hasText: boolean, questions?: ReadonlySet<string>): Ending {
  switch (end.status) {
    case 'finished':
      return { status: 'completed' }
    case 'parked': {
      const approval_ids = end.approval_ids.filter(id => !questions?.has(id))
      const question_ids = end.approval_ids.filter(id => questions?.has(id))
      return { status: approval_ids.length > 0 ? 'waiting_approval' : 'waiting_answer', approval_ids, question_ids }
    }
    case 'refused':
      return { status: 'failed', error: new TaskRefusedError({ said: hasText, problem: end.problem }) }
    case 'cut':
      return { status: 'failed', error: new AnswerCutError({ ...end, said: end.summary.trim() !== '' }) }
    case 'repeating':
      return { status: 'failed', error: new TaskRepeatingError(end) }
    default:
      return { status: 'max_steps' }
  }
}
