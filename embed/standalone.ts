import { type Message, ModelError, Models, type Spend } from '#core/models/contract'
import models from '#core/models/index'
import { Profile } from '#core/profiles/contract'
import { type PlannedCall, type RunEvent, Runtime, Schemas, type Verdict } from '#core/runtime/contract'
import runtime from '#core/runtime/index'
import { TaskCostLimitError } from '#core/tasks/contract'
import { AnswerForm, jsonSchemaOf } from '#core/tasks/run/answer-form'
import { endingOf } from '#core/tasks/run/ending'
import { type Exchange, exchangeMessages, structuredRule } from '#core/tasks/run/prompt'
import { errorMessage, InvalidInputError, issuesOf, type Kernel, type Ports, z } from '#kernel'
import { orAbort } from '#lib/or-abort'
import { usdOf } from '#platform/store/contract'
import { UnknownPriceError } from '#safety/budget/contract'
import { type Tool, Toolkits } from '#tools/toolkits/contract'
import type { AgentEvent, AgentOptions, AgentResult, RunOptions } from './agent.ts'
import { openKernel } from './compose.ts'

/** A folder that is never read or written. */
const NOWHERE = '/svc-has-no-project'
/** Name of `options.config` in messages. */
const CONFIG = 'config of the agent'
/** Name of the toolkit with the agent's own tools. */
const OWN = 'own'
/** Time limit of one tool call, in seconds; the same as in a project. */
const TOOL_TIMEOUT_S = 60
const DONE =
  'You are asked to do one thing. When it is done, answer with the result itself: an answer without a tool call ends the work.'

/**
 * Limits are validated strictly: a program may compute them, and an invalid number or a misspelled name would mean no
 * limit.
 */
const LIMITS = { maxSteps: z.int().min(1).optional(), maxCostUsd: z.number().min(0).optional() }
const Options = z
  .strictObject({
    ...LIMITS,
    name: z.string().min(1),
    model: z.string(),
    instructions: z.string(),
    tools: z.array(z.unknown()),
    maxTokens: z.int().min(1),
    temperature: z.number().min(0).max(2),
    memory: z.boolean(),
    parseRepairs: z.int().min(0),
    onApproval: z.custom(value => typeof value === 'function', 'must be a function'),
    config: z.record(z.string(), z.unknown()),
    ports: z.looseObject({}),
    log: z.looseObject({}),
  } satisfies Record<keyof AgentOptions, z.ZodType>)
  .partial()
const Run = z.strictObject({
  ...LIMITS,
  instruction: z.string().refine(text => text.trim() !== '', 'must not be empty'),
  exchanges: z.unknown(),
  schema: z.unknown().optional(),
  signal: z.unknown().optional(),
} satisfies Record<keyof StandaloneTask, z.ZodType>)

/** Input of one run. */
export interface StandaloneTask extends RunOptions {
  instruction: string
  /** Earlier exchanges, newest first. */
  exchanges: readonly Exchange[]
  schema?: z.ZodObject | undefined
}

/** The kernel of a standalone agent: modules for models and the agent loop, and nothing on disk. */
export class Standalone {
  readonly #kernel: Kernel
  readonly #options: AgentOptions
  #runs = 0

  /** @throws InvalidInputError, InvalidConfigError; a TypeError or ConflictError for invalid tools */
  static async open(options: AgentOptions): Promise<Standalone> {
    check(Options, 'The agent', options)
    const ports = { ...options.ports, files: filesOf(options.config ?? {}) }
    const log = { ...options.log, level: options.log?.level ?? 'warn' }
    const builtins = [models, runtime]
    const kernel = await openKernel({ root: NOWHERE, roles: [], builtins, ports, log, configName: CONFIG })
    const tools = (options.tools ?? []).map(withoutStore)
    kernel.points.add(Toolkits, { name: OWN, everyday: true, tools }, 'the agent')
    return new Standalone(kernel, options)
  }

  private constructor(kernel: Kernel, options: AgentOptions) {
    this.#kernel = kernel
    this.#options = options
  }

