import { resolve } from 'node:path'
import type { AgentDetail, AgentSummary } from '#core/agents/contract'
import { StructuredParseError, type TaskResponse } from '#core/tasks/contract'
import { schemaWithOriginal } from '#core/tasks/run/answer-form'
import { NoProjectError } from '#interfaces/cli/contract'
import { isProject } from '#interfaces/cli/project/project'
import type { EventOf } from '#interfaces/rest/client'
import type { Operations } from '#interfaces/rest/client-operations'
import {
  checkFields,
  type EventName,
  type Events,
  errorMessage,
  type Kernel,
  type OperationCall,
  type Ports,
  type Role,
  SvcError,
  type Undo,
  type z,
} from '#kernel'
import type { LogOptions } from '#lib/log'
import { systemPorts } from '#lib/system-ports'
import type { RunDetail } from '#observability/runs/contract'
import { type Guard, Guards, type Phase } from '#platform/heartbeat/contract'
import { registeredGuard } from '#platform/heartbeat/guards'
import { openKernel } from './compose.ts'
import { importable } from './importable.ts'
import { type StartOptions, SvcDaemon } from './svc-daemon.ts'

/** By whom it says that guards and handlers are. */
const OWNER = 'the embedding program'

export interface SvcOptions {
  /**
   * What this process is for; by default `cli`, which drives no agents before `start` and listens nowhere. A `daemon` drives them
   * as soon as it is open, and it alone has what plugins start for a daemon, the log files of its runs and the mailboxes' files.
   */
  roles?: readonly Role[]
  /** Makes the project when the folder holds none; false by default, so that a wrong path is an error. */
  create?: boolean
  ports?: Partial<Ports>
  log?: LogOptions
  /**
   * Which plugin files run, and programs that the configuration names: those of a project that this user trusts (`svc init`,
   * `svc plugins trust`; SVC_TRUST_PROJECT=true trusts it for one process), `all` whatever the user has decided, or `none`.
   * `trusted` by default.
   */
  pluginFiles?: 'trusted' | 'all' | 'none'
  /** Opens with any configuration, to inspect or repair it: invalid values count as their defaults. With `roles: []` nothing starts. */
  lenient?: boolean
  /** For plugins in the making: what changes on disk is live as soon as it is written; not with the role `cli` alone. */
  dev?: boolean
  /** The command that starts this process again, where the process is the service's own and no other program's. */
  restart?: readonly string[]
  /** Called before any plugin is there: what is added to a point then comes before what they add. */
  prepare?: (kernel: Kernel) => void
}

/** What may be said of a one-shot task beside its instruction. */
export interface TaskOptions {
  /** Number of model answers after which it ends. Default: 25. */
  maxSteps?: number
  /** The session that it belongs to; a fresh one without both. */
  sessionId?: string
  sessionKey?: string
  /** The user of the task. Default: `default`. */
  user?: string
  /** The same key again is the same task again; with a key it goes on when the signal is aborted, and a TaskGoesOnError says so. */
  idempotencyKey?: string
  signal?: AbortSignal
}

/** The answer to a task. `parsed` is as the schema made it; null without one, and when the answer fits none. */
export type TaskResult<P = null> = Omit<TaskResponse, 'parsed'> & { parsed: P }

type Known = keyof Operations
type Input<N extends string> = N extends Known ? Operations[N]['input'] : unknown
/** What an operation gives: as its schema says where it is one of the builtins'. */
type Output<N extends string> = N extends Known
  ? Operations[N] extends { events: infer E }
    ? AsyncIterableIterator<EventOf<Omit<E, 'error'>>>
    : Operations[N] extends { output: infer R }
      ? R
      : never
  : unknown

/**
 * The service inside a program of your own.
 * @example
 * await using svc = await Svc.open('/path/of/a/project')
 * await svc.spawn('coder')
 * await svc.start()
 */
export class Svc {
  /** All that a plugin sees, and more: hooks, points, services, configuration. */
  readonly kernel: Kernel
  readonly daemon: SvcDaemon
  /** What happens, and guards of the phases. */
  readonly hooks: SvcHooks
  #closing: Promise<void> | undefined

