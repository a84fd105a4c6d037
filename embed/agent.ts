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
  /** What the tool can do harm to, in its own words. */
  danger: string | null
}

export interface AgentOptions {
  /** `provider:model`, `provider:lite|standard|pro` or a bare name. Default: the default model. */
  model?: string
  /** Who it is and how it works: the system prompt. */
  instructions?: string
  /** What it can do; made with `tool({ … })`. */
  tools?: readonly Tool[]
  /** Number of model answers after which a run ends. Default: 25. */
  maxSteps?: number
  /** Cost limit of one run, in US dollars: after the answer that reaches it nothing more is done. Default: no limit. */
  maxCostUsd?: number
  /** The output limit of one answer. Default: 4096. */
  maxTokens?: number
  /** Default: 0. */
  temperature?: number
  /** Whether it remembers the exchanges of earlier runs. Default: false. */
  memory?: boolean
  /** Number of corrections of an answer that does not fit the requested schema. Default: 1. */
  parseRepairs?: number
  /**
   * Asked before each call of a tool that says `requires_approval`: true or false, or as a reviewer would decide. Without it
   * such calls are refused. What it throws ends the run and is thrown, as is a TypeError for any other answer.
   */
  onApproval?: (call: ApprovalRequest) => boolean | Review | Promise<boolean | Review>
  /** As its traces and the simulated model know it. */
  name?: string
  /** As in `.svc/config.yaml`, for instance `{ model: { idle_timeout: 5 } }`; no file is read. */
  config?: Record<string, unknown>
  ports?: Partial<Omit<Ports, 'files'>>
  /** Default: warnings go to standard error. */
  log?: LogOptions
}

export interface RunOptions {
  /** Ends the run: the model call is aborted, tools get the signal, and its reason is thrown. */
  signal?: AbortSignal
  /** In place of the agent's own. */
  maxSteps?: number
  /** In place of the agent's own. */
  maxCostUsd?: number
}

/** What came of a run. `parsed` is the answer as the schema made it; null without one, and when none fits. */
export interface AgentResult<P = null>
  extends Pick<TaskResponse, 'output' | 'steps_taken' | 'tool_calls_made' | 'cost_usd' | 'tokens'> {
  status: 'completed' | 'failed' | 'max_steps'
  parsed: P
  /** Why it failed: a StructuredParseError, a ModelError, … */
  error: Error | null
  /** `provider:model` that answered; null when none did. */
  model: string | null
}

/** What happens in a run. */
export type AgentEvent<P = null> =
  | { type: 'text'; text: string }
  /** The text of the answer on its way is taken back: an attempt broke off, and another one takes its place. */
  | { type: 'reset' }
  | { type: 'tool_call'; call_id: string; name: string; arguments: unknown }
  | { type: 'tool_result'; call_id: string; name: string; content: string; is_error: boolean }
  | { type: 'done'; result: AgentResult<P> }

type WithSchema<S extends z.ZodObject> = RunOptions & { schema: S }

/**
 * One agent inside a program, with no project, no daemon and no file: instructions, tools, a model. Runs of one agent may go
 * on side by side.
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
   * Does one thing and answers. What goes wrong once the model was asked is the `error` of a result whose status is `failed`;
   * with a `schema`, `parsed` is the answer as that made it.
   * @throws ModelNameError; MissingDependencyError when the model needs a package that is not there; InvalidConfigError;
   * InvalidInputError for an option, a limit or an instruction that is none; what `signal` was aborted with; what `onApproval`
   * throws; a TypeError or ConflictError for tools that are none
   */
  run<S extends z.ZodObject>(instruction: string, options: WithSchema<S>): Promise<AgentResult<z.output<S> | null>>
  run(instruction: string, options?: RunOptions): Promise<AgentResult>
  run(instruction: string, options: RunOptions & { schema?: z.ZodObject } = {}): Promise<AgentResult<unknown>> {
    return this.#run(instruction, options, () => {})
  }

  /**
   * The answer as this schema makes it, or an error.
   * @throws StructuredParseError with the model's words in `raw`; whatever else the run failed with; and as `run` does
   */
  async parse<S extends z.ZodObject>(instruction: string, schema: S, options: RunOptions = {}): Promise<z.output<S>> {
    const { parsed, error, output: raw } = await this.run(instruction, { ...options, schema })
    if (parsed !== null) return parsed
    throw error ?? new StructuredParseError({ raw, problem: 'the steps were used up before there was one' })
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

  /** Forgets what was said in earlier runs. */
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
      // What fits no prompt any more is not kept either.
      this.#exchanges = recentExchanges([{ instruction, output: result.output }, ...this.#exchanges])
    }
    return result
  }
}
