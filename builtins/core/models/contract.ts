import { ImageRef } from '#core/images/contract'
import { defineError, point, token, z } from '#kernel'
import {
  type ContextCompacted,
  type ContextRefused,
  type ContextReport,
  type ContextUse,
  type SummaryDue,
  SummaryMark,
} from './context/contract.ts'
import type { ModelParameters } from './parameters/contract.ts'

export { type CallLimit, CallLimits, holdAll, type PlannedSpend } from './call/call-limits.ts'
export * from './context/contract.ts'
export { IMITATED_HINT } from './context/shorten.ts'
export { ModelParameters, mergeParameters, parametersLine } from './parameters/contract.ts'
export { nearJsonAt } from './repair/reader.ts'

/** Maximum number of tool calls of one answer. Further ones are counted and dropped unprocessed. */
export const MAX_TOOL_CALLS = 32

/** One message of a conversation, as it is stored in transcripts. */
export const Message = z.object({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string(),
  tool_calls: z
    .array(
      z.object({
        id: z.string(),
        name: z.string(),
        arguments: z.unknown(),
        repaired: z.array(z.string()).optional().describe('Repairs made to the call, such as single_quotes'),
      }),
    )
    .optional()
    .describe('Tool calls of the answer; arguments are an object, or the raw text when it was not JSON'),
  reasoning: z.string().optional().describe('Reasoning of the model before its answer'),
  provider_data: z
    .object({ model: z.string().describe('provider:model'), fields: z.record(z.string(), z.unknown()) })
    .optional()
    .describe('Data that the model must get back with this answer, such as signed reasoning; svc does not read it'),
  dropped_calls: z
    .int()
    .optional()
    .describe('Number of further tool calls of the answer, which were dropped; absent when there were none'),
  tool_call_id: z.string().optional(),
  name: z.string().optional(),
  is_error: z.boolean().optional(),
  is_notice: z
    .boolean()
    .optional()
    .describe('Set on a user message that svc itself wrote, such as a reminder of the plan; summaries do not keep it'),
  is_report: z
    .boolean()
    .optional()
    .describe('Set on a user message that only reports what happened, such as the end of a program or of a sub-agent'),
  from_operator: z
    .boolean()
    .optional()
    .describe('Set on a tool result with words of the operator, such as an answer; summaries keep it word for word'),
  reports_until: z
    .int()
    .optional()
    .describe('Set on a notice about a session: when the newest task that it reports began, in milliseconds'),
  is_kept: z
    .boolean()
    .optional()
    .describe('Set on a tool result that is needed for further work, such as a skill; it is not cleared'),
  summary: SummaryMark.optional().describe('Set if the content is a summary of the messages before it'),
  images: z.array(ImageRef).optional().describe('Images of a message of the user, or of a tool result'),
})
export type Message = z.infer<typeof Message>

/** An image to be sent to a model. */
export interface SentImage extends ImageRef {
  /** Bytes of the image in base64; absent until the request is sent. */
  data?: string
  /** Estimated tokens of the image. */
  tokens?: number
}

/** A message to be sent to a model. */
export type SentMessage = Omit<Message, 'images'> & { images?: SentImage[] | undefined }

/** A tool as a model sees it; `parameters` is JSON Schema. */
export interface ToolSpec {
  name: string
  description: string
  parameters: Record<string, unknown>
}

/** Characters per token, a rule of thumb for English text: https://help.openai.com/en/articles/4936856 */
export const CHARS_PER_TOKEN = 4

/** Estimates the tokens of streamed characters from their number alone. Use `textTokens` for texts. */
export function estimateTokens(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN)
}

