import { StructuredParseError, type TaskResponse } from '#core/tasks/contract'
import { type Exchange, recentExchanges } from '#core/tasks/run/prompt'
import type { Ports, z } from '#kernel'
import type { LogOptions } from '#lib/log'
import type { Review } from '#safety/approvals/contract'
import type { Tool } from '#tools/toolkits/contract'

/** A tool call that waits for a decision. */
export interface ApprovalRequest {
  call_id: string
  tool_name: string
  arguments: unknown
  /** Why the call can do harm, as declared by the tool, such as `runs programs`. */
  danger: string | null
}

export interface AgentOptions {
  /** `provider:model`, `provider:lite|standard|pro` or a bare name. Default: the default model. */
  model?: string | undefined
  /** Role and working instructions of the agent: the system prompt. */
  instructions?: string | undefined
  /** Tools of the agent, created with `tool({ … })`. */
  tools?: readonly Tool[] | undefined
  /** Number of model answers after which a run ends. Default: 25. */
  maxSteps?: number | undefined
  /** Cost limit of one run, in US dollars: the run stops after the answer that reaches it. Default: no limit. */
  maxCostUsd?: number | undefined
  /** Maximum output tokens of one answer. Default: 4096. */
  maxTokens?: number | undefined
  /** Sampling temperature. Default: 0. */
  temperature?: number | undefined
  /** Whether the agent remembers the exchanges of earlier runs. Default: false. */
  memory?: boolean | undefined
  /** Number of corrections of an answer that does not fit the requested schema. Default: 1. */
  parseRepairs?: number | undefined
  /**
   * Called before each call of a tool with `requires_approval`; returns true, false or a `Review`. Without it such
   * calls are refused. An error that it throws ends the run and is rethrown; any other return value causes a TypeError.
   */
  onApproval?: ((call: ApprovalRequest) => boolean | Review | Promise<boolean | Review>) | undefined
  /** Name of the agent in traces and for the simulated model. */
  name?: string | undefined
  /** Configuration as in `.svc/config.yaml`, for instance `{ model: { idle_timeout: 5 } }`; no file is read. */
  config?: Record<string, unknown> | undefined
  ports?: Partial<Omit<Ports, 'files'>> | undefined
  /** Log options. Default: warnings go to standard error. */
  log?: LogOptions | undefined
}

export interface RunOptions {
  /** Ends the run: the model call is aborted, tools get the signal, and its reason is thrown. */
  signal?: AbortSignal | undefined
  /** Overrides the agent's setting. */
  maxSteps?: number | undefined
  /** Overrides the agent's setting. */
  maxCostUsd?: number | undefined
}

/**
 * Result of a run. `parsed` is the answer validated by the schema; null without a schema, or when no answer matches.
 */
export interface AgentResult<P = null>
  extends Pick<TaskResponse, 'output' | 'steps_taken' | 'tool_calls_made' | 'cost_usd' | 'tokens'> {
  status: 'completed' | 'failed' | 'max_steps'
  parsed: P
  /** Reason of a failure: a StructuredParseError, a ModelError, … */
  error: Error | null
  /** The answering model as `provider:model`; null when none answered. */
  model: string | null
}

/** An event of a run. */
export type AgentEvent<P = null> =
  | { type: 'text'; text: string }
  /** Discards the text received so far: an attempt was interrupted and is retried. */
  | { type: 'reset' }
  | { type: 'tool_call'; call_id: string; name: string; arguments: unknown }
  | { type: 'tool_result'; call_id: string; name: string; content: string; is_error: boolean }
  | { type: 'done'; result: AgentResult<P> }

type WithSchema<S extends z.ZodObject> = RunOptions & { schema: S }

/**
 * An agent inside a program, without project, daemon and files: instructions, tools, a model. Runs of one agent may be
 * concurrent.
 * @example
 * const agent = new Agent({ model: 'openai:standard', instructions: 'You answer in one sentence.' })
 * const { output } = await agent.run('Why is the sky blue?')
 */
export class Agent {
  readonly #options: AgentOptions
  #exchanges: Exchange[] = []
  #standalone: Promise<import('./standalone.ts').Standalone> | undefined

  constructor(options: AgentOptions = {}) {
    this.#options = options
  }

  /**
   * Runs one instruction and returns the result. A failure after the first model call is the `error` of a result with
   * the status `failed`; with a `schema`, `parsed` is the validated answer.
   * @throws ModelNameError; MissingDependencyError when a package for the model is not installed; InvalidConfigError;
   * InvalidInputError for an invalid option, limit or instruction; the abort reason of `signal`; errors of
   * `onApproval`; a TypeError or ConflictError for invalid tools
   */
  run<S extends z.ZodObject>(instruction: string, options: WithSchema<S>): Promise<AgentResult<z.output<S> | null>>
  run(instruction: string, options?: RunOptions): Promise<AgentResult>
  run(instruction: string, options: RunOptions & { schema?: z.ZodObject } = {}): Promise<AgentResult<unknown>> {
    return this.#run(instruction, options, () => {})
  }

  /**
   * Returns the answer validated by a schema.
   * @throws StructuredParseError with the model's answer in `raw`; any other failure of the run; and as `run` does
   */
  async parse<S extends z.ZodObject>(instruction: string, schema: S, options: RunOptions = {}): Promise<z.output<S>> {
    const { parsed, error, output: raw } = await this.run(instruction, { ...options, schema })
    if (parsed !== null) return parsed
    throw (
      error ??
      new StructuredParseError({ raw, problem: 'the maximum number of steps was reached before there was an answer' })
    )
  }

  /**
   * The same as `run`, streamed; the last event is `done` with the result. Leaving the loop early ends the run.
   * @throws as `run` does
   */
  stream<S extends z.ZodObject>(
    instruction: string,
    options: WithSchema<S>,
  ): AsyncGenerator<AgentEvent<z.output<S> | null>, void, undefined>
  stream(instruction: string, options?: RunOptions): AsyncGenerator<AgentEvent, void, undefined>
  async *stream(
    instruction: string,
    options: RunOptions & { schema?: z.ZodObject } = {},
  ): AsyncGenerator<AgentEvent<unknown>, void, undefined> {
    const left = new AbortController()
    const signal = options.signal ? AbortSignal.any([options.signal, left.signal]) : left.signal
    const come: AgentEvent[] = []
    let tell = () => {}
    let over = false
    const running = this.#run(instruction, { ...options, signal }, event => {
      come.push(event)
      tell()
    }).finally(() => {
      over = true
      tell()
    })
    // A caller that left does not need the error.
    running.catch(() => {})
    try {
      while (!over || come.length > 0) {
        yield* come.splice(0)
        if (over || come.length > 0) continue
        await new Promise<void>(resolve => {
          tell = resolve
        })
      }
      yield { type: 'done', result: await running }
    } finally {
      left.abort()
    }
  }

  /** Forgets the exchanges of earlier runs. */
  forget(): void {
    this.#exchanges = []
  }

  async #run(
    instruction: string,
    options: RunOptions & { schema?: z.ZodObject },
    tell: (event: AgentEvent) => void,
  ): Promise<AgentResult<unknown>> {
    options.signal?.throwIfAborted()
    this.#standalone ??= import('./standalone.ts').then(({ Standalone }) => Standalone.open(this.#options))
    const session = await this.#standalone
    const result = await session.run({ ...options, instruction, exchanges: this.#exchanges }, tell)
    if (this.#options.memory && result.status === 'completed') {
      // Exchanges that no longer fit into a prompt are dropped.
      this.#exchanges = recentExchanges([{ instruction, output: result.output }, ...this.#exchanges])
    }
    return result
  }
}
