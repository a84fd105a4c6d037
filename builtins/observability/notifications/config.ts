import { z } from '#kernel'
import { isHttpUrl } from '#lib/http-url'

/** Events for which an operator usually has to do something. */
const USUAL = ['approval_requested', 'question_asked', 'budget_exceeded', 'agent_budget_exhausted', 'agent_died']

/** The section `notifications`. */
export const NotificationsConfig = z.object({
  url: z
    .string()
    .refine(text => text === '' || isHttpUrl(text), 'must be an http or https URL')
    .default('')
    .meta({ env: 'SVC_NOTIFICATIONS_URL', secret: true, reload: 'applied' })
    .describe('Where notifications are sent by POST; empty sends none'),
  format: z
    .enum(['json', 'chat', 'text'])
    .default('json')
    .meta({ reload: 'applied' })
    .describe(
      'Body of a notification: json has the text and its events, chat only {"text": …} as Slack, Mattermost and Google Chat take it, text plain text as ntfy takes it',
    ),
  events: z
    .array(z.string().min(1).max(64))
    .default(USUAL)
    .meta({ reload: 'applied' })
    .describe('Types of events to send'),
})
export type NotificationsConfig = z.output<typeof NotificationsConfig>