/** Purpose of a call, booked with its spend; simulated models decide by it alone. */
export interface CallPurpose {
  agent_id: string | null
  goal_id: string | null
  cycle_num: number
  /** `summary`: a summary of a pursuit's conversation, which replaces its messages. */
  kind: 'goal_generation' | 'goal_pursuit' | 'summary' | 'task' | 'other'
  /** Kind under which the spend of a call of kind `other` is booked, such as `life_event`. Default: `other`. */
  booked_as?: string
  /** The one-shot task that the call is for. */
  task_id?: string
  /** The topmost agent, which pays for this one. Default: the agent itself. */
  root_agent_id?: string
  /**
   * Whether a simulated model answers in a trial, such as a demo or a benchmark; its spend counts only in the trial's
   * own project.
   */
  is_simulated?: boolean
  /** Limit of an agent's total spend on pursuits, or of a task's total spend, in USD; 0 or undefined sets no limit. */
  max_cost_usd?: number
  /** Limit of the total spend of an agent without a parent, in USD; 0 sets no limit, undefined is read when needed. */
  max_total_cost_usd?: number
}

export interface ModelRequest {
  /** The provider's own name of the model. */
  model: string
  /** The conversation. Providers with a `vision` method that reports vision also get the images' bytes. */
  messages: readonly SentMessage[]
  tools: readonly ToolSpec[]
  temperature: number
  /** Maximum output tokens of this call. In the provider's request, thinking tokens are included. */
  max_tokens: number
  /** Further parameters. A caller sets those of task and profile; a provider gets all that apply. */
  parameters?: ModelParameters
  /** Keys of the provider's request that the model refused before; the provider leaves them out. */
  omit?: ReadonlySet<string>
  purpose: CallPurpose
  /**
   * JSON Schema that the answer's text must match as one JSON value; `name` is 1 to 64 letters, digits, `_` or `-`.
   * Sent as `response_format: json_schema` if the model's server supports it, otherwise described in the prompt. Not
   * guaranteed, so validate the answer.
   */
  response_schema?: { name: string; schema: Record<string, unknown> }
}

export interface Usage {
  input_tokens: number
  output_tokens: number
  /** Part of input_tokens that was read from the provider's cache. */
  cached_tokens?: number
  /** Part of input_tokens that was written to the provider's cache. */
  cache_write_tokens?: number
}

/** Event of a provider's stream. A stream that ends without `done` was cut off. */
export type ModelEvent =
  /** `chars`: number of characters received, if more than the text, such as those of an incomplete tool call. */
  | { type: 'text'; text: string; chars?: number }
  /** The model's reasoning. `chars`: number of characters received, if different from the text's length. */
  | { type: 'reasoning'; text: string; chars?: number }
  | ({ type: 'tool_call' } & AskedCall)
  /** Tool calls over the limit, which are dropped, and their total number of characters. */
  | { type: 'dropped_calls'; calls: number; chars: number }
  /** Opaque data that the provider wants back with this answer. Later fields are added to earlier ones. */
  | { type: 'provider_data'; fields: Record<string, unknown> }
  | { type: 'usage'; usage: Usage }
  | { type: 'done'; finish_reason: 'stop' | 'tool_calls' | 'length' | 'content_filter' }

/**
 * How a model calls tools. `native`: by its protocol. `prompted`: tools are described in the prompt, and calls are
 * parsed from the text. `auto`: natively, until its server reports that it cannot; calls in the text are parsed too.
 */
export const ToolCalls = z.enum(['native', 'prompted', 'auto'])
export type ToolCalls = z.infer<typeof ToolCalls>

/** A problem with a model, and what to do. */
export interface ModelProblem {
  problem: string
  remedy: string
}

