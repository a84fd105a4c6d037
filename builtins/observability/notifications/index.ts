import { definePlugin } from '#kernel'
import { DaemonStatusParts } from '#platform/daemon/contract'
import { NotificationsConfig } from './config.ts'
import { Notifier, OwnNotifier } from './notifier.ts'
import { notificationsTest } from './operations.ts'

export default definePlugin({
  name: 'notifications',
  description: 'Sends what needs the operator to a chat, a phone or any URL. Off by default.',
  needs: ['store', 'agents'],
  section: 'notifications',
  config: NotificationsConfig,
  setup(svc, config) {
    const notifier = new Notifier(svc, config)
    svc.provide(OwnNotifier, notifier)
    svc.operation(notificationsTest)
    svc.add(DaemonStatusParts, { name: 'notifications', read: async () => ({ problems: notifier.problems() }) })
    // A slow receiver holds up nothing else that the heartbeat does.
    svc.on('beat', () => void notifier.deliver())
  },
})
