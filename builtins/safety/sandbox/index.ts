import { definePlugin } from '#kernel'
import { withEarlierNames } from '#lib/earlier-names'
import { SandboxConfig } from './config.ts'
import { Jail, Sandbox } from './contract.ts'
import { FileJail } from './jail.ts'
import { sandboxStatus } from './operations.ts'
import { Processes } from './sandbox.ts'

export default definePlugin({
  name: 'sandbox',
  description: 'Limits what agents can access on the machine: files in their folders, and programs in a sandbox.',
  section: 'tools',
  config: SandboxConfig,
  setup(svc, config) {
    svc.provide(Jail, withEarlierNames(new FileJail(svc.ports, svc.project.root), { closed: 'closedPaths' }))
    svc.provide(Sandbox, withEarlierNames(new Processes(svc, config), { tell: 'describeEnd' }))
    svc.operation(sandboxStatus)
  },
})