export interface ModelProvider {
  name: string
  /** Address of the server; limits learned from refusals apply to a model at this address. */
  endpoint?: string
  /** Default: `auto`; configuration takes precedence. */
  tool_calls?: ToolCalls
  /** Whether the provider supports `response_schema`; otherwise the prompt describes the answer's form. */
  structured?: boolean
  /** Whether it is not an AI model: in demos and benchmarks its tokens do not count against the project's limits. */
  simulated?: boolean
  /** Whether it costs nothing, unless the project's `models.yaml` has a price for the model. */
  free?: boolean
  /** Why it is free, such as '127.0.0.1:4000 is on this machine'. */
  free_because?: string
  /** Notice shown beside the model's name, such as 'simulated, not an AI model'. */
  notice?: string
  /** What to do for a model without this notice; shown with it. */
  remedy?: string
  /** Returns whether the provider can be called now; if not, or if unknown, `reason` says why and what to do. */
  availability(): Promise<{ available: boolean; reason: string | null }>
  /**
   * Like `availability`, but always contacts the server, also where address and key are otherwise assumed to be right.
   * For diagnosis.
   */
  reach?(): Promise<{ available: boolean; reason: string | null }>
  /** Returns the models that the server lists; null if it lists none. */
  listModels?(): Promise<readonly string[] | null>
  /** Returns why the server cannot call a model, although it answers; null if it can, or if that is unknown. */
  explainMissing?(model: string): Promise<ModelProblem | null>
  /** Returns the server's context window for a model, in tokens; null where the server does not report it. */
  contextWindow?(model: string): Promise<number | null>
  /** Command that gives the server a larger context window, such as `llama-server -c 16384`. */
  larger_window?: string
  /**
   * Returns whether a model sees images; null where unknown until a refusal. Without this method, no model of the
   * provider does.
   */
  vision?(model: string): Promise<boolean | null>
  /**
   * Returns the model to use when only the provider was named.
   * @param asks whether it may ask its server, by default true; without asking, undefined where that is not known yet
   */
  defaultModel?(asks?: boolean): Promise<string | undefined>
  /**
   * Makes one attempt, without retries. The caller repeats it after any error that is not a ModelError with
   * `transient: false`.
   * @throws ModelError when the provider refuses
   * @example throw new ModelError({ model: 'acme:large', problem: 'the key is refused' }, { kind: 'auth', transient: false, billed: false })
   * @example throw new ModelError({ model: 'acme:large', problem: 'too many requests' }, { kind: 'rate_limited', retryAfter: 20, billed: false })
   */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>
  /** Makes one attempt without streaming, for a stream that broke off. */
  complete?(request: ModelRequest, signal: AbortSignal): Promise<ModelEvent[]>
}
export const ModelProviders = point<ModelProvider>('model_providers', {
  key: provider => provider.name,
  has: { name: 'text', availability: 'function', stream: 'function' },
})

/**
 * Cost of one call over all its attempts. The caller books that of an answer, with `bookSpend` in the transaction that
 * records the answer; that of a call without an answer, or of the kind `other`, is already booked.
 */
export interface Spend {
  call_id: string
  /** `provider:model` */
  model: string
  cost_micros: number
  input_tokens: number
  output_tokens: number
  /** Parts of input_tokens that were read from, or written to, the provider's cache. */
  cached_tokens?: number
  cache_write_tokens?: number
  /** `catalogue`: a known price; `free`; `unknown`: the price is not known, and `cost_micros` is 0. */
  priced: 'catalogue' | 'free' | 'unknown'
  /** Whether tokens were estimated because the provider reported no usage. */
  estimated: boolean
  attempts: number
  duration_ms: number
  /** The first model called, as written by people, if it gave no answer and this one replaced it. */
  failover_from?: string
  /** Content of the request, compared with its model's context window. */
  context?: ContextUse
  /** False when no limit reserved an amount for the call. */
  held?: boolean
}

/** One tool call that a model asked for, with the raw text of its arguments. */
export interface AskedCall {
  id: string
  name: string
  arguments: string
  /** Repairs of the call, such as `single_quotes`; absent when none was needed. */
  repaired?: readonly string[]
}

/** Answer of a model, deeply frozen because several callers may share it. */
export interface ModelAnswer {
  readonly text: string
  /** The model's reasoning, if reported; never a part of `text`. */
  readonly reasoning?: string
  /** Opaque data to be sent back to the model with this answer; store it with the answer. */
  readonly provider_data?: NonNullable<Message['provider_data']>
  /** Calls in the order given. Unambiguous errors are repaired; other malformed calls are left unchanged. */
  readonly tool_calls: readonly Readonly<AskedCall>[]
  /** Number of further calls dropped because of `MAX_TOOL_CALLS`; absent when there were none. */
  readonly dropped_calls?: number
  readonly finish_reason: 'stop' | 'tool_calls' | 'length' | 'content_filter'
  readonly spend: Readonly<Spend>
}

