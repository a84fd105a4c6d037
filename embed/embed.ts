import { join, resolve } from 'node:path'
import type { AgentDetail, AgentSummary } from '#core/agents/contract'
import { StructuredParseError, type TaskResponse } from '#core/tasks/contract'
import { schemaWithOriginal } from '#core/tasks/run/answer-form'
import { NoProjectError } from '#interfaces/cli/contract'
import { explainFileError, makeFolder } from '#interfaces/cli/project/make-files'
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
  parse,
  ROLES,
  type Role,
  SvcError,
  type Undo,
  z,
} from '#kernel'
import { usePlainIssues } from '#lib/plain-issues'
import { systemPorts } from '#lib/system-ports'
import { type RunDetail, RunNotFoundError } from '#observability/runs/contract'
import { type Guard, Guards, type Phase } from '#platform/heartbeat/contract'
import { registeredGuard } from '#platform/heartbeat/guards'
import { type KernelOptions, openKernel } from './compose.ts'
import { importable } from './importable.ts'
import { type StartOptions, SvcDaemon } from './svc-daemon.ts'

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
/** Owner that messages name for guards and handlers. */
const OWNER = 'the embedding program'

export interface SvcOptions extends Omit<KernelOptions, 'root' | 'roles' | 'builtins' | 'modules' | 'configName'> {
  /**
   * Roles of this process. Default: `cli`, which drives no agents before `start` and does not listen. A `daemon` drives
   * agents as soon as it is open, and only a daemon has the plugins' daemon resources, log files of its runs and
   * mailbox files.
   */
  roles?: readonly Role[] | undefined
  /** Whether to create the project if the folder has none. Default: false, so that a wrong path is an error. */
  create?: boolean | undefined
}

/** Checked strictly, because an untyped program would not notice a misspelled name. */
const Options = z
  .strictObject({
    roles: z.array(z.enum(ROLES)),
    create: z.boolean(),
    ports: z.looseObject({}),
    log: z.looseObject({ level: z.enum(LOG_LEVELS).optional() }),
    pluginFiles: z.enum(['trusted', 'all', 'none']),
    lenient: z.boolean(),
    dev: z.boolean(),
    restart: z.array(z.string()),
    prepare: z.unknown(),
  } satisfies Record<keyof SvcOptions, z.ZodType>)
  .partial()

/** Options of a one-shot task. */
export interface TaskOptions {
  /** Number of model answers after which the task ends. Default: 25. */
  maxSteps?: number | undefined
  /** Toolkits that the task may use, such as `file`; `profile` for all that the agent has. Default: `tasks.toolkits`. */
  toolkits?: readonly string[] | undefined
  /** Session of the task. Without `sessionId` and `sessionKey`, a new session is created. */
  sessionId?: string | undefined
  sessionKey?: string | undefined
  /** The user of the task. Default: `default`. */
  user?: string | undefined
  /**
   * A repeated key refers to the same task. A task with a key continues when the signal is aborted, and a
   * TaskGoesOnError is thrown.
   */
  idempotencyKey?: string | undefined
  signal?: AbortSignal | undefined
}

/**
 * Result of a task. `parsed` is the answer validated by the schema; null without a schema, or when the answer does not
 * match.
 */
export type TaskResult<P = null> = Omit<TaskResponse, 'parsed'> & { parsed: P }

type Known = keyof Operations
type Input<N extends string> = N extends Known ? Operations[N]['input'] : unknown
/** Output of an operation, typed by its schema if it is a builtin one. */
type Output<N extends string> = N extends Known
  ? Operations[N] extends { events: infer E }
    ? AsyncIterableIterator<EventOf<Omit<E, 'error'>>>
    : Operations[N] extends { output: infer R }
      ? R
      : never
  : unknown

type Types = { [N in Known]: { input: Input<N>; output: Output<N> } }

declare module '#kernel' {
  interface OperationTypes extends Types {}
}