  /** @throws the abort reason of the signal; errors that become no result, see `Agent.run` */
  async run(task: StandaloneTask, tell: (event: AgentEvent) => void): Promise<AgentResult<unknown>> {
    check(Run, 'The run', task)
    const { schema, signal } = task
    const { parseRepairs = 1 } = this.#options
    const form = schema && new AnswerForm(this.#kernel.use(Schemas), jsonSchemaOf(schema), parseRepairs, schema)
    const account = new Account(task.maxCostUsd ?? this.#options.maxCostUsd ?? 0)
    const end = (status: AgentResult['status'], error: Error | null): AgentResult<unknown> => {
      return { status, error, parsed: status === 'completed' && form ? form.output : null, ...account.facts }
    }
    try {
      if (account.isLimited) await this.#checkPrice()
      const events = this.#kernel.use(Runtime).run(this.#request(task, account, form, tell))
      let next = await events.next()
      for (; !next.done; next = await events.next()) {
        account.take(next.value)
        if (next.value.type === 'answer' && next.value.calls.length > 0) form?.forget()
        for (const event of eventsOf(next.value)) tell(event)
        if (next.value.type === 'answer') account.check(next.value.calls)
      }
      const ending = endingOf(next.value, account.facts.output !== '')
      const error = ending.error ?? form?.error ?? null
      return end(error ? 'failed' : (ending.status as AgentResult['status']), error)
    } catch (error) {
      signal?.throwIfAborted()
      const known = [ModelError, TaskCostLimitError, UnknownPriceError].some(kind => error instanceof kind)
      if (!known) throw error
      if (error instanceof ModelError) account.fail(error)
      return end('failed', error as Error)
    }
  }

  /**
   * Checks that the model has a known price, which a cost limit requires.
   * @throws UnknownPriceError; the error for an unknown model
   */
  async #checkPrice(): Promise<void> {
    const { model, price } = await this.#kernel.use(Models).describe(this.#options.model ?? null)
    if (price !== 'unknown') return
    const why = 'so a cost limit (maxCostUsd) cannot be enforced'
    throw new UnknownPriceError({ model, why, remedy: 'leave the limit out, or use a model with a known price' })
  }

  #request(task: StandaloneTask, account: Account, form: AnswerForm | undefined, tell: (event: AgentEvent) => void) {
    const {
      model = null,
      instructions,
      temperature = 0,
      maxTokens = 4096,
      maxSteps = 25,
      name = 'agent',
    } = this.#options
    const signal = task.signal ?? new AbortController().signal
    const tools = this.#kernel.use(Runtime).toolsFor(Profile.parse({ name, role: name }), [OWN])
    const cycle_num = ++this.#runs
    const first: Message[] = [{ role: 'user', content: task.instruction }]
    const parts = [instructions, DONE, form && structuredRule(tools.specs.length > 0)]
    return {
      agent_id: name,
      goal_id: null,
      cycle_num,
      call_prefix: `${name}:${cycle_num}`,
      model,
      temperature,
      tools,
      purpose: { agent_id: name, goal_id: null, cycle_num, kind: 'task' as const },
      max_tokens: maxTokens,
      // A given temperature overrides that of the model.
      parameters: this.#options.temperature === undefined ? {} : { temperature },
      max_steps: task.maxSteps ?? maxSteps,
      system: parts.filter(Boolean).join('\n\n'),
      transcript: task.exchanges.toReversed().flatMap(exchangeMessages),
      tool_timeout: TOOL_TIMEOUT_S,
      workspace: process.cwd(),
      ends: 'text' as const,
      newMessages: async () => first.splice(0),
      signal,
      onText: (text: string) => tell({ type: 'text', text }),
      onReset: () => tell({ type: 'reset' }),
      gate: (call: PlannedCall, tool: Tool, check: () => Promise<void>) => this.#gate(call, tool, check, signal),
      ...(form ? { response_schema: form.schema, review: (text: string) => form.review(text, !account.isUsedUp) } : {}),
    }
  }

