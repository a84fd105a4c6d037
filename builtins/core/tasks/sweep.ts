import { errorMessage, type PluginHandle } from '#kernel'
import { sleepToRound } from '#lib/poller'
import type { TaskService } from './task-service.ts'

/** Interval between two sweeps of a process, in milliseconds. */
const SWEEP_MS = 5_000

/** Whether this process runs until it is stopped, and so continues tasks of other processes. */
const lasts = (svc: PluginHandle) => svc.roles.has('daemon') || svc.roles.has('server')

/**
 * Continues tasks as soon as this process receives the decision or answer that they wait for. A process that may end
 * soon, such as a command, continues only tasks that it ran itself.
 */
export function resumeWhenDecided(svc: PluginHandle, service: TaskService) {
  const resume = ({ task_id }: { task_id: string | null }) => {
    if (task_id === null) return
    service
      .resume(task_id, { onlyOwn: !lasts(svc) })
      .catch(error => svc.log.warn({ task_id }, `cannot resume the task: ${errorMessage(error)}`))
  }
  if (svc.events.has('approval_resolved')) svc.on('approval_resolved', resume)
  if (svc.events.has('question_answered')) svc.on('question_answered', resume)
}

/** Sweeps in a process that became the daemon later, as an embedding program does. */
export function sweepAsDaemon(svc: PluginHandle, service: TaskService) {
  const begin = async () => (lasts(svc) ? undefined : sweepPeriodically(svc, service))
  return { name: 'tasks', begin, join: begin }
}

/**
 * Takes over tasks that other processes left or that were decided elsewhere.
 * @returns a function that stops the sweeps
 */
export function sweepPeriodically(svc: PluginHandle, service: TaskService) {
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
