import type { AgentRow } from '#core/agents/contract'
import { defineError, type Effect, point, token, z } from '#kernel'
import type { Dates, ListWindow } from '#platform/store/contract'
import type { Reach } from '#safety/sandbox/contract'
import type { ToolCall } from '#tools/toolkits/contract'

export const MESSAGE_TYPES = [
  ...(['request', 'response', 'query', 'answer', 'review', 'feedback', 'delegate', 'ack', 'reject'] as const),
] as const
export const MessageType = z.enum(MESSAGE_TYPES)
export type MessageType = z.infer<typeof MessageType>

/** Types allowed for a reply to each message type, the usual one first; empty when no reply is expected. */
export const REPLIES: Readonly<Record<MessageType, readonly MessageType[]>> = {
  request: ['response'],
  response: [],
  query: ['answer'],
  answer: [],
  review: ['feedback'],
  feedback: [],
  delegate: ['ack', 'reject'],
  ack: [],
  reject: [],
}

/** Sender or recipient id that stands for a person instead of an agent. */
export const OPERATOR = 'operator'

/** A message between agents, as shown in mailboxes and lists. */
export const A2AMessage = z
  .object({
    message_id: z.string().meta({ examples: ['msg-1a2b3c4d5e6f'] }),
    type: MessageType,
    from_agent: z
      .string()
      .describe("An agent's id, or `operator`")
      .meta({ examples: ['coder-1a2b3c4d'] }),
    to_agent: z
      .string()
      .describe("An agent's id, or `operator`")
      .meta({ examples: ['tester-5e6f7a8b'] }),
    subject: z.string(),
    body: z.string(),
    reply_to: z.string().nullable().describe('Id of the message that this one answers'),
    thread_id: z.string().describe('Id of the first message of the thread'),
    priority: z.int().describe('Priority; messages with a higher priority are read first (default: 4)'),
    expects_reply: z.boolean(),
    read: z.boolean(),
    metadata: z.record(z.string(), z.unknown()),
    ts: z.iso.datetime(),
  })
  .meta({ id: 'A2AMessage' })
export type A2AMessage = z.infer<typeof A2AMessage>

/** A message before it is sent. */
export interface Draft {
  type: MessageType
  /** An agent's id, or `operator`. */
  from_agent: string
  /** An agent's id, its name when only one has it, or `operator`. */
  to: string
  subject?: string
  body: string
  /**
   * Files to send along, within reach of this call of the sender. They are copied into the recipient's own folder, which
   * the sender cannot reach otherwise, and replace nothing there: a file of the same name gets a number. The operator
   * reads where they are.
   */
  files?: SentFiles
  reply_to?: string
  /** 0 to 9. Default: 4. */
  priority?: number
  /** Whether a reply is expected; depends on the type by default. */
  expects_reply?: boolean
  metadata?: Readonly<Record<string, unknown>>
  /** The pattern to which the message belongs. */
  pattern_id?: string
  /** Idempotency key: a message with a known id is not sent again. */
  message_id?: string
  /** Whether a duplicate rolls back its whole transaction, for messages that several processes may find to send. */
  once?: boolean
  /** The file mailbox from which the message was read and which therefore already holds it. */
  taken_from?: 'inbox' | 'outbox'
}

/** Files that go with a message: paths within reach of its sender. */
export interface SentFiles {
  call: Reach & Pick<ToolCall, 'agent_id'>
  paths: readonly string[]
}

/** A message ready to send. It is sent, and its recipient woken, when the effects are committed. */
export interface PreparedMessage {
  message: A2AMessage
  /** Reply given at once by a rule. */
  answer?: A2AMessage
  effects: Effect[]
}

export interface Mail {
  /**
   * Prepares a message: finds its recipient, sanitizes and checks its text, and lets rules reply to it.
   * @throws AgentNotFoundError, AmbiguousAgentError, AgentDeadError, MessageToSelfError, MessageSizeError,
   * InboxFullError, ThreadTooLongError, MessageNotFoundError, GuardrailBlockedError; for files also ToolError,
   * OutsideError, PathError
   */
  post(draft: Draft): Promise<PreparedMessage>
  /** Prepares a reply to a message that this agent received, by default with the usual type for it. */
  reply(
    message_id: string,
    from_agent: string,
    body: string,
    type?: MessageType,
    files?: SentFiles,
  ): Promise<PreparedMessage>
  /**
   * Copies files into an agent's own folder, as with a message.
   * @returns the absolute paths of the copies
   * @throws ToolError, GuardrailBlockedError, OutsideError and PathError; nothing was copied then
   */
  copyFiles(recipient: AgentRow, files: SentFiles): Promise<string[]>
  /** Returns a message that this agent, or the operator, sent or received. @throws MessageNotFoundError */
  find(message_id: string, whose?: string): Promise<A2AMessage>
  /** Returns an agent's unread messages, highest priority first, then oldest first. */
  listUnread(agent_id: string, limit: number): Promise<A2AMessage[]>
  /** Returns an agent's messages that it has read and must still answer, newest first. */
  listUnanswered(agent_id: string, limit: number): Promise<A2AMessage[]>
  /** @deprecated Use `listUnread`. */
  unread?: Mail['listUnread']
  /** Returns matching messages, newest first. */
  list(filter: MessageFilter, page: ListWindow): Promise<A2AMessage[]>
  count(filter: MessageFilter): Promise<number>
  /** Returns the effect that marks messages as read; it must be in the commit that records the reading. */
  read(message_ids: readonly string[]): Effect
  /**
   * Returns a message for a model: sanitized, checked and fenced as data. Of the body, at most `longest` characters from
   * `offset`, by default its beginning.
   */
  textForModel(message: A2AMessage, reader: string, longest: number, offset?: number): Promise<string>
  /** @deprecated Use `textForModel`. */
  shown?: Mail['textForModel']
}
export const Mail = token<Mail>('mail')

