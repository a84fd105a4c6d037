import type { OperationCall, PluginHandle } from '#kernel'
import { Questions } from '#safety/questions/contract'
import { type KeyedTask, TaskAsksNothingError, TaskNotFoundError, type Tasks } from './contract.ts'
import { followTask } from './follow.ts'
import type { TaskRow } from './repository.ts'
import { taskOf } from './shape.ts'
import type { TaskService } from './task-service.ts'

/** Default number of model answers after which a task ends. */
const MAX_STEPS = 25

/** One-shot tasks for other modules. */
export function tasksService(svc: PluginHandle, service: TaskService): Tasks {
  const mine = async (task_id: string, tenant: string) => {
    await service.settleLost()
    const row = await service.find(task_id)
    if (row.user_id !== tenant) throw new TaskNotFoundError({ task_id })
    return row
  }
  return {
    async begin({ agent, tenant, key, request_id, ...task }) {
      const call: OperationCall = {
        tenant,
        via: 'code',
        request_id,
        idempotency_key: key,
        progress: () => {},
        signal: new AbortController().signal,
      }
      const input = { id: agent, max_steps: MAX_STEPS, ...task }
      const { task_id } = await service.begin(input, call, true)
      return toKeyedTask(await service.find(task_id))
    },
    find: async (task_id, tenant) => toKeyedTask(await mine(task_id, tenant)),
    follow: (task_id, after, signal) => followTask(svc, service, task_id, after, signal),
    async answer(task_id, tenant, answer) {
      const { status } = await mine(task_id, tenant)
      const isAnswered = svc.has(Questions) && (await svc.use(Questions).answerTask(task_id, answer))
      if (!isAnswered) throw new TaskAsksNothingError({ task_id, status })
      await service.resume(task_id)
      return toKeyedTask(await service.find(task_id))
    },
    async cancel(task_id, tenant) {
      await mine(task_id, tenant)
      await service.cancel(task_id)
      return toKeyedTask(await service.find(task_id))
    },
    cancelIn: session_id => service.cancelIn(session_id),
  }
}

function toKeyedTask(row: TaskRow): KeyedTask {
  return { ...taskOf(row), key: row.idempotency_key }
}
