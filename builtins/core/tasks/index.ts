import { SessionTasks } from '#core/sessions/contract'
import { definePlugin } from '#kernel'
import { DaemonStarts } from '#platform/daemon/contract'
import { ConfigChecks } from '#platform/settings/contract'
import { Effects } from '#platform/store/contract'
import { TasksConfig } from './config.ts'
import { TaskDriver, TaskEnded, TaskStarted, Tasks } from './contract.ts'
import { TASK_EFFECTS } from './effects.ts'
import { taskOperations } from './operations.ts'
import { tasksForget } from './retention.ts'
import { tasksService } from './service.ts'
import { resumeWhenDecided, sweepAsDaemon, sweepPeriodically } from './sweep.ts'
import { OwnTasks, TaskService } from './task-service.ts'
import { toolkitsCheck, warnOfToolkits } from './toolkit-names.ts'

export default definePlugin({
  name: 'tasks',
  description: 'One-shot tasks: an agent carries out one instruction immediately, independently of its goals.',
  needs: ['store', 'agents', 'profiles', 'runtime', 'sessions'],
  section: 'tasks',
  config: TasksConfig,
  setup(svc, config) {
    const service = new TaskService(svc, config)
    for (const effect of TASK_EFFECTS) svc.add(Effects, effect.kind)
    tasksForget(svc)
    svc.provide(OwnTasks, service)
    for (const operation of taskOperations) svc.operation(operation)
    svc.provide(Tasks, tasksService(svc, service))
    svc.provide(TaskDriver, service)
    svc.provide(SessionTasks, service)
    svc.event('task_started', TaskStarted)
    svc.event('task_ended', TaskEnded)
    svc.on('agent_deleted', ({ agent_id }) => service.forget(agent_id))

    svc.add(ConfigChecks, toolkitsCheck(svc))
    svc.start(() => warnOfToolkits(svc, config), { in: ['daemon', 'server', 'mcp'] })
    svc.start(() => sweepPeriodically(svc, service), { in: ['daemon', 'server'] })
    svc.add(DaemonStarts, sweepAsDaemon(svc, service))
    svc.start(() => resumeWhenDecided(svc, service), { in: ['daemon', 'server', 'mcp', 'cli'] })
    // Started last and so stopped first: running tasks end while everything that they need is available.
    svc.start(
      () => {
        service.open()
        return () => service.stop()
      },
      { in: ['daemon', 'server', 'mcp', 'cli'] },
    )
  },
})
