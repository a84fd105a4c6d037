/** Contract of notifications: events that are sent to the operator. */
import { defineError, z } from '#kernel'

export const NotificationSent = z.object({
  text: z.string().describe('Text of the notification'),
  status: z.int().describe('HTTP status of the answer'),
})
export type NotificationSent = z.infer<typeof NotificationSent>

/** No address is set to which notifications could be sent. */
export const NoNotificationUrlError = defineError({
  code: 'no_notification_url',
  status: 409,
  title: 'No notification URL',
  message: () => 'No address for notifications is set; set one with: svc config set notifications.url https://…',
})
/** The receiver of a notification cannot be reached, or did not accept it. */
export const NotificationFailedError = defineError({
  code: 'notification_failed',
  status: 502,
  title: 'Notification failed',
  message: (p: { problem: string }) => `The notification was not accepted: ${p.problem}.`,
})
