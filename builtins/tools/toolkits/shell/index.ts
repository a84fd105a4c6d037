import { definePlugin } from '#kernel'
import { ShellConfig } from './config.ts'
import { Shell } from './contract.ts'
import { Programs } from './shell.ts'
import { shellToolkit } from './toolkit.ts'
import { tellOfWall } from './wall.ts'

export default definePlugin({
  name: 'toolkit-shell',
  description: "Tools to run programs in an agent's workspace.",
  needs: ['sandbox'],
  section: 'tools',
  config: ShellConfig,
  setup(svc, config) {
    const programs = new Programs(svc, config)
    svc.provide(Shell, programs)
    svc.toolkit(shellToolkit(svc, config, programs))
    svc.start(() => tellOfWall(svc), { in: ['daemon', 'server'] })
  },
})
