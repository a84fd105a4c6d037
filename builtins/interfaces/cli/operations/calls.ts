import { type Kernel, type PluginState, SvcError } from '#kernel'
import type { StreamEvent } from '#lib/stream'
import type { Context } from '../context.ts'
import { DaemonAnswerError, ModuleDisabledError, type OperationRef } from '../contract.ts'
import { askDaemon } from './ask-daemon.ts'
import { invokeMasked } from './invoke-masked.ts'
import { openReading } from './open-reading.ts'

type Input = Readonly<Record<string, unknown>>

/** Returns a reference for an operation that has no command, or whose command is not available. */
export function operationRef(name: string, method: string, path: string): OperationRef {
  return { name, preset: {}, http: { method, path }, reach: 'store', rendered: false }
}

/**
 * Runs operations of a project: in its daemon while one answers, else in this process, which opens the project on first
 * need. Daemons may therefore start or stop between two calls.
 */
export class Calls implements AsyncDisposable {
  readonly #root: string
  readonly #context: Context
  /** Kernels by purpose; one that only reads runs no plugin. */
  readonly #kernels = new Map<'reading' | 'acting', Promise<Kernel>>()

  constructor(root: string, context: Context) {
    this.#root = root
    this.#context = context
  }

  /**
   * Runs an operation and returns its result.
   * @throws what the operation throws
   */
  async call<T>(operation: OperationRef, input: Input = {}, signal?: AbortSignal): Promise<T> {
    try {
      const answer = await askDaemon(this.#root, operation, input, this.#context, signal)
      if (answer) return answer.output as T
      const kernel = await this.#here(operation.http?.method === 'GET' ? 'reading' : 'acting')
      return await invokeMasked<T>(kernel, operation.name, input, signal ? { signal } : {})
    } catch (error) {
      throw await explainUnknown(error, operation.name, this.#root, this.#context)
    }
  }

  /** Runs an operation that streams. */
  stream(operation: OperationRef, input: Input, signal: AbortSignal): Promise<AsyncIterable<StreamEvent>> {
    return this.call(operation, input, signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const opened of this.#kernels.values()) await (await opened.catch(() => undefined))?.close()
  }

  #here(purpose: 'reading' | 'acting'): Promise<Kernel> {
    const begun = this.#kernels.get(purpose)
    if (begun) return begun
    const { program } = this.#context
    const opened =
      purpose === 'reading'
        ? openReading(this.#root, this.#context, { roles: ['cli'], log: { level: 'silent' } })
        : program.open({ root: this.#root, roles: ['cli'], log: { level: 'silent' } })
    this.#kernels.set(purpose, opened)
    // A kernel that failed to open is tried again at the next call: the configuration may be corrected meanwhile.
    opened.catch(() => this.#kernels.delete(purpose))
    return opened
  }
}

/** Codes of the answers to an operation that does not exist: in this process, and over the daemon's socket. */
const [UNKNOWN_HERE, UNKNOWN_TO_DAEMON] = ['unknown_operation', 'not_found']
const LIST = operationRef('plugins.list', 'GET', '/plugins')
const UNKNOWN_COMMAND = 'it does not know this command, as an older version may; restart it with: svc restart'

/** Returns why an operation does not exist: its module is disabled, or the daemon is older. Returns other errors unchanged. */
export async function explainUnknown(error: unknown, name: string, root: string, context: Context): Promise<unknown> {
  const { owners = {}, commands } = context.tree
  const module = owners[name]
  const code = error instanceof SvcError ? error.code : ''
  if (!module || (code !== UNKNOWN_HERE && code !== UNKNOWN_TO_DAEMON)) return error
  await using calls = new Calls(root, context)
  const plugins = name === LIST.name ? undefined : await calls.call<PluginState[]>(LIST).catch(() => undefined)
  const off = plugins?.find(plugin => plugin.name === module && plugin.state === 'disabled')
  const command = commands.find(({ operation }) => operation?.name === name)?.path.join(' ') ?? module
  // The list is missing only where its own module is disabled.
  const isOff = off || (!plugins && (code === UNKNOWN_HERE || name === LIST.name))
  if (isOff) return new ModuleDisabledError({ command, module, reason: off?.error ?? null })
  return code === UNKNOWN_TO_DAEMON ? new DaemonAnswerError({ problem: UNKNOWN_COMMAND }) : error
}
