import { definePlugin, ROLES } from '#kernel'
import { OrchestratorConfig } from './config.ts'
import { findPrograms } from './programs.ts'
import { CodeTasks } from './tasks.ts'
import { orchestratorToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-orchestrator',
  description: 'Tools that give work to installed coding programs: claude and codex.',
  needs: ['agents', 'sandbox'],
  section: 'tools',
  config: OrchestratorConfig,
  setup(svc, config) {
    const tasks = new CodeTasks(svc, config)
    svc.on('agent_deleted', ({ agent_id }) => tasks.stop(agent_id))
    svc.start(
      async () => {
        const programs = await findPrograms(svc)
        if (programs.size > 0) svc.toolkit(orchestratorToolkit(svc, tasks, programs))
        return () => tasks.stop()
      },
      { in: ROLES },
    )
  },
})
