import { AgentDeadError, type AgentRow, Agents } from '#core/agents/contract'
import { type Effect, type PluginHandle, parse, z } from '#kernel'
import { sanitize } from '#lib/sanitize'
import { appendEvent, isoTime, type ListWindow, Store, wakeAgents } from '#platform/store/contract'
import { GuardrailBlockedError, Guardrails } from '#safety/guardrails/contract'
import type { A2AConfig } from './config.ts'
import {
  type A2AMessage,
  AutoReplies,
  type AutoReply,
  type Draft,
  InboxFullError,
  type Mail,
  type MessageFilter,
  MessageNotFoundError,
  MessageSizeError,
  MessageToSelfError,
  type MessageType,
  NoReplyExpectedError,
  OPERATOR,
  type PreparedMessage,
  REPLIES,
  type SentFiles,
  ThreadTooLongError,
} from './contract.ts'
import { fencedMessage, headOf } from './fence.ts'
import { copyFiles, sendFiles } from './files.ts'
import { refuseLoops } from './loops.ts'
import {
  answerTo,
  countMessages,
  findMessage,
  insertMessage,
  insertOnce,
  listMessages,
  messageOf,
  messagesRead,
  threadLength,
  unansweredMessages,
  unreadCount,
  unreadMessages,
} from './repository.ts'

const LONGEST_SUBJECT = 200
/** Number of unanswered messages that are searched for the one that a reply may be meant for. */
const OPEN_SEARCHED = 20
const LONGEST_METADATA = 4_000
/** Shown to an agent in place of a message that a guardrail blocked. */
const BLOCKED = '[A message was withheld by a guardrail.]'

const Metadata = z
  .record(z.string().max(64), z.unknown())
  .refine(value => JSON.stringify(value).length <= LONGEST_METADATA, `must have at most ${LONGEST_METADATA} characters`)

/** Fields that only the message's row has. */
type Origin = {
  pattern_id?: string | null | undefined
  taken_from?: Draft['taken_from'] | null | undefined
  once?: boolean
}

/**
 * Messages between agents. They are rows, sent by effects, so that each is sent exactly once, in one transaction with
 * related changes.
 */
export class MailService implements Mail {
  readonly #svc: PluginHandle
  readonly #config: A2AConfig

  constructor(svc: PluginHandle, config: A2AConfig) {
    this.#svc = svc
    this.#config = config
  }