  async #gate(
    { call_id, name, arguments: args }: PlannedCall,
    { requires_approval, danger }: Tool,
    check: () => Promise<void>,
    signal: AbortSignal,
  ): Promise<Verdict> {
    const run = { verdict: 'run', arguments: args } as const
    if (!requires_approval) return run
    const { onApproval } = this.#options
    if (!onApproval) return refuseVerdict('It needs the approval of a person, and none is available.')
    const problem = await check().then(() => undefined, errorMessage)
    if (problem !== undefined) return refuseVerdict(problem)
    const ask = async () => onApproval({ call_id, tool_name: name, arguments: args, danger: danger ?? null })
    // An aborted run does not wait for the approval, and a later approval does not run the tool.
    const decided = await orAbort(signal, ask())
    if (decided === true) return run
    if (decided === false) return refuseVerdict('It was denied.')
    switch (decided?.decision) {
      case 'approve':
        return run
      case 'edit':
        return { verdict: 'run', arguments: decided.arguments }
      case 'deny':
        return refuseVerdict(decided.reason ? `It was denied: ${decided.reason}` : 'It was denied.')
    }
    // An invalid return value of an untyped program must not run the tool.
    throw new TypeError(
      `onApproval must return true, false, or { decision: 'approve' | 'deny' | 'edit' }; for ${name} it returned none of these.`,
    )
  }
}

/** Steps and cost of a run so far. */
class Account {
  readonly #limit_usd: number
  #cost_micros = 0
  readonly #facts = { output: '', steps_taken: 0, tool_calls_made: 0, tokens: 0, model: null as string | null }

  /** @param limit_usd 0 sets no limit */
  constructor(limit_usd: number) {
    this.#limit_usd = limit_usd
  }

  get facts() {
    return { ...this.#facts, cost_usd: usdOf(this.#cost_micros) }
  }

  get isLimited(): boolean {
    return this.#limit_usd > 0
  }

  get isUsedUp(): boolean {
    return this.#limit_usd > 0 && usdOf(this.#cost_micros) >= this.#limit_usd
  }

  take(event: RunEvent): void {
    if (event.type === 'outcome') this.#facts.tool_calls_made++
    else {
      this.#facts.steps_taken++
      if (event.message.content.trim() !== '') this.#facts.output = event.message.content
      this.#charge(event.spend)
      this.#facts.model = event.spend.model
    }
  }

  /**
   * Stops the run when its cost limit is reached.
   * @throws TaskCostLimitError when there was more to do
   */
  check(calls: readonly unknown[]): void {
    if (calls.length > 0 && this.isUsedUp) {
      throw new TaskCostLimitError({ spent_usd: usdOf(this.#cost_micros), limit_usd: this.#limit_usd })
    }
  }

  fail({ spend, text }: ModelError): void {
    if (spend) this.#charge(spend)
    if (text.trim() !== '') this.#facts.output = text
  }

  #charge({ cost_micros, input_tokens, output_tokens }: Spend): void {
    this.#cost_micros += cost_micros
    this.#facts.tokens += input_tokens + output_tokens
  }
}

function eventsOf(event: RunEvent): AgentEvent[] {
  if (event.type === 'answer') {
    return event.calls.map(({ call_id, name, arguments: args }) => ({
      type: 'tool_call',
      call_id,
      name,
      arguments: args,
    }))
  }
  const { call, message } = event
  const { content, is_error = false } = message
  return [{ type: 'tool_result', call_id: call.call_id, name: call.name, content, is_error }]
}

/** @throws InvalidInputError */
function check(given: z.ZodObject, what: string, options: AgentOptions | StandaloneTask): void {
  const { error } = given.safeParse(options)
  if (!error) return
  const issues = issuesOf(error)
  throw new InvalidInputError({ what, issues }, { errors: issues })
}

function refuseVerdict(reason: string): Verdict {
  return { verdict: 'refuse', reason }
}

/** Makes a tool's writes fail, because a standalone agent has no store. */
function withoutStore(tool: Tool): Tool {
  const effect = () => {
    throw new Error('A standalone agent has no store, so its tools cannot write effects.')
  }
  return { ...tool, execute: (args: never, call) => tool.execute(args, { ...call, effect }) }
}

/** Returns a file system that contains only a virtual configuration file. */
function filesOf(config: Record<string, unknown>): Ports['files'] {
  const missing = async (path: unknown) => {
    throw Object.assign(new Error(`There is no ${path}.`), { code: 'ENOENT' })
  }
  const readFile = async (path: unknown) =>
    String(path).endsWith('config.yaml') ? Buffer.from(JSON.stringify(config)) : missing(path)
  const stat = async (path: unknown) => {
    await readFile(path)
    return { isFile: () => true }
  }
  return new Proxy({} as Ports['files'], {
    get: (_, name) => ({ readFile, stat })[name as string] ?? missing,
  })
}