  private constructor(kernel: Kernel) {
    this.kernel = kernel
    this.daemon = new SvcDaemon(kernel)
    this.hooks = new SvcHooks(kernel)
  }

  /** Opens the project in this folder. @throws NoProjectError without `.svc/` in it, unless `create` is set; any SvcError of the start */
  static async open(root: string, { roles = ['cli'], create = false, ...options }: SvcOptions = {}): Promise<Svc> {
    if (!create && !(await isProject({ files: options.ports?.files ?? systemPorts().files }, root))) {
      const remedy = 'make one with "svc init", or pass create: true to Svc.open'
      throw new NoProjectError({ at: resolve(root), searched: 'there', remedy })
    }
    const { BUILTINS } = await import('../builtins/index.ts')
    return new Svc(await openKernel({ root, roles, builtins: BUILTINS, modules: importable, ...options }))
  }

  /** Spawns an agent from a preset. @throws ProfileNotFoundError */
  async spawn(preset: string, options: { model?: string } = {}): Promise<AgentDetail> {
    return (await this.kernel.invoke('agents.spawn', { preset, ...options })) as AgentDetail
  }

  /**
   * Leaves a message for an agent, by id or name; it reads it before its next model call.
   * @throws AgentNotFoundError, AmbiguousAgentError, AgentDeadError; InvalidInputError for an empty message or more than 4000 characters
   */
  nudge(agent: string, message: string): Promise<{ nudge_id: string }> {
    return this.invoke('agents.nudge', { id: agent, message })
  }

  /** Removes an agent with all of its records; its files go to `.svc/trash`. @throws AgentNotFoundError, AmbiguousAgentError */
  async kill(agent: string): Promise<void> {
    await this.kernel.invoke('agents.delete', { id: agent })
  }

  /** All agents, in the order of their creation, with what each is at. */
  async status(): Promise<AgentSummary[]> {
    return (await this.kernel.invoke('agents.list', {})) as AgentSummary[]
  }

  /** One run of the daemon or of a task, what happened in it and what it was made of; the newest without an id. @throws RunNotFoundError */
  async inspect(run?: string): Promise<RunDetail> {
    const [newest] = run === undefined ? await this.invoke('runs.list', { limit: 1 }) : []
    return (await this.kernel.invoke('runs.get', { id: run ?? newest?.run_id ?? 'none yet' })) as RunDetail
  }

  /**
   * Has an agent do one thing now, beside its own life. What goes wrong in it is the `error` of a result whose status is
   * `failed`; with a `schema`, `parsed` is the answer as that made it.
   * @throws AgentNotFoundError, AmbiguousAgentError, AgentDeadError, BudgetExhaustedError, SessionNotFoundError, …
   */
  run<S extends z.ZodObject>(
    agent: string,
    instruction: string,
    options: TaskOptions & { schema: S },
  ): Promise<TaskResult<z.output<S> | null>>
  run(agent: string, instruction: string, options?: TaskOptions): Promise<TaskResult>
  async run(
    agent: string,
    instruction: string,
    { schema, ...options }: TaskOptions & { schema?: z.ZodObject } = {},
  ): Promise<TaskResult<unknown>> {
    const response = (await this.kernel.invoke(
      'tasks.run',
      ...taskInput(agent, instruction, options, schema),
    )) as TaskResponse
    const { parsed } = response
    return { ...response, parsed: schema && parsed ? await schema.parseAsync(parsed) : null }
  }

  /**
   * The answer of an agent as this schema makes it, or an error.
   * @throws StructuredParseError with the model's words in `raw`; whatever else the task failed with; and as `run` does
   */
  async parse<S extends z.ZodObject>(
    agent: string,
    instruction: string,
    schema: S,
    options: TaskOptions = {},
  ): Promise<z.output<S>> {
    const { parsed, output: raw, status, error } = await this.run(agent, instruction, { ...options, schema })
    if (parsed !== null) return parsed
    const { errors = [], code = '' } = error ?? {}
    if (!error || code === StructuredParseError.code) {
      throw StructuredParseError.of(raw, errors, `the task ended as ${status} before there was one`)
    }
    throw new SvcError(error.detail, { ...error, errors })
  }

