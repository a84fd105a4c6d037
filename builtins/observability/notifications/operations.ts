import { operation, z } from '#kernel'
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
  errors: [NoNotificationUrlError, NotificationFailedError],
  run: (_, { svc }) => svc.use(OwnNotifier).test(),
  render: ({ status, text }) => `sent (HTTP ${status}): ${text}`,
})
