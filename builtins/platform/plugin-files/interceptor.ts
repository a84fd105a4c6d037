import {
  type CallReport,
  describeIssues,
  errorMessage,
  HANDLER_LIMIT_MS,
  type Interceptor,
  issuesOf,
  type Log,
  type PluginCall,
  SvcError,
  type z,
} from '#kernel'
import type { ToolCall } from '#tools/toolkits/contract'
import type { Calls } from './calls.ts'
import type { CircuitBreaker } from './circuit-breaker.ts'
import { PluginGoneError, PluginSuspendedError } from './contract.ts'

/** Labels of calls in logs. */
const LABELS: Readonly<Record<PluginCall<[]>['kind'], (name: string) => string>> = {
  handler: event => `on ${event}`,
  tap: hook => `tap of ${hook}`,
  goal_strategy: () => 'goal strategy',
  guard: phase => `guard of ${phase}`,
  tool: name => `tool ${name}`,
  operation: name => `operation ${name}`,
  wake_source: name => `wake source ${name}`,
}

export interface PluginInterceptorParts {
  plugin: string
  calls: Calls
  breaker: CircuitBreaker
  /** Returns the place in the plugin's file that an error points at. */
  locate: (error: unknown) => string
  log: Log
  /** Returns the schema of an operation's output. */
  outputOf: (operation: string) => z.ZodType | undefined
  /** Calls `setup` with what it may use. */
  setUp: <R>(setup: () => R) => R
  /** Called when the version begins to accept calls, and when it no longer does. */
  onOpen: () => void
  onClose: () => void
}

/** Counts and limits the calls of one version of a plugin, and logs its failures with their place. */
export class PluginInterceptor implements Interceptor {
  readonly calls: Calls
  readonly breaker: CircuitBreaker
  readonly #parts: PluginInterceptorParts

  constructor(parts: PluginInterceptorParts) {
    this.calls = parts.calls
    this.breaker = parts.breaker
    this.#parts = parts
  }

  wrap<A extends unknown[], R>(call: PluginCall<A>, fn: (...args: A) => R): (...args: A) => R | Promise<Awaited<R>> {
    const label = LABELS[call.kind](call.name)
    switch (call.kind) {
      case 'wake_source':
        // A wake source may wait without a time limit.
        return (...args) => this.calls.pass(label, () => fn(...args))
      case 'tool':
        return this.#tool(label, call, fn)
      case 'operation':
        return this.#operation(label, call, fn)
      case 'guard':
        return this.#unlessGone(this.calls.wrap(label, fn, { isFailure, limit_ms: HANDLER_LIMIT_MS }))
      default:
        return this.#ignoringFailures(label, this.calls.wrap(label, fn, { isFailure, limit_ms: HANDLER_LIMIT_MS }))
    }
  }

  /**
   * Wraps a tool. All its errors reach the model; those that are not domain errors also count as failures. A cancelled
   * call ends with an error that does not count.
   */
  #tool<A extends unknown[], R>(label: string, { name, fit }: PluginCall<A>, fn: (...args: A) => R) {
    const isFailed = (error: unknown, [, call]: readonly unknown[]) =>
      !(call as ToolCall | undefined)?.signal?.aborted && isFailure(error)
    const onFailure = (error: unknown) => {
      const { stack } = Object(error) as { stack?: string }
      this.#parts.log.error({ tool: name, stack }, this.#failureOf(label, error))
    }
    return this.calls.wrap(label, fn, { isFailure: isFailed, onFailure, fit })
  }

  /** Wraps an operation. Its output is checked here, so that an invalid one counts as a failure of the plugin. */
  #operation<A extends unknown[], R>(label: string, call: PluginCall<A>, fn: (...args: A) => R) {
    const run = async (...args: A) => {
      const output = await fn(...args)
      if (!call.streams) this.#checkOutput(call.name, output)
      return output
    }
    const onFailure = (error: unknown) => this.#parts.log.error({}, this.#failureOf(label, error))
    return this.calls.wrap(label, run, { isFailure, onFailure, ...call }) as (...args: A) => Promise<Awaited<R>>
  }

  /** @throws TypeError that names the operation, the plugin and what is wrong */
  #checkOutput(operation: string, output: unknown): void {
    const { plugin, outputOf } = this.#parts
    const { error } = outputOf(operation)?.safeParse(output) ?? {}
    if (!error) return
    const problem = describeIssues(issuesOf(error))
    throw new TypeError(`the operation "${operation}" of "${plugin}" returned an invalid output: ${problem}`)
  }

  /** Lets the phase pass if the guard's plugin was removed in the meantime. */
  #unlessGone<A extends unknown[], R>(ask: (...args: A) => Promise<Awaited<R>>) {
    return (...args: A) =>
      ask(...args).catch(error => {
        if (error instanceof PluginGoneError) return true as Awaited<R>
        throw error
      })
  }

  #ignoringFailures<A extends unknown[], R>(label: string, call: (...args: A) => Promise<Awaited<R>>) {
    return (...args: A) =>
      call(...args).catch(error => {
        if (!(error instanceof PluginSuspendedError || error instanceof PluginGoneError))
          this.#parts.log.error({}, this.#failureOf(label, error))
        return undefined as Awaited<R>
      })
  }

  #failureOf(label: string, error: unknown): string {
    return `${this.#parts.locate(error)}: ${label}: ${errorMessage(error)}`
  }

  run<R>(what: string, fn: () => R): R {
    return this.calls.run(what, what === 'setup' ? () => this.#parts.setUp(fn) : fn)
  }

  open(): void {
    this.calls.open()
    this.breaker.reset()
    this.#parts.onOpen()
  }

  close(): void {
    this.calls.close()
    this.#parts.onClose()
  }

  hold(): () => void {
    return this.calls.hold()
  }

  idle(): Promise<void> | undefined {
    return this.calls.idle()
  }

  dispose(): void {
    this.calls.dispose()
  }

  report(): CallReport {
    const { isSuspended, calls, failures, lastFailure } = this.breaker
    return { isSuspended, calls, failures, last_failure: lastFailure }
  }
}

/** Returns whether an error is a failure of the plugin's code: a domain error is a valid answer. */
function isFailure(error: unknown): boolean {
  return !(error instanceof SvcError) || error.code === 'time_limit'
}
