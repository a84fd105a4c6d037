import { errorMessage, type PluginHandle } from '#kernel'
import { sleepToRound } from '#lib/poller'
import type { TaskService } from './task-service.ts'

/** Interval between two sweeps of a process, in milliseconds. */
const SWEEP_MS = 5_000

/**
 * Takes over tasks that other processes left or that were decided elsewhere, if this process is long-running.
 * @returns a function that stops the sweeps
 */
export function sweepNowAndThen(svc: PluginHandle, service: TaskService) {
  const goOn = ({ task_id }: { task_id: string | null }) => {
    if (task_id === null) return
    service.resume(task_id).catch(error => svc.log.warn({ task_id }, `cannot resume the task: ${errorMessage(error)}`))
  }
  if (svc.events.has('approval_resolved')) svc.on('approval_resolved', goOn)
  if (svc.events.has('question_answered')) svc.on('question_answered', goOn)
  const stop = new AbortController()
  const look = async () => {
    while (!stop.signal.aborted) {
      await service
        .sweep()
        .catch(error => svc.log.warn({}, `cannot check for tasks left by other processes: ${errorMessage(error)}`))
      await sleepToRound(svc.clock, SWEEP_MS, stop.signal)
    }
  }
  const looking = look()
  return () => {
    stop.abort()
    return looking
  }
}
