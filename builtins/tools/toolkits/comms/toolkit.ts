import { type PluginHandle, z } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { Mail } from '#society/a2a/contract'
import { type Toolkit, tool } from '#tools/toolkits/contract'

/** Maximum number of messages shown, and maximum length of each, in characters. */
const SHOWN = 10
const LONGEST = 1_500

/**
 * Tools for simple messages without types and threads, in the same mailboxes as all others. A message is sent in the
 * commit of its call, so exactly once.
 */
export function commsToolkit(svc: PluginHandle): Toolkit {
  return {
    name: 'comms',
    // Messages of the operator ask for an answer: a tool that came only then would change what the provider has cached.
    everyday: true,
    tools: [
      tool({
        name: 'send_message',
        description: 'Send a short message to another agent, or to the operator.',
        parameters: z.object({
          target_agent: z.string().min(1).max(128).describe("Agent's id or name, or: operator"),
          message: z.string().min(1).max(100_000),
        }),
        idempotent: true,
        async execute({ target_agent, message }, call) {
          const draft = { type: 'request', from_agent: call.agent_id, to: target_agent, body: message } as const
          const posted = await svc.use(Mail).post({ ...draft, expects_reply: false, metadata: { channel: 'comms' } })
          for (const effect of posted.effects) call.effect(effect)
          return `Sent to ${posted.message.to_agent} as ${posted.message.message_id}.`
        },
      }),
      tool({
        name: 'read_inbox',
        description:
          'Read your unread messages and mark them as read. If there are none, show the latest messages that you have read.',
        parameters: z.object({}),
        hidden: true,
        idempotent: true,
        async execute(_, call) {
          const mail = svc.use(Mail)
          const owner = call.agent_id
          const unread = await mail.listUnread(owner, SHOWN)
          const shown = unread.length > 0 ? unread : await mail.list({ owner, box: 'inbox' }, { limit: 3 })
          if (shown.length === 0) return 'No messages.'
          call.effect(mail.read(unread.map(({ message_id }) => message_id)))
          const left = unread.length > 0 ? (await mail.count({ owner, box: 'inbox', unread: true })) - unread.length : 0
          const texts = await Promise.all(shown.map(message => mail.textForModel(message, owner, LONGEST)))
          const head =
            unread.length > 0 ? `${unread.length} unread:` : 'No unread messages. The latest ones that you have read:'
          return [
            head,
            ...texts,
            ...(left > 0 ? [`${pluralize(left, 'more unread message')}: call read_inbox again.`] : []),
          ].join('\n\n')
        },
      }),
    ],
  }
}
