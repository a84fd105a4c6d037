import type { Kernel } from '#kernel'
import type { StreamEvent } from '#lib/stream'
import type { Context } from '../context.ts'
import type { OperationRef } from '../contract.ts'
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
    const answer = await askDaemon(this.#root, operation, input, this.#context, signal)
    if (answer) return answer.output as T
    const kernel = await this.#here(operation.http?.method === 'GET' ? 'reading' : 'acting')
    return invokeMasked<T>(kernel, operation.name, input, signal ? { signal } : {})
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