/**
 * The service embedded in your own program.
 * @example
 * await using svc = await Svc.open('/path/of/a/project')
 * await svc.spawn('coder')
 * await svc.start()
 */
export class Svc {
  /** The kernel, with everything that plugins can use and more: hooks, points, services, configuration. */
  readonly kernel: Kernel
  readonly daemon: SvcDaemon
  /** Event handlers and phase guards. */
  readonly hooks: SvcHooks
  #closing: Promise<void> | undefined

  private constructor(kernel: Kernel) {
    this.kernel = kernel
    this.daemon = new SvcDaemon(kernel)
    this.hooks = new SvcHooks(kernel)
  }

  /**
   * Opens the project in this folder.
   * @throws NoProjectError without `.svc/` in it, unless `create` is set; CannotWriteError; InvalidInputError for an
   * invalid option; any SvcError of the start
   */
  static async open(root: string, given: SvcOptions = {}): Promise<Svc> {
    usePlainIssues()
    parse(z.string(), root, 'The folder of Svc.open')
    parse(Options, given, 'Svc.open')
    const { roles = ['cli'], create = false, ...options } = given
    const { files } = systemPorts(options.ports)
    if (!(await isProject({ files }, root))) {
      const remedy = 'make one with "svc init", or pass create: true to Svc.open'
      if (!create) throw new NoProjectError({ at: resolve(root), searched: 'there', remedy })
      await withExplanation(makeProject(files, root))
    }
    const { BUILTINS } = await import('../builtins/index.ts')
    const opening = openKernel({ root, roles, builtins: BUILTINS, modules: importable, ...options })
    return new Svc(await withExplanation(opening))
  }

  /** Spawns an agent from a preset. @throws ProfileNotFoundError, ModelNameError, AgentNameTakenError, FolderError */
  async spawn(preset: string, options: Omit<Input<'agents.spawn'>, 'preset'> = {}): Promise<AgentDetail> {
    return (await this.kernel.invoke('agents.spawn', { preset, ...options })) as AgentDetail
  }

  /**
   * Sends a message to an agent, by id or name, which reads it before its next model call.
   * @throws AgentNotFoundError, AmbiguousAgentError, AgentDeadError; InvalidInputError for an empty message or more
   * than 4000 characters
   */
  nudge(agent: string, message: string): Promise<{ nudge_id: string }> {
    return this.invoke('agents.nudge', { id: agent, message })
  }

  /**
   * Deletes an agent and all its records; moves its files to `.svc/trash`.
   * @throws AgentNotFoundError, AmbiguousAgentError
   */
  async kill(agent: string): Promise<void> {
    await this.kernel.invoke('agents.delete', { id: agent })
  }

  /** Returns all agents with their current activity, in order of creation. */
  async status(): Promise<AgentSummary[]> {
    return (await this.kernel.invoke('agents.list', {})) as AgentSummary[]
  }

  /**
   * Returns the details of one run of the daemon or of a task; without an id, of the newest.
   * @throws RunNotFoundError
   */
  async inspect(run?: string): Promise<RunDetail> {
    const run_id = run ?? (await this.invoke('runs.list', { limit: 1 }))[0]?.run_id
    if (run_id === undefined) throw new RunNotFoundError({ run_id: null })
    return (await this.kernel.invoke('runs.get', { id: run_id })) as RunDetail
  }

  /**
   * Runs a one-shot task of an agent, independent of its goals. A failure is the `error` of a result with the status
   * `failed`; with a `schema`, `parsed` is the validated answer.
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
   * Returns an agent's answer validated by a schema.
   * @throws StructuredParseError with the model's answer in `raw`; any other failure of the task; and as `run` does
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
      throw StructuredParseError.of(raw, errors, `the task ended as ${status} before there was an answer`)
    }
    throw new SvcError(error.detail, { ...error, errors })
  }

  /**
   * Like `run`, but streams: `token` and `reset` events, then one last event, `error` when the task failed, else
   * `done`. The text since the last `reset` is the final output. Leaving the loop early ends the task.
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

  /**
   * Runs an operation by name. `call` sets the caller and the signal.
   * @throws UnknownOperationError, InvalidInputError, ClosedError, and errors of the operation
   */
  async invoke<N extends string>(operation: N, input?: Input<N>, call?: Partial<OperationCall>): Promise<Output<N>> {
    return (await this.kernel.invoke(operation, input ?? {}, call)) as Output<N>
  }