export interface ModelCall extends Omit<ModelRequest, 'model'> {
  /** Name as written by people: `provider:model`, `provider:tier`, a bare name, or null for the default. */
  model: string | null
  /** Models called in this order when that one gives no answer. No other model ever replaces it. */
  fallback?: readonly string[]
  signal: AbortSignal
  /** Called with each piece of the answer's text as it comes. */
  onText?: (text: string) => void
  /**
   * Called when the text passed to `onText` is withdrawn, because an attempt broke off and that of another one follows.
   * At the end, the pieces since then are the answer's text. Without it, `onText` gets the text of the first attempt
   * that has any.
   */
  onReset?: () => void
  /** Parts of the system message, joined by blank lines; if they are too long, the longest ones are cut. */
  system_parts?: readonly string[]
  /** Returns the tools that fit this number of tokens of the context window; without it, all of `tools` are offered. */
  toolsWithin?(tokens: number): readonly ToolSpec[]
  /** Actual purpose of the call, if it is booked under another one. Default: `purpose`. */
  asked_for?: CallPurpose
  /** Content of the request; set once it is fitted to its model. */
  context?: ContextUse
}

/**
 * Returns the model that a call uses, as written by people. @param planning_model model that chooses goals; empty for
 * the agent's own
 */
export function modelOf(
  { model, purpose }: Pick<ModelCall, 'model' | 'purpose'>,
  planning_model: string,
): string | null {
  return (purpose.kind === 'goal_generation' && planning_model) || model
}

/** A call of one model, with the id under which its spend is booked. */
export interface ObservedCall {
  call_id: string
  /** `provider:model` */
  model: string
  call: ModelCall
}
/** How the call ended: with an answer, or with a thrown error. */
export type ObservedEnd = { answer: ModelAnswer } | { error: unknown }

/** Observes model calls. */
export interface CallObserver {
  name: string
  /** Called when a call begins. @returns a function called with its end; errors of either are logged and ignored */
  began(call: ObservedCall): (end: ObservedEnd) => void
}
export const CallObservers = point<CallObserver>('call_observers', {
  key: observer => observer.name,
  has: { name: 'text', began: 'function' },
})

/** USD per million tokens, which is micro-dollars per token. Cached input costs as much as other input where that isn't given. */
export interface ModelRates {
  input: number
  output: number
  /** Price of input read from the provider's cache. */
  cached_input?: number | undefined
  /** Price of input written to the provider's cache. */
  cache_write?: number | undefined
}

export interface ModelPrice extends ModelRates {
  /** Prices of all tokens of a request whose input exceeds `above` tokens. */
  long_prompt?: (ModelRates & { above: number }) | undefined
}

/** Known facts about one model: its price and its limits. */
export interface ModelFacts {
  /** `provider:model` */
  model: string
  price: ModelPrice | 'free' | 'unknown'
  /** Why it is free; null where it is not. */
  free_because: string | null
  /** Tokens of input and output together; null where unknown. */
  context_window: number | null
  /** Maximum tokens of one answer; null where unknown. */
  max_output_tokens: number | null
  /** Parameters that apply where profile and task set none. */
  parameters: ModelParameters
  /** Whether it sees images; null where unknown. */
  vision: boolean | null
}

/** Lists names of models that may be called, as written by people; null or an empty string is the default model. */
export interface ModelUser {
  name: string
  models(): Promise<readonly (string | null)[]>
}
export const ModelUsers = point<ModelUser>('model_users', {
  key: user => user.name,
  has: { name: 'text', models: 'function' },
})