  get #store(): Store {
    return this.#svc.use(Store)
  }

  async post(given: Draft): Promise<PreparedMessage> {
    const recipient = await this.#recipient(given)
    const answered = given.reply_to === undefined ? undefined : await this.find(given.reply_to)
    const thread = await this.#thread(answered)
    const body = given.body + (await sendFiles(this.#svc, recipient, given.files))
    const draft = { ...given, body, pattern_id: given.pattern_id ?? patternOf(answered) }
    const message = await this.#message(draft, recipient?.agent_id ?? OPERATOR, thread)
    await refuseLoops(this.#svc, this.#config, draft, message)
    const answer = recipient
      ? await this.#svc.ask<AutoReply, object, Awaited<ReturnType<AutoReply['answer']>>>(AutoReplies as never, {
          message: draft.pattern_id
            ? { ...message, metadata: { ...message.metadata, pattern_id: draft.pattern_id } }
            : message,
          recipient,
        })
      : undefined
    if (!answer || !recipient) return { message, effects: this.#sendEffect(message, draft) }
    const reply = await this.#message(
      {
        type: answer.type,
        from_agent: recipient.agent_id,
        to: message.from_agent,
        body: answer.body,
        reply_to: message.message_id,
        message_id: `${message.message_id}-${answer.type}`,
      },
      message.from_agent,
      message.thread_id,
    )
    const [readRequest, readReply] = [
      { ...message, read: true },
      { ...reply, read: true },
    ]
    const sent = [
      ...this.#sendEffect(readRequest, draft),
      ...this.#sendEffect(readReply, { pattern_id: draft.pattern_id }),
    ]
    return { message: readRequest, answer: readReply, effects: [...sent, ...(answer.effects ?? [])] }
  }

  copyFiles(recipient: AgentRow, files: SentFiles): Promise<string[]> {
    return copyFiles(this.#svc, recipient, files)
  }

  async reply(
    message_id: string,
    from_agent: string,
    body: string,
    type?: MessageType,
    files?: SentFiles,
  ): Promise<PreparedMessage> {
    const message = await this.find(message_id, from_agent)
    const of = { message_id, type: message.type }
    if (message.to_agent !== from_agent) throw new NoReplyExpectedError({ ...of, problem: 'is your own' })
    const openOfSender = async () => {
      const open = await this.listUnanswered(from_agent, OPEN_SEARCHED)
      return open.find(each => each.from_agent === message.from_agent)?.message_id
    }
    const answered = await answerTo(this.#store, message_id, from_agent)
    // An acknowledgement may be followed by the actual reply.
    if (answered && answered.type !== 'ack')
      throw new NoReplyExpectedError({
        ...of,
        problem: `was answered already, by ${answered.message_id}`,
        open: await openOfSender(),
      })
    const usual = answered ? 'response' : REPLIES[message.type][0]
    if (!usual) throw new NoReplyExpectedError({ ...of, problem: 'expects no answer', open: await openOfSender() })
    const posted = await this.post({
      type: type ?? usual,
      from_agent,
      to: message.from_agent,
      body,
      reply_to: message_id,
      ...(message.subject ? { subject: `Re: ${message.subject.replace(/^(Re: )+/, '')}` } : {}),
      ...(files ? { files } : {}),
    })
    return { ...posted, effects: [...posted.effects, this.read([message_id])] }
  }

  async find(message_id: string, whose?: string): Promise<A2AMessage> {
    const row = await findMessage(this.#store, message_id)
    // Messages of other agents are treated as missing.
    if (!row || (whose !== undefined && row.from_agent !== whose && row.to_agent !== whose))
      throw new MessageNotFoundError({ message_id, ...(whose === undefined ? {} : { whose }) })
    return messageOf(row)
  }

  async listUnread(agent_id: string, limit: number): Promise<A2AMessage[]> {
    return (await unreadMessages(this.#store, agent_id, limit)).map(messageOf)
  }

  async listUnanswered(agent_id: string, limit: number): Promise<A2AMessage[]> {
    return (await unansweredMessages(this.#store, agent_id, limit)).map(messageOf)
  }

  async list(filter: MessageFilter, page: ListWindow) {
    return (await listMessages(this.#store, filter, page)).map(messageOf)
  }

  count(filter: MessageFilter): Promise<number> {
    return countMessages(this.#store, filter)
  }

  read(message_ids: readonly string[]): Effect {
    return messagesRead({ message_ids: [...message_ids] })
  }

  async textForModel(message: A2AMessage, reader: string, longest: number, offset?: number): Promise<string> {
    const subject = await this.#sanitizeIncoming(message.subject, reader)
    const body = await this.#sanitizeIncoming(message.body, reader)
    return `${await headOf(this.#store, message, reader)}\n${fencedMessage({ subject, body }, longest, offset)}`
  }

  async #recipient({ from_agent, to }: Draft): Promise<AgentRow | undefined> {
    if (to === OPERATOR && from_agent !== OPERATOR) return undefined
    const agent = await this.#svc.use(Agents).find(to, from_agent === OPERATOR ? undefined : from_agent)
    if (agent.agent_id === from_agent) throw new MessageToSelfError()
    if (agent.died_at !== null) throw new AgentDeadError({ agent_id: agent.agent_id })
    const limit = this.#config.max_unread
    if ((await unreadCount(this.#store, agent.agent_id)) >= limit)
      throw new InboxFullError({ agent_id: agent.agent_id, limit })
    return agent
  }

  /** Builds a message. @param thread_id thread of the message that it replies to */
  async #message(
    draft: Omit<Draft, 'pattern_id'>,
    to_agent: string,
    thread_id: string | undefined,
  ): Promise<A2AMessage> {
    const { type, from_agent, reply_to = null } = draft
    const message_id = draft.message_id ?? this.#svc.ports.ids.make('msg', 12)
    const metadata = parse(Metadata, draft.metadata ?? {}, "The message's metadata")
    const subject = (await this.#sanitizeOutgoing(draft.subject ?? '', from_agent)).replace(/\s+/g, ' ')
    return {
      message_id,
      type,
      from_agent,
      to_agent,
      reply_to,
      subject: subject.length > LONGEST_SUBJECT ? `${subject.slice(0, LONGEST_SUBJECT - 1)}…` : subject,
      body: await this.#body(draft),
      thread_id: thread_id ?? message_id,
      priority: Math.min(9, Math.max(0, Math.round(draft.priority ?? 4))),
      expects_reply: draft.expects_reply ?? REPLIES[type].length > 0,
      read: false,
      metadata,
      ts: isoTime(this.#svc.clock.ms()),
    }
  }

  async #body({ body, from_agent }: Pick<Draft, 'body' | 'from_agent'>): Promise<string> {
    const limit = this.#config.max_body
    if (body.length > limit) throw new MessageSizeError({ length: body.length, limit })
    const clean = await this.#sanitizeOutgoing(body, from_agent)
    if (clean === '') throw new MessageSizeError({ length: 0, limit })
    return clean
  }

  /** Returns the thread of a reply. @throws ThreadTooLongError */
  async #thread(answered: A2AMessage | undefined): Promise<string | undefined> {
    if (!answered) return undefined
    const { thread_id } = answered
    const limit = this.#config.max_thread
    if ((await threadLength(this.#store, thread_id)) >= limit) throw new ThreadTooLongError({ thread_id, limit })
    return thread_id
  }

  /** Sanitizes outgoing text, and checks it when guardrails are on. The operator's text is not checked. */
  async #sanitizeOutgoing(text: string, from_agent: string): Promise<string> {
    const clean = sanitize(text)
    if (from_agent === OPERATOR || clean === '' || !this.#svc.has(Guardrails)) return clean
    const checked = await this.#svc.use(Guardrails).check('peer', clean, { agent_id: from_agent })
    if (checked.action !== 'block') return checked.text
    throw new GuardrailBlockedError({ stage: 'message', kinds: [...new Set(checked.findings.map(({ kind }) => kind))] })
  }

  /** Checks incoming text when guardrails are on; blocked text is replaced. */
  async #sanitizeIncoming(text: string, agent_id: string): Promise<string> {
    if (text === '' || !this.#svc.has(Guardrails)) return text
    const checked = await this.#svc.use(Guardrails).check('peer', text, { agent_id })
    return checked.action === 'block' ? BLOCKED : checked.text
  }

  /** Returns the effects that send a message and wake its recipient, unless a rule has answered it. */
  #sendEffect(
    message: A2AMessage,
    { pattern_id = null, taken_from = null, once = taken_from !== null }: Origin,
  ): Effect[] {
    const { message_id, type, from_agent, to_agent, reply_to, read } = message
    const { ts: _, ...row } = message
    const about = to_agent === OPERATOR ? from_agent : to_agent
    // The pattern's next step or end wakes an agent, so that it does not read each answer of several by itself.
    const isPatternAnswer = pattern_id !== null && reply_to !== null
    return [
      (once ? insertOnce : insertMessage)({ ...row, pattern_id, taken_from }),
      appendEvent({
        type: 'message_sent',
        agent_id: about === OPERATOR ? null : about,
        data: { message_id, type, from_agent, to_agent, reply_to, pattern_id },
      }),
      ...(read || to_agent === OPERATOR || isPatternAnswer
        ? []
        : [wakeAgents({ agents: [to_agent], reason: 'a2a_message' })]),
    ]
  }
}

/** Returns the pattern run that a message belongs to, so that answers to it join the same run. */
function patternOf(message: A2AMessage | undefined): string | undefined {
  const pattern_id = message?.metadata.pattern_id
  return typeof pattern_id === 'string' ? pattern_id : undefined
}