/** Other live agents that an agent may see. */
export interface Peers {
  /**
   * Returns one line per agent with id, name, role and work: best matches of the words first, else newest first. `more`
   * is the number left out.
   */
  list(agent_id: string, limit: number, words?: string): Promise<{ lines: string[]; more: number }>
}
export const Peers = token<Peers>('peers')

export interface MessageFilter extends Dates {
  /** Owner of the mailbox: an agent's id, or `operator`. */
  owner: string
  box?: 'inbox' | 'outbox' | 'all' | undefined
  unread?: boolean | undefined
  type?: MessageType | undefined
  /** The other party. */
  peer?: string | undefined
  thread_id?: string | undefined
}

/** Replies to messages of some types at once, without a model, in the commit that sends them. */
export interface AutoReply {
  name: string
  /** Order of the rules; lower stages are asked first. Default: 0. */
  stage?: number
  types: readonly MessageType[]
  /**
   * Returns a reply; undefined passes the message to the next rule, and finally to the agent. `effects` carry out what
   * the reply promises.
   */
  answer(
    message: A2AMessage,
    recipient: AgentRow,
  ): Promise<{ type: MessageType; body: string; effects?: readonly Effect[] } | undefined>
}
export const AutoReplies = point<AutoReply>('auto_replies', {
  key: rule => rule.name,
  has: { name: 'text', types: 'list', answer: 'function' },
  stage: rule => rule.stage,
  ask: async (rule, { message, recipient }: { message: A2AMessage; recipient: AgentRow }) =>
    rule.types.includes(message.type) ? rule.answer(message, recipient) : undefined,
})

export const MessageSent = z
  .object({
    message_id: z.string(),
    type: MessageType,
    from_agent: z.string(),
    to_agent: z.string(),
    reply_to: z.string().nullable(),
    pattern_id: z.string().nullable(),
  })
  .describe('An agent or the operator sent a message; its text is in the mailbox')

declare module '#kernel' {
  interface Events {
    message_sent: z.infer<typeof MessageSent>
  }
}

/** No message has this id, or it is in the mailboxes of others. */
export const MessageNotFoundError = defineError({
  code: 'message_not_found',
  status: 404,
  title: 'Message not found',
  message: (p: { message_id: string; whose?: string }) =>
    p.whose === undefined
      ? `There is no message "${p.message_id}"; list them with: svc messages <agent>`
      : `There is no message "${p.message_id}" in the mailbox of ${p.whose}.`,
})
export const MessageToSelfError = defineError({
  code: 'message_to_self',
  status: 422,
  title: 'Message to self',
  message: () => 'A message cannot go to its own sender.',
})
/** The message is empty, or longer than a2a.max_body. */
export const MessageSizeError = defineError({
  code: 'message_size',
  status: 422,
  title: 'Invalid message length',
  message: (p: { length: number; limit: number }) =>
    p.length === 0
      ? 'The message is empty after control characters and tags were removed; write some text.'
      : `The message has ${p.length} characters; a2a.max_body allows ${p.limit}. Write long texts to a file and send it along with files.`,
})
export const InboxFullError = defineError({
  code: 'inbox_full',
  status: 409,
  title: 'Inbox full',
  message: (p: { agent_id: string; limit: number }) =>
    `${p.agent_id} has ${p.limit} unread messages, which is the maximum (a2a.max_unread); wait until it has read some.`,
})
export const ThreadTooLongError = defineError({
  code: 'thread_too_long',
  status: 409,
  title: 'Thread too long',
  message: (p: { thread_id: string; limit: number }) =>
    `The thread ${p.thread_id} has reached its limit of ${p.limit} messages (a2a.max_thread). Act on what was said, or start a new thread.`,
})
export const PingPongError = defineError({
  code: 'ping_pong',
  status: 409,
  title: 'Ping-pong',
  message: (p: { from: string; to: string; problem: string }) =>
    `The message from ${p.from} to ${p.to} was not sent: ${p.problem}. Act on what is known, or ask another agent.`,
})
/** A reply went to a message that takes none; the remedy names the message that its sender waits for, if there is one. */
export const NoReplyExpectedError = defineError({
  code: 'no_reply_expected',
  status: 409,
  title: 'No reply expected',
  message: (p: { message_id: string; type: string; problem: string; open?: string | undefined }) =>
    `Message ${p.message_id} (${p.type}) ${p.problem}; ${p.open ? `reply to ${p.open}, which its sender still waits for` : 'to say more, send a new request'}.`,
})
