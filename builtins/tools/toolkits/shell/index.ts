import { definePlugin } from '#kernel'
import { ShellConfig } from './config.ts'
import { shellToolkit } from './toolkit.ts'
import { tellOfWall } from './wall.ts'

export default definePlugin({
  name: 'toolkit-shell',
  description: "Tools to run programs in an agent's workspace.",
  needs: ['sandbox'],
  section: 'tools',
  config: ShellConfig,
  setup(svc, config) {
    svc.toolkit(shellToolkit(svc, config))
    svc.start(() => tellOfWall(svc), { in: ['daemon', 'server'] })
  },
})
