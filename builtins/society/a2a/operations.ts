import { AgentDeadError, AgentNotFoundError, AgentRef, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { operation, type PluginHandle, z } from '#kernel'
import { idSchema } from '#lib/id-schema'
import { Page } from '#lib/list'
import { DatedPage, type Dates, isoTime, Store } from '#platform/store/contract'
import {
  A2AMessage,
  InboxFullError,
  Mail,
  MessageNotFoundError,
  MessageSizeError,
  MessageType,
  OPERATOR,
  ThreadTooLongError,
} from './contract.ts'
import { messagesGraph } from './graph.ts'
import { countThreads, listThreads, messageOf, messagesOfThread, Thread } from './repository.ts'

const agentId = AgentRef.describe(
  "An agent's id, or its name when only one has it; `operator` for the operator's mailbox",
)
const messageId = idSchema("A message's id", 'msg-1a2b3c4d5e6f')
/** Errors of an agent's id or name that cannot be resolved. */
const refErrors = [AgentNotFoundError, AmbiguousAgentError] as const

const mail = (svc: PluginHandle) => svc.use(Mail)

/** Returns the owner of a mailbox: an agent's id, or `operator`. */
const ownerOf = async (svc: PluginHandle, ref: string) =>
  ref === OPERATOR ? ref : (await svc.use(Agents).find(ref)).agent_id

type Filter = z.infer<typeof Filters> & Dates

/** Replaces names of agents in a filter by their ids. */
const resolveFilter = async (svc: PluginHandle, { id: ref, peer, ...rest }: Filter) => ({
  ...rest,
  owner: await ownerOf(svc, ref),
  ...(peer === undefined ? {} : { peer: await ownerOf(svc, peer) }),
})

const Filters = z.object({
  id: agentId,
  box: z
    .enum(['inbox', 'outbox', 'all'])
    .default('all')
    .describe('Messages that the agent received (inbox), sent (outbox), or both'),
  unread: z.boolean().optional().describe('Only unread messages (true) or only read ones (false)'),
  type: MessageType.optional().describe('Only messages of this type'),
  peer: z.string().min(1).max(128).optional().describe('Only messages with this agent, or `operator`'),
})

export const messagesList = operation({
  name: 'messages.list',
  summary: "List an agent's messages, newest first",
  description: 'Lists messages that the agent received and sent, with their state.',
  input: DatedPage.extend(Filters.shape),
  output: z.array(A2AMessage),
  http: { method: 'GET', path: '/agents/{id}/messages' },
  cli: { usage: 'messages <id>', short: { limit: 'n' } },
  mcp: true,
  errors: refErrors,
  run: async ({ limit, offset, order, ...filter }, { svc }) =>
    mail(svc).list(await resolveFilter(svc, filter), { limit, offset, order }),
  count: async ({ limit: _, offset: __, order: ___, ...filter }, { svc }) =>
    mail(svc).count(await resolveFilter(svc, filter)),
  render: messages => messages.map(formatLine).join('\n') || 'no messages',
})

export const messagesSend = operation({
  name: 'messages.send',
  summary: 'Send a message to an agent',
  description: 'The message is sent as the operator; the answer goes to `operator`.',
  input: z.strictObject({
    id: AgentRef,
    body: z
      .string()
      .min(1)
      .max(100_000)
      .refine(text => text.trim() !== '', 'must not be empty')
      .meta({ examples: ['Which of the two drafts is the newer one?'] })
      .describe('Text of the message'),
    type: MessageType.default('request').describe('Type of the message'),
    subject: z.string().max(1_000).default('').describe('Subject of the message'),
    reply_to: z.string().min(1).max(128).optional().describe('Id of the message that this one answers'),
    priority: z
      .int()
      .min(0)
      .max(9)
      .default(4)
      .describe('Priority from 0 to 9; messages with a higher priority are read first'),
  }),
  output: z.object({
    message_id: A2AMessage.shape.message_id,
    answer: A2AMessage.nullable().describe('Immediate answer from a rule; null if there is none'),
  }),
  http: { method: 'POST', path: '/agents/{id}/messages', status: 201, idempotent: true },
  cli: { usage: 'send <id> <body...>', short: { type: 't', subject: 's' } },
  mcp: true,
  errors: [...refErrors, AgentDeadError, MessageSizeError, InboxFullError, MessageNotFoundError, ThreadTooLongError],
  async run({ id: to, reply_to, ...draft }, { svc, effects: callEffects = [] }) {
    const { message, answer, effects } = await mail(svc).post({
      ...draft,
      to,
      from_agent: OPERATOR,
      ...(reply_to === undefined ? {} : { reply_to }),
    })
    await svc.use(Store).apply([...effects, ...callEffects])
    return { message_id: message.message_id, answer: answer ?? null }
  },
  render: ({ message_id, answer }) => (answer ? `${message_id}: ${answer.type}: ${answer.body}` : message_id),
})

export const messagesGet = operation({
  name: 'messages.get',
  summary: 'Show a message',
  description: 'Includes sender, recipient, type and body.',
  input: z.object({ message_id: messageId }),
  output: A2AMessage,
  http: { method: 'GET', path: '/messages/{message_id}' },
  mcp: true,
  errors: [MessageNotFoundError],
  run: ({ message_id }, { svc }) => mail(svc).find(message_id),
})

export const messagesThread = operation({
  name: 'messages.thread',
  summary: 'Show the thread of a message, oldest first',
  description: 'Lists all messages of the thread that contains the given message.',
  input: z.object({ message_id: messageId }),
  output: z.array(A2AMessage),
  http: { method: 'GET', path: '/messages/{message_id}/thread' },
  cli: { usage: 'thread <message_id>' },
  mcp: true,
  errors: [MessageNotFoundError],
  async run({ message_id }, { svc }) {
    const { thread_id } = await mail(svc).find(message_id)
    return (await messagesOfThread(svc.use(Store), thread_id)).map(messageOf)
  },
  render: messages => messages.map(message => `${formatLine(message)}\n${message.body}`).join('\n\n'),
})

export const messagesThreads = operation({
  name: 'messages.threads',
  summary: "List an agent's threads, most recently active first",
  description: 'A thread is a message with its answers.',
  input: Page.extend({ id: agentId }),
  output: z.array(Thread),
  http: { method: 'GET', path: '/agents/{id}/threads' },
  cli: { usage: 'threads <id>', short: { limit: 'n' } },
  mcp: true,
  errors: refErrors,
  async run({ id: ref, limit, offset }, { svc }) {
    const rows = await listThreads(svc.use(Store), await ownerOf(svc, ref), limit ?? -1, offset)
    return rows.map(row => ({ ...row, last_at: isoTime(row.last_at) }))
  },
  count: async ({ id: ref }, { svc }) => countThreads(svc.use(Store), await ownerOf(svc, ref)),
})

/** Operations with which an operator reads and sends messages. */
export const messageOperations = [
  messagesList,
  messagesSend,
  messagesGet,
  messagesThread,
  messagesThreads,
  messagesGraph,
]

function formatLine({ message_id, ts, type, from_agent, to_agent, subject, body, read }: A2AMessage): string {
  const text = (subject || body).replace(/\s+/g, ' ').slice(0, 80)
  return `${message_id}  ${ts.slice(0, 16).replace('T', ' ')}  ${read ? ' ' : '*'} ${type}  ${from_agent} → ${to_agent}  ${text}`
}
