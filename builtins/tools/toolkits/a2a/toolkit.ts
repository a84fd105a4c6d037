import { Agents } from '#core/agents/contract'
import { type PluginHandle, z } from '#kernel'
import { type A2AMessage, Mail, type MessageType, OPERATOR, type PreparedMessage } from '#society/a2a/contract'
import { type Tool, type ToolCall, type Toolkit, tool } from '#tools/toolkits/contract'
import { peersTools } from './peers.ts'

/** Maximum number of listed messages, and maximum length of a shown one, in characters. */
const LISTED = 10
const LONGEST = 15_000
const LISTED_CHARACTERS = 200

const to = z.string().min(1).max(128).describe("Agent's id or name, or: operator")
const body = z.string().min(1).max(100_000)
const files = z.array(z.string().min(1)).max(10).default([]).describe('Paths of your files to send along')
const id = z.string().min(1).max(128).describe("The message's id")

/** What an agent says, and paths of the files that it sends along. */
interface Said {
  body: string
  files?: readonly string[]
}

/** Says how the answer to a message arrives, so that its sender does not look for it again and again. */
async function outlookOf(
  svc: PluginHandle,
  { goal_id }: ToolCall,
  { to_agent, message_id }: A2AMessage,
): Promise<string> {
  const { paused_at = null } = to_agent === OPERATOR ? {} : await svc.use(Agents).find(to_agent)
  const pause = paused_at === null ? '' : ` ${to_agent} is paused and can answer only when it is resumed.`
  return goal_id === null
    ? `The answer does not come within this task: you read it in your goals.${pause}`
    : `The answer comes to you as a message, also after this goal. If you need it before you go on, answer "I wait for ${message_id}"; otherwise go on without looking for it.${pause}`
}

/** Tools for typed messages. A message is sent in the commit of its call, so exactly once. */
export function a2aToolkit(svc: PluginHandle): Toolkit {
  const mail = () => svc.use(Mail)
  const sends = async (call: ToolCall, { message, answer, effects }: PreparedMessage) => {
    for (const effect of effects) call.effect(effect)
    const sent = `Sent to ${message.to_agent} as ${message.message_id}.`
    if (answer) return `${sent} Answered at once with ${answer.type}: ${answer.body}`
    return message.expects_reply ? `${sent} ${await outlookOf(svc, call, message)}` : sent
  }
  const asks = <P extends z.ZodType>(
    name: string,
    type: MessageType,
    description: string,
    parameters: P,
    say: (args: z.output<P>) => Said & { to: string; subject?: string; priority?: number },
  ): Tool =>
    tool({
      name,
      description,
      parameters,
      idempotent: true,
      async execute(args, call) {
        const { files: paths = [], ...more } = say(args as z.output<P>)
        return sends(call, await mail().post({ type, from_agent: call.agent_id, ...more, files: { call, paths } }))
      },
    })
  const answers = <P extends z.ZodType>(
    name: string,
    description: string,
    parameters: P,
    say: (args: z.output<P>) => Said & { id: string; type?: MessageType },
  ): Tool =>
    tool({
      name,
      description,
      parameters,
      idempotent: true,
      async execute(args, call) {
        const { id: message_id, body: text, files: paths = [], type } = say(args as z.output<P>)
        return sends(call, await mail().reply(message_id, call.agent_id, text, type, { call, paths }))
      },
    })

  return {
    name: 'a2a',
    tools: [
      asks(
        'send_request',
        'request',
        'Ask another agent for help with something. It cannot read the files of your own folder: send them along with files. The answer comes as a message, later.',
        z.object({
          to,
          subject: z.string().max(1_000),
          body,
          files,
          priority: z.coerce
            .number()
            .int()
            .min(0)
            .max(9)
            .default(4)
            .describe('Priority from 0 to 9; messages with a higher priority are read first'),
        }),
        args => args,
      ),
      asks(
        'send_query',
        'query',
        'Ask another agent a question. The answer comes as a message, later; if you cannot go on without it, use delegate_task with wait instead, where you have it.',
        z.object({ to, question: body }),
        ({ to: whom, question }) => ({ to: whom, body: question }),
      ),
      asks(
        'send_review_request',
        'review',
        'Ask another agent to review your work. It cannot read the files of your own folder: send them along with files.',
        z.object({ to, subject: z.string().max(1_000), body, files }),
        args => args,
      ),
      tool({
        name: 'check_inbox',
        description:
          'List the messages that you have not read or not answered, each with its beginning; read_message shows a whole message.',
        parameters: z.object({ unread_only: z.boolean().default(true) }),
        read_only: true,
        async execute({ unread_only }, { agent_id: owner }) {
          const show = (found: readonly A2AMessage[]) =>
            Promise.all(found.map(message => mail().textForModel(message, owner, LISTED_CHARACTERS)))
          const filter = { owner, box: 'inbox', ...(unread_only ? { unread: true } : {}) } as const
          const found = unread_only
            ? await mail().listUnread(owner, LISTED)
            : await mail().list(filter, { limit: LISTED })
          const owed = unread_only ? await mail().listUnanswered(owner, LISTED) : []
          const more = (await mail().count(filter)) - found.length
          return [
            ...(found.length === 0 ? [unread_only ? 'No unread messages.' : 'No messages.'] : await show(found)),
            ...(more > 0 ? [`${more} more; read or answer these first.`] : []),
            ...(owed.length > 0 ? ['Messages that you read and have not answered:', ...(await show(owed))] : []),
          ].join('\n\n')
        },
      }),
      tool({
        name: 'read_message',
        description: 'Read a whole message by its id. This marks it as read.',
        parameters: z.object({
          id,
          offset: z.coerce.number().int().min(0).default(0).describe('Characters to skip'),
        }),
        idempotent: true,
        async execute({ id: message_id, offset }, call) {
          const message = await mail().find(message_id, call.agent_id)
          if (message.to_agent === call.agent_id && !message.read) call.effect(mail().read([message_id]))
          return mail().textForModel(message, call.agent_id, LONGEST, offset)
        },
      }),
      answers('reply', 'Answer a message that you received.', z.object({ id, body, files }), args => args),
      answers(
        'accept_request',
        'Accept a request, review or delegation. You are then expected to answer it.',
        z.object({ id, body: z.string().max(100_000).optional() }),
        ({ id: message_id, body: text }) => ({ id: message_id, body: text?.trim() || 'Accepted.', type: 'ack' }),
      ),
      answers(
        'reject_request',
        'Decline what a message asks, with the reason.',
        z.object({ id, reason: z.string().max(100_000).optional() }),
        ({ id: message_id, reason }) => ({ id: message_id, body: reason?.trim() || 'Declined.', type: 'reject' }),
      ),
      ...peersTools(svc),
    ],
  }
}