/** The fields of a call that determine the size of its request. */
export type MeasuredCall = Pick<
  ModelCall,
  'model' | 'messages' | 'system_parts' | 'tools' | 'toolsWithin' | 'max_tokens' | 'parameters' | 'purpose'
>

/** A summary that replaces the oldest part of a conversation. */
export interface Summary {
  /** Message to append to the conversation before the next one. */
  message: Message
  /** Lines worth remembering beyond that conversation. */
  remember: readonly string[]
}

/** Functions for replacing the oldest part of a conversation by a model's summary; their user makes the call. */
export interface Summaries {
  /**
   * Returns the limits of a summary that is due before a digest would replace the oldest turns of the next call; null
   * when everything fits, when `model.summary` is off, or when the model cannot be called now.
   * @param keeps maximum number of newest messages to keep; with it, a summary is always due
   * @throws ModelNameError
   */
  findDue(call: MeasuredCall, keeps?: number): Promise<SummaryDue | null>
  /** Returns the messages that ask for a summary. @param remembers whether to ask for lines worth remembering too */
  request(messages: readonly Message[], due: SummaryDue, remembers: boolean): Message[]
  /** Returns the summary in an answer; undefined when there is none. */
  read(answer: Pick<ModelAnswer, 'text' | 'spend'>, messages: readonly Message[], due: SummaryDue): Summary | undefined
}

export interface Models {
  /** Resolves a name written by people. @throws ModelNameError, or ModelError when nothing can be called */
  resolve(name: string | null): Promise<{ id: string; provider: ModelProvider; model: string }>
  /**
   * Price and limits of a model, from `models.yaml` and the shipped catalogue.
   * @param asks whether it may ask a server which model it serves, by default true
   * @throws as `resolve` does; without asking, ModelNameError where that is not known yet
   */
  describe(name: string | null, asks?: boolean): Promise<ModelFacts>
  /**
   * Returns the facts of every model that the configuration, profiles and live agents name. Unknown names are left out.
   */
  inUse(): Promise<ModelFacts[]>
  /**
   * Measures a call without making it, fitted to its model. Absent where another plugin provides the models. @throws as
   * `resolve` does
   */
  measure?(call: MeasuredCall): Promise<ContextReport>
  /**
   * Returns why the context window of a model is too small for agents; null if it is not, or if it is unknown. With
   * `agent_id`, also why the system prompt of that agent was cut. Absent where another plugin provides the models.
   * @throws as `resolve` does
   */
  findWindowProblem?(name: string | null, agent_id?: string): Promise<ModelProblem | null>
  /** Returns the call that a cycle of an agent makes now in this process. Absent where another plugin provides the models. */
  runningCall?(agent_id: string): { model: string; since: number } | undefined
  /** Functions for summaries of conversations. Absent where another plugin provides the models. */
  summaries?: Summaries
  /**
   * Returns one answer, with the configured retries and time limits, from the named model or the first fallback that
   * gives one, even after the first tokens of an answer.
   * @throws ModelError with the spend of all attempts; the error with which a limit on calls refuses them, such as
   * BudgetExhaustedError
   */
  call(call: ModelCall): Promise<ModelAnswer>
}
export const Models = token<Models>('models', {
  resolve: 'function',
  describe: 'function',
  inUse: 'function',
  call: 'function',
})

/**
 * Calls the model named in a request. It remains when another plugin replaces this module, so that the plugin can
 * choose models and leave the calls to this service.
 */
export const ModelCaller = token<Models>('model_caller')

/**
 * Why a model did not answer: rate limit, overload, a model that its server still loads, another server error, no
 * connection, time limit, an incomplete or invalid answer, a bad or missing key, an empty account, a request that it
 * declines, or that exceeds its context window, has an unsupported form or parameter, or has content that the provider
 * forbids, a provider suspended after failures, or a caller that stopped. `failed` is anything else.
 */
