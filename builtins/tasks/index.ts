import { definePlugin, type PluginHandle, sentenceOf, sleepToRound, z } from '#kernel'
import { Effects } from '../store/contract.ts'
import { TaskDriver, TaskEnded, TaskStarted, Tasks } from './contract.ts'
import { TaskDesk } from './desk.ts'
import { TASK_EFFECTS } from './effects.ts'
import { taskOperations } from './operations.ts'
import { tasksForget } from './retention.ts'
import { tasksService } from './service.ts'

const TasksConfig = z.object({
  toolkits: z
    .array(z.string().min(1))
    .default(['memory', 'comms', 'world'])
    .describe(
      "Toolkits that one-shot tasks may use, as far as the agent's profile has them; world only with the economy",
    ),
  parse_repairs: z
    .number()
    .int()
    .min(0)
    .max(5)
    .default(1)
    .describe('How often the model may mend an answer that does not fit response_schema'),
})

export default definePlugin({
  name: 'tasks',
  description: 'One-shot tasks: an agent does one thing at once, beside its own life, and answers.',
  needs: ['store', 'agents', 'profiles', 'runtime', 'sessions', 'budget'],
  section: 'tasks',
  config: TasksConfig,
  setup(svc, config) {
    const desk = new TaskDesk(svc, config)
    for (const effect of TASK_EFFECTS) svc.add(Effects, effect.kind)
    tasksForget(svc)
    for (const operation of taskOperations(svc, desk)) svc.operation(operation)
    svc.provide(Tasks, tasksService(svc, desk))
    svc.provide(TaskDriver, desk)
    svc.event('task_started', TaskStarted)
    svc.event('task_ended', TaskEnded)
    svc.on('agent_deleted', ({ agent_id }) => desk.forget(agent_id))

    svc.start(() => sweepNowAndThen(svc, desk), { in: ['daemon', 'server'] })
    // Last, so that it ends first: what runs is ended while everything that it needs is there.
    svc.start(
      () => {
        desk.open()
        return () => desk.stop()
      },
      { in: ['daemon', 'server', 'mcp', 'cli'] },
    )
  },
})

/** How often a process that stays looks for tasks that others left, or that were decided elsewhere, in milliseconds. */
const SWEEP_MS = 5_000

function sweepNowAndThen(svc: PluginHandle, desk: TaskDesk) {
  const goOn = ({ task_id }: { task_id: string | null }) => {
    if (task_id === null) return
    desk.resume(task_id).catch(error => svc.log.warn({ task_id }, `it was not taken up: ${sentenceOf(error)}`))
  }
  if (svc.events.has('approval_resolved')) svc.on('approval_resolved', goOn)
  const stop = new AbortController()
  const look = async () => {
    while (!stop.signal.aborted) {
      await desk.sweep().catch(error => svc.log.warn({}, `left tasks were not looked for: ${sentenceOf(error)}`))
      await sleepToRound(svc.clock, SWEEP_MS, stop.signal)
    }
  }
  const looking = look()
  return () => {
    stop.abort()
    return looking
  }
}
