import { Kernel, type LogOptions, type Ports, type Role, type Undo, type WakeSource, WakeSources } from '#kernel'
import type { AgentDetail } from './builtins/agents/contract.ts'
import { Daemon } from './builtins/daemon/contract.ts'

export interface SvcOptions {
  /** What this process is for; by itself it drives no agents and listens nowhere. */
  roles?: readonly Role[]
  ports?: Partial<Ports>
  log?: LogOptions
  /** For plugins in the making: what changes on disk is live as soon as it is written. */
  dev?: boolean
  /** The command that starts this process again, where the process is the service's own and no other program's. */
  restart?: readonly string[]
}

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

  private constructor(kernel: Kernel) {
    this.kernel = kernel
    this.daemon = new SvcDaemon(kernel)
  }

  /** Opens the project in this folder; `.svc/` is made when it is missing. @throws SvcError with a sentence for the operator */
  static async open(root: string, { roles = ['cli'], ...options }: SvcOptions = {}): Promise<Svc> {
    const { loadBuiltins } = await import('./builtins/index.ts')
    const modules = async () => ({ svc: await import('./index.ts') })
    return new Svc(await Kernel.open({ root, roles, builtins: await loadBuiltins(), modules, ...options }))
  }

  /** Spawns an agent from a preset. @throws ProfileNotFoundError */
  async spawn(preset: string, options: { model?: string } = {}): Promise<AgentDetail> {
    return (await this.invoke('agents.spawn', { preset, ...options })) as AgentDetail
  }

  /** Runs an operation by name. @throws UnknownOperationError, InvalidInputError, and what the operation throws */
  invoke(operation: string, input: unknown = {}): Promise<unknown> {
    return this.kernel.invoke(operation, input)
  }

  /** Makes this process the project's daemon; with `join`, a further one beside it. @throws DaemonRunningError */
  start(options: { join?: boolean } = {}): Promise<void> {
    return this.kernel.use(Daemon).start(options)
  }

  /** Lets running cycles reach a safe point, and frees everything. */
  close(): Promise<void> {
    return this.kernel.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/** The daemon as this process can be it. */
export class SvcDaemon {
  readonly #kernel: Kernel

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  /** Makes this process the project's daemon. @throws DaemonRunningError */
  start(): Promise<void> {
    return this.#kernel.use(Daemon).start()
  }

  /** Lets running cycles reach a safe point; the rest of the house stays open. */
  stop(): Promise<void> {
    return this.#kernel.use(Daemon).stop()
  }

  /**
   * Adds something that wakes agents between two heartbeats, before or after the start.
   * @returns its undoing, which also aborts the wait that is under way
   * @throws ConflictError when a wake source has this name already
   */
  addWakeSource(source: WakeSource): Undo {
    return this.#kernel.points.add(WakeSources, source, 'the embedding program')
  }
}