  /**
   * The same as `run`, as it goes on: `token` and `reset` events, and one last event, `error` when the task failed, else
   * `done`. The text since the last `reset` is the output at the end. Leaving the loop early ends the task.
   */
  async *stream(
    agent: string,
    instruction: string,
    { schema, ...options }: TaskOptions & { schema?: z.ZodObject } = {},
  ): Output<'tasks.stream'> {
    yield* (await this.kernel.invoke(
      'tasks.stream',
      ...taskInput(agent, instruction, options, schema),
    )) as Output<'tasks.stream'>
  }

  /** Runs an operation by name; `call` says for whom, and how to stop it. @throws UnknownOperationError, InvalidInputError, ClosedError, and what the operation throws */
  async invoke<N extends string>(operation: N, input?: Input<N>, call?: Partial<OperationCall>): Promise<Output<N>> {
    return (await this.kernel.invoke(operation, input ?? {}, call)) as Output<N>
  }

  /**
   * Makes this process the project's daemon; with `cycles` for this number of heartbeats, else until `stop` or `close`.
   * @throws DaemonRunningError unless `join` is set
   */
  start(options: StartOptions = {}): Promise<void> {
    return this.daemon.start(options)
  }

  /** Lets running cycles reach a safe point; everything else stays open. */
  stop(): Promise<void> {
    return this.daemon.stop()
  }

  /** Stops, and frees everything. Calling it again waits for the first call. */
  close(): Promise<void> {
    this.#closing ??= this.stop().finally(() => this.kernel.close())
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** What happens in this process, and the guards of the phases that its cycles go through. */
export class SvcHooks {
  readonly #kernel: Kernel
  #guards = 0

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  /**
   * Calls the handler with each event of this name, the same handler once. One that throws is logged and stops nothing.
   * @returns its removal, the same as `off`
   * @throws UnknownHookError naming those there are; a TypeError for a handler that is no function
   */
  on<E extends EventName>(event: E, handler: (payload: Events[E]) => unknown): Undo {
    checkFields(event, { handler: 'function' }, { handler }, OWNER)
    return this.#kernel.hooks.on(event, handler)
  }

  /** Stops calling the handler. One that was never added is passed over. */
  off<E extends EventName>(event: E, handler: (payload: Events[E]) => unknown): void {
    this.#kernel.hooks.off(event, handler)
  }

  /**
   * Asks the guard before a phase is entered, or before each with `*`; false skips it. One that throws, takes longer than 10 s
   * or answers no boolean counts as false, unless `daemon.guards_fail_closed` or `failClosed` says otherwise.
   * @returns its removal
   * @throws UnknownHookError naming the phases; ConflictError when a guard of the phase has this name already; a TypeError for
   * one without `shouldProceed`
   */
  registerGuard(phase: Phase | '*', guard: Guard, options: { failClosed?: boolean } = {}): Undo {
    const { config, log, points, ports } = this.#kernel
    const name = guard.name ?? `guard ${++this.#guards}`
    const registered = registeredGuard(phase, guard, {
      ...{ name, owner: OWNER, clock: ports.clock },
      failClosed: () => options.failClosed ?? config.get('daemon.guards_fail_closed') === true,
      failed: ({ agent_id, cycle_num, phase }, error) =>
        log.error({ agent_id, cycle_num }, `guard "${name}" of ${phase}: ${errorMessage(error)}`),
    })
    return points.add(Guards, registered, OWNER)
  }
}

/** A task as the operation takes it. */
function taskInput(
  id: string,
  instruction: string,
  { maxSteps, sessionId, sessionKey, user, idempotencyKey, signal, ...unknown }: TaskOptions,
  schema: z.ZodObject | undefined,
): [input: unknown, call: Partial<OperationCall>] {
  const input = {
    ...{ ...unknown, id, instruction, session_id: sessionId, session_key: sessionKey },
    ...(maxSteps === undefined ? {} : { max_steps: maxSteps }),
    ...(schema ? { response_schema: schemaWithOriginal(schema) } : {}),
  }
  const call = {
    ...(user === undefined ? {} : { tenant: user }),
    ...(idempotencyKey === undefined ? {} : { idempotency_key: idempotencyKey }),
    ...(signal ? { signal } : {}),
  }
  return [input, call]
}