export type ModelFailure =
  | 'rate_limited'
  | 'overloaded'
  | 'loading'
  | 'server_error'
  | 'unreachable'
  | 'timeout'
  | 'broken'
  | 'auth'
  | 'quota'
  | 'refused'
  | 'context_overflow'
  | 'unsupported_parameter'
  | 'invalid_request'
  | 'content_policy'
  | 'resting'
  | 'stopped'
  | 'failed'

export const ModelFailover = z
  .object({
    agent_id: z.string().nullable(),
    goal_id: z.string().nullable(),
    from: z.string().describe('The model that gave no answer'),
    to: z.string().describe('The model that is asked next'),
    kind: z.string().describe('Why the first model gave no answer, such as `rate_limited` or `unreachable`'),
    reason: z.string(),
  })
  .describe('Another model was asked in place of one that gave no answer')

declare module '#kernel' {
  interface Replaceable {
    models: { models: Models }
  }
  interface Events {
    model_failover: z.infer<typeof ModelFailover>
    context_compacted: z.infer<typeof ContextCompacted>
    context_refused: z.infer<typeof ContextRefused>
  }
}

/** Error of a call without an answer. `spend` is what it cost nevertheless. */
export class ModelError extends defineError({
  code: 'model_error',
  status: 502,
  title: 'Model error',
  message: (p: { model: string; problem: string }) => `The model ${p.model} gave no answer: ${p.problem}.`,
}) {
  override name = 'ModelError'
  kind: ModelFailure = 'failed'
  /** The problem alone, without the rest of the message. */
  readonly problem: string
  spend: Spend | null = null
  /** Whether a retry can help. */
  transient = true
  /** Whether the provider may charge for the attempt: not when it refused, or was never reached. */
  billed = true
  /** Whether the answer had begun, so that a request without streaming may succeed. */
  interrupted = false
  /** The text passed to `onText` since the last `onReset`. */
  text = ''
  /** The HTTP status of a refusal, where the server gave one. */
  http_status: number | null = null
  /** The request key that the model does not support, where a refusal named one. */
  parameter: string | null = null
  /** The context window in tokens, where a refusal for size named it. */
  context_window: number | null = null

  constructor(params: { model: string; problem: string }, options: ModelErrorOptions = {}) {
    const { retryAfter, cause, ...facts } = options
    super(params, { cause, ...(retryAfter === undefined ? {} : { retryAfter }) })
    this.problem = params.problem
    Object.assign(this, facts)
  }
}
type ModelErrorOptions = { retryAfter?: number | undefined; cause?: unknown } & Partial<
  Pick<
    ModelError,
    'kind' | 'spend' | 'transient' | 'billed' | 'interrupted' | 'text' | 'http_status' | 'parameter' | 'context_window'
  >
>
export const ModelNameError = defineError({
  code: 'unknown_model',
  name: 'ModelNameError',
  status: 422,
  title: 'Unknown model',
  message: (p: { name: string; known: string[] }) =>
    `"${p.name}" is not a model name; use provider:model or provider:lite|standard|pro, where provider is one of ${p.known.join(', ')}.`,
})

/**
 * Returns whether the same request would be refused again: for its size, its form, a required parameter, or its
 * content.
 */
export function isRefusedForGood(error: unknown): error is ModelError {
  if (!(error instanceof ModelError) || error.transient) return false
  return ['context_overflow', 'invalid_request', 'unsupported_parameter', 'content_policy'].includes(error.kind)
}

/** Returns whether no server did any work for the call: it was not reached, still loads its model, or is suspended. */
export function isNotReady(error: unknown): error is ModelError {
  return error instanceof ModelError && ['unreachable', 'loading', 'resting'].includes(error.kind)
}

/** Returns whether a server refused the request as invalid, with an unknown message. */
export function isUnknownRefusal(error: unknown): error is ModelError {
  return error instanceof ModelError && error.kind === 'refused' && [400, 422].includes(error.http_status ?? 0)
}

/** Returns the input of a model call, which `recordInput` compares when it replays the answer. */
export function recordedQuestion({ messages }: Pick<ModelCall, 'messages'>): readonly Message[] {
  return messages
}
