import { InvalidConfigError, operation, z } from '#kernel'
import { BadFileError } from '#lib/yaml'
import { NoNotificationUrlError, NotificationFailedError, NotificationSent } from './contract.ts'
import { OwnNotifier } from './notifier.ts'

export const notificationsTest = operation({
  name: 'notifications.test',
  summary: 'Send a test notification',
  description: 'Sends it to notifications.url, and fails when it is not accepted there.',
  input: z.object({}),
  output: NotificationSent,
  http: { method: 'POST', path: '/notifications/test' },
  cli: { usage: 'notifications test' },
  errors: [NoNotificationUrlError, NotificationFailedError, InvalidConfigError, BadFileError],
  async run(_, { svc }) {
    // An address that was just set is tested, rather than the one of the last heartbeat.
    const keys = await svc.config.reload()
    if (keys.length > 0) await svc.emit('config_changed', { keys })
    return svc.use(OwnNotifier).test()
  },
  render: ({ status, text }) => `sent (HTTP ${status}): ${text}`,
})
