import { type AgentRow, Agents } from '#core/agents/contract'
import { SessionNotFoundError, Sessions } from '#core/sessions/contract'
import { isWaiting, type KeyedTask, Tasks } from '#core/tasks/contract'
import { type OperationCall, type PluginHandle, parse, SvcError } from '#kernel'
import { callerName } from '#lib/caller-name'
import { Store } from '#platform/store/contract'
import { Questions } from '#safety/questions/contract'
import type { PublicConfig } from './config.ts'
import { type Dialect, KEY_PREFIX, type NamedTask, V1, V03 } from './dialect.ts'
import { RpcError } from './errors.ts'
import { liveAgents } from './repository.ts'
import { OneTask, Send, textOf } from './wire.ts'

type Json = Record<string, unknown>

/** Interval at which a followed task that waits for people is checked, in milliseconds. */
const WAIT_CHECK_MS = 1_000

/** A request from an external agent. */
export interface PeerRequest {
  method: string
  params: unknown
  /** The agent in the URL path, if any. */
  agent: string | undefined
  call: OperationCall
}

type Answer = (request: PeerRequest, dialect: Dialect) => Promise<Json> | AsyncGenerator<Json>

/** Serves external agents that call ours: one-shot tasks, which continue when the caller disconnects. */
export class Peer {
  readonly #svc: PluginHandle
  readonly #config: PublicConfig
  readonly #methods: ReadonlyMap<string, { answer: Answer; dialect: Dialect }>

