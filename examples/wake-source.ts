// A wake source: a reason to end the rest between two heartbeats, here a new file in the folder `inbox`.
// `wait` is called again after each result, and ends when its signal is aborted.
import { join } from 'node:path'
import { definePlugin } from 'svc'

const LOOK_MS = 500

export default definePlugin({
  name: 'inbox',
  description: 'A new file in inbox/ wakes all agents.',
  setup(svc) {
    const folder = join(svc.project.root, 'inbox')
    const names = () => svc.ports.files.readdir(folder).catch((): string[] => [])
    let seen: readonly string[] | undefined
    svc.wakeSource({
      name: 'inbox',
      async wait(signal) {
        for (;;) {
          const before = seen
          seen = await names()
          const arrived = before ? seen.filter(name => !before.includes(name)) : []
          if (arrived.length > 0) return `${arrived.join(', ')} arrived in the inbox`
          await svc.clock.sleep(LOOK_MS, signal)
          signal.throwIfAborted()
        }
      },
    })
  },
})
