import { Agents } from '#core/agents/contract'
import { definePlugin, errorMessage, ROLES } from '#kernel'
import { BackgroundProcesses } from './background.ts'
import { ShellConfig } from './config.ts'
import { Processes, Shell } from './contract.ts'
import { logSandbox } from './sandbox-log.ts'
import { Programs } from './shell.ts'
import { shellToolkit } from './toolkit.ts'

export default definePlugin({
  name: 'toolkit-shell',
  description: "Tools to run programs in an agent's workspace.",
  needs: ['sandbox'],
  section: 'tools',
  config: ShellConfig,
  setup(svc, config) {
    const programs = new Programs(svc, config)
    svc.provide(Shell, programs)
    const background = new BackgroundProcesses(svc)
    svc.provide(Processes, background)
    svc.toolkit(shellToolkit(svc, config, programs, background))
    svc.start(
      () => {
        const ends = ({ agent_id }: { agent_id: string }) => background.stopAll(agent_id)
        if (svc.has(Agents)) for (const event of ['agent_died', 'agent_deleted'] as const) svc.on(event, ends)
        return () => background.stopAll()
      },
      { in: ROLES },
    )
    svc.start(() => {
      // Start-up does not wait for it.
      const announced = background.announceLost().catch(error => svc.log.error({}, errorMessage(error)))
      return () => announced
    })
    svc.start(() => logSandbox(svc), { in: ['daemon', 'server'] })
  },
})
