import type { Kernel, StreamEvent } from '#kernel'
import { askDaemon } from './ask.ts'
import type { Context } from './context.ts'
import type { OperationRef } from './contract.ts'

type Input = Readonly<Record<string, unknown>>

/** An operation that has no command, or whose command is not at hand. */
export function operationRef(name: string, method: string, path: string): OperationRef {
  return { name, preset: {}, http: { method, path }, reach: 'store', rendered: false }
}

/**
 * Operations of a project, one after the other: in its daemon while one answers, else in this process, which comes up when
 * that is first needed. So it does not matter when a daemon begins or ends.
 */
export class Calls implements AsyncDisposable {
  readonly #root: string
  readonly #context: Context
  #kernel: Promise<Kernel> | undefined

  constructor(root: string, context: Context) {
    this.#root = root
    this.#context = context
  }

  /** @throws what the operation throws */
  async call<T>(operation: OperationRef, input: Input = {}, signal?: AbortSignal): Promise<T> {
    const told = await askDaemon(this.#root, operation, input, this.#context, signal)
    if (told) return told.output as T
    const kernel = await this.#here()
    return (await kernel.invoke(operation.name, input, { face: 'cli', ...(signal ? { signal } : {}) })) as T
  }

  /** The same for one that streams. */
  stream(operation: OperationRef, input: Input, signal: AbortSignal): Promise<AsyncIterable<StreamEvent>> {
    return this.call(operation, input, signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const kernel = await this.#kernel?.catch(() => undefined)
    await kernel?.close()
  }

  #here(): Promise<Kernel> {
    const { house } = this.#context
    // One that could not come up is tried again: the configuration may be corrected meanwhile.
    this.#kernel ??= house.open({ root: this.#root, roles: ['cli'], log: { level: 'silent' } }).catch(error => {
      this.#kernel = undefined
      throw error
    })
    return this.#kernel
  }
}