  constructor(svc: PluginHandle, config: PublicConfig) {
    this.#svc = svc
    this.#config = config
    const answers: [names: readonly [string, string], answer: Answer][] = [
      [['SendMessage', 'message/send'], (request, dialect) => this.#send(request, dialect)],
      [['SendStreamingMessage', 'message/stream'], (request, dialect) => this.#stream(request, dialect)],
      [['GetTask', 'tasks/get'], (request, dialect) => this.#get(request, dialect)],
      [['CancelTask', 'tasks/cancel'], (request, dialect) => this.#cancel(request, dialect)],
      [['SubscribeToTask', 'tasks/resubscribe'], (request, dialect) => this.#subscribe(request, dialect)],
    ]
    this.#methods = new Map(
      answers.flatMap(([[now, before], answer]) => [
        [now, { answer, dialect: V1 }],
        [before, { answer, dialect: V03 }],
      ]),
    )
  }

  /**
   * Returns one response, or a stream of them.
   * @throws RpcError, SvcError
   */
  answer(request: PeerRequest): Promise<Json> | AsyncGenerator<Json> {
    const { method } = request
    const known = this.#methods.get(method)
    if (known) return known.answer(request, known.dialect)
    if (/push_?notification/i.test(method)) throw pushNotSupported()
    if (/extended_?(agent)?card/i.test(method))
      throw new RpcError('no_extended_card', 'There is no extended agent card; all clients get the same card.')
    if (method === 'ListTasks')
      throw new RpcError('unsupported_operation', 'Listing tasks is not supported; request a task by its id.')
    throw new RpcError('method_not_found', `There is no method "${method}".`)
  }

  async #send(request: PeerRequest, dialect: Dialect): Promise<Json> {
    const { configuration, ...send } = parseSend(request)
    const begun = await this.#begin(request, send)
    const waits = !(configuration?.returnImmediately ?? configuration?.blocking === false)
    const task = waits ? await this.#waitUntilSettled(begun, request.call) : begun
    return dialect.messageAnswer(dialect.task(await this.#namedTask(task, request.call), configuration?.historyLength))
  }

  async *#stream(request: PeerRequest, dialect: Dialect): AsyncGenerator<Json> {
    const { configuration, ...send } = parseSend(request)
    const task = await this.#begin(request, send)
    yield dialect.taskItem(dialect.task(await this.#namedTask(task, request.call), configuration?.historyLength))
    yield* this.#updates(task, request, dialect)
  }

  async #get(request: PeerRequest, dialect: Dialect): Promise<Json> {
    const { historyLength, ...one } = parse(OneTask, request.params, 'The request')
    return dialect.task(await this.#namedTask(await this.#find(request, one), request.call), historyLength)
  }

  async #cancel(request: PeerRequest, dialect: Dialect): Promise<Json> {
    const { task_id } = await this.#find(request, parse(OneTask, request.params, 'The request'))
    return dialect.task(await this.#namedTask(await this.#tasks.cancel(task_id, request.call.tenant), request.call))
  }

  async *#subscribe(request: PeerRequest, dialect: Dialect): AsyncGenerator<Json> {
    const { call } = request
    const task = await this.#find(request, parse(OneTask, request.params, 'The request'))
    const { task_id, status } = task
    if (status !== 'running' && !isWaiting(status))
      throw new RpcError('unsupported_operation', `The task ${task_id} has ended: it is ${status}.`)
    yield dialect.taskItem(dialect.task(await this.#namedTask(task, call)))
    // A task that waits for people is followed once it continues.
    while (!call.signal.aborted && isWaiting((await this.#tasks.find(task_id, call.tenant)).status))
      await this.#svc.clock.sleep(WAIT_CHECK_MS, call.signal)
    yield* this.#updates(task, request, dialect)
  }

  get #tasks(): Tasks {
    return this.#svc.use(Tasks)
  }

  /** Starts a task, or answers a task's question. Repeating a message returns the same task. */
  async #begin(request: PeerRequest, { tenant, message }: Omit<Send, 'configuration'>): Promise<KeyedTask> {
    const { agent, call } = request
    const { messageId, contextId, taskId, parts } = message
    const instruction = textOf(parts)
    if (instruction === undefined)
      throw new RpcError(
        'content_type_not_supported',
        'Parts may be text, data or the URL of a file; the bytes of a file are not supported.',
      )
    if (instruction === '') throw new RpcError('invalid_params', 'The message is empty; write an instruction.')
    const key = `${KEY_PREFIX}${messageId}`
    if (taskId !== undefined) {
      const found = await this.#namedTask(await this.#find(request, { id: taskId }), call)
      if (contextId !== undefined && contextId !== found.contextId)
        throw new RpcError(
          'invalid_params',
          `The task ${taskId} belongs to the context "${found.contextId}", not to "${contextId}"; leave contextId out.`,
        )
      return this.#tasks.answer(taskId, call.tenant, { text: instruction, by: callerName(call), key })
    }
    const { agent_id } = await this.#agent(agent ?? tenant)
    return this.#tasks.begin({
      agent: agent_id,
      tenant: call.tenant,
      instruction,
      request_id: call.request_id,
      ...(contextId === undefined ? {} : await this.#sessionOf(contextId, call)),
      key,
      may_ask: true,
    })
  }

  /** Returns the session of a context: one with this id, otherwise one that the client names so. */
  async #sessionOf(contextId: string, { tenant }: OperationCall) {
    try {
      return { session_id: (await this.#svc.use(Sessions).get(contextId, tenant)).session_id }
    } catch (error) {
      if (error instanceof SvcError && error.code === SessionNotFoundError.code) return { session_key: contextId }
      throw error
    }
  }

  /**
   * Returns the requested agent: named in the path or by the request, otherwise the configured one, or the only one.
   */
  async #agent(ref: string | undefined): Promise<AgentRow> {
    const agents = this.#svc.use(Agents)
    if (ref !== undefined) return agents.find(ref)
    if (this.#config.agent !== '') return agents.find(this.#config.agent)
    const living = await liveAgents(this.#svc.use(Store), 2)
    if (living.length === 1) return agents.find(living[0]!)
    if (living.length === 0) throw new RpcError('invalid_params', 'There is no live agent.')
    const { total, dead } = await agents.counts()
    const which = 'send the message to one of them at /a2a/<agent_id>, as listed in the card of this service.'
    throw new RpcError('invalid_params', `There are ${total - dead} live agents; ${which}`)
  }

  async #find({ agent, call }: PeerRequest, { id }: Pick<OneTask, 'id'>): Promise<KeyedTask> {
    const task = await this.#tasks.find(id, call.tenant)
    if (agent === undefined || (await this.#agent(agent)).agent_id === task.agent_id) return task
    throw new RpcError('task_not_found', `That agent has no task "${id}".`)
  }

  async #namedTask(task: KeyedTask, { tenant }: OperationCall): Promise<NamedTask> {
    const { session_key, session_id } = await this.#svc.use(Sessions).get(task.session_id, tenant)
    // Without the module of questions, a task has none.
    const questions = this.#svc.has(Questions) ? await this.#svc.use(Questions).ofTask(task.task_id) : []
    return { task, contextId: session_key ?? session_id, questions }
  }

  /** Waits until the task ends or waits for people. */
  async #waitUntilSettled({ task_id }: KeyedTask, { tenant, signal }: OperationCall): Promise<KeyedTask> {
    for await (const { event } of this.#tasks.follow(task_id, undefined, signal)) if (isEnd(event)) break
    return this.#tasks.find(task_id, tenant)
  }

  /** Yields the text of a task from its beginning, and its status once it ends or waits for people. */
  async *#updates(task: KeyedTask, { call }: PeerRequest, dialect: Dialect): AsyncGenerator<Json> {
    const shown = await this.#namedTask(task, call)
    let hasBegun = false
    for await (const { event, data } of this.#tasks.follow(task.task_id, '0', call.signal)) {
      if (event === 'token') {
        yield dialect.piece(shown, (data as { text: string }).text, false, hasBegun)
        hasBegun = true
      }
      if (event === 'reset') {
        // A piece that is not appended replaces all text before it.
        yield dialect.piece(shown, '', false, false)
        hasBegun = true
      }
      if (!isEnd(event)) continue
      const ended = await this.#tasks.find(task.task_id, call.tenant)
      const { output, status } = ended
      // Output that guardrails held back, or that only came at the end.
      if (!hasBegun && output !== '') yield dialect.piece(shown, output, true, false)
      else if (hasBegun && !isWaiting(status)) yield dialect.piece(shown, '', true, true)
      yield dialect.status(await this.#namedTask(ended, call))
    }
  }
}

/** Parses a message and its configuration. @throws RpcError if it asks for push notifications */
function parseSend({ params }: PeerRequest): Send {
  const send = parse(Send, params, 'The message')
  const { taskPushNotificationConfig, pushNotificationConfig } = send.configuration ?? {}
  if (taskPushNotificationConfig ?? pushNotificationConfig) throw pushNotSupported()
  return send
}

function pushNotSupported(): RpcError {
  return new RpcError('push_not_supported', 'Push notifications are not supported.')
}

function isEnd(event: string): boolean {
  return event === 'done' || event === 'error'
}
