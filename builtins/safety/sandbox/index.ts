import { definePlugin } from '#kernel'
import { SandboxConfig } from './config.ts'
import { Jail, Sandbox } from './contract.ts'
import { FileJail } from './jail.ts'
import { sandboxStatus } from './operations.ts'
import { Processes } from './sandbox.ts'

export default definePlugin({
  name: 'sandbox',
  description: 'What agents reach of the machine: the files of their workspace, and programs behind a wall.',
  section: 'tools',
  config: SandboxConfig,
  setup(svc, config) {
    svc.provide(Jail, new FileJail(svc.ports))
    svc.provide(Sandbox, new Processes(svc, config))
    svc.operation(sandboxStatus)
  },
})