  /**
   * Makes this process the project's daemon: with `cycles` for this number of heartbeats, else until `stop` or `close`.
   * @throws DaemonRunningError unless `join` is set
   */
  start(options: StartOptions = {}): Promise<void> {
    return this.daemon.start(options)
  }

  /** Stops the daemon after running cycles reach a safe point; everything else stays open. */
  stop(): Promise<void> {
    return this.daemon.stop()
  }

  /** Stops the daemon and frees all resources. A repeated call waits for the first one. */
  close(): Promise<void> {
    this.#closing ??= this.stop().finally(() => this.kernel.close())
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** Events of this process, and guards of the phases of its cycles. */
export class SvcHooks {
  readonly #kernel: Kernel
  #guards = 0

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  /**
   * Calls the handler with each event of this name; the same handler is added only once. Errors of the handler are
   * logged and do not stop anything.
   * @returns a function that removes it, as `off` does
   * @throws UnknownHookError listing the valid names; a TypeError when the handler is not a function
   */
  on<E extends EventName>(event: E, handler: (payload: Events[E]) => unknown): Undo {
    checkFields(event, { handler: 'function' }, { handler }, OWNER)
    return this.#kernel.hooks.on(event, handler, OWNER)
  }

  /** Removes a handler. A handler that was never added is ignored. */
  off<E extends EventName>(event: E, handler: (payload: Events[E]) => unknown): void {
    this.#kernel.hooks.off(event, handler)
  }

  /**
   * Calls the guard before a phase begins, or before each phase with `*`; false skips the phase. A guard that throws,
   * takes longer than 10 s or does not return a boolean counts as false, unless `daemon.guards_fail_closed` or
   * `failClosed` says otherwise.
   * @returns a function that removes the guard
   * @throws UnknownHookError listing the phases; ConflictError when the phase has a guard of this name; a TypeError
   * without `shouldProceed`
   */
  registerGuard(phase: Phase | '*', guard: Guard, options: { failClosed?: boolean } = {}): Undo {
    const { config, log, points, ports } = this.#kernel
    const name = guard.name ?? `guard ${++this.#guards}`
    const registered = registeredGuard(phase, guard, {
      name,
      owner: OWNER,
      clock: ports.clock,
      failClosed: () => options.failClosed ?? config.get('daemon.guards_fail_closed') === true,
      failed: ({ agent_id, cycle_num, phase }, error) =>
        log.error({ agent_id, cycle_num }, `guard "${name}" of ${phase}: ${errorMessage(error)}`),
    })
    return points.add(Guards, registered, OWNER)
  }
}

async function makeProject(files: Ports['files'], root: string): Promise<void> {
  await makeFolder(files, resolve(root))
  await makeFolder(files, join(root, '.svc'), 0o700)
}

/** Replaces errors about a folder that cannot be written. */
function withExplanation<T>(opening: Promise<T>): Promise<T> {
  return opening.catch(error => {
    throw explainFileError(error)
  })
}

/** Returns the input of the task operation. */
function taskInput(
  id: string,
  instruction: string,
  { maxSteps, toolkits, sessionId, sessionKey, user, idempotencyKey, signal, ...unknown }: TaskOptions,
  schema: z.ZodObject | undefined,
): [input: unknown, call: Partial<OperationCall>] {
  const input = {
    ...unknown,
    id,
    instruction,
    toolkits,
    session_id: sessionId,
    session_key: sessionKey,
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
