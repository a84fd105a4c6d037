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
export { ModelParameters, mergeParameters, parametersLine } from './parameters/contract.ts'

/** Maximum number of tool calls of one answer. Further ones are counted and dropped before anything is done with them. */
export const MAX_TOOL_CALLS = 32

/** One message of a conversation, as it is stored in transcripts. */
export const Message = z.object({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.string(),
  tool_calls: z
    .array(
      z.object({
        ...{ id: z.string(), name: z.string(), arguments: z.unknown() },
        repaired: z.array(z.string()).optional().describe('What was mended in it, such as single_quotes'),
      }),
    )
    .optional()
    .describe('Arguments are an object, or the raw text when it was not JSON'),
  reasoning: z.string().optional().describe('What the model thought on the way to its answer'),
  provider_data: z
    .object({ model: z.string().describe('provider:model'), fields: z.record(z.string(), z.unknown()) })
    .optional()
    .describe('What its model wants back with this answer, such as signed reasoning; svc does not read it'),
  dropped_calls: z
    .number()
    .int()
    .optional()
    .describe('Number of further tool calls of the answer, which were dropped; absent when there were none'),
  tool_call_id: z.string().optional(),
  name: z.string().optional(),
  is_error: z.boolean().optional(),
  summary: SummaryMark.optional().describe('Set where the content is a summary of what was said before it'),
  images: z.array(ImageRef).optional().describe('Images of a message of the user, or of a tool result'),
})
export type Message = z.infer<typeof Message>

/** An image on its way to a model. */
export interface SentImage extends ImageRef {
  /** Its bytes in base64; absent until the request is sent. */
  data?: string
  /** Tokens that it takes, as estimated. */
  tokens?: number
}

/** A message on its way to a model. */
export type SentMessage = Omit<Message, 'images'> & { images?: SentImage[] | undefined }

/** A tool as a model sees it; `parameters` is JSON Schema. */
export interface ToolSpec {
  name: string
  description: string
  parameters: Record<string, unknown>
}

/** The rule of thumb for English text: https://help.openai.com/en/articles/4936856 */
export const CHARS_PER_TOKEN = 4

/** Estimates the tokens of a number of characters of an answer that were counted as they came. Texts are counted by `textTokens`. */
export function estimateTokens(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN)
}

/** For whom a call is made: booked with the spend, and all that a simulated model goes by. */
export interface CallPurpose {
  agent_id: string | null
  goal_id: string | null
  cycle_num: number
  /** `summary`: of a pursuit's conversation, which takes the place of its messages. */
  kind: 'goal_generation' | 'goal_pursuit' | 'summary' | 'task' | 'other'
  /** The one-shot task that it is for. */
  task_id?: string
  /** The agent that pays, where this one works for another. Default: the agent itself. */
  root_agent_id?: string
  /** A simulated model answers in a trial, such as a demo or a benchmark: that counts in the trial's own project only. */
  is_simulated?: boolean
  /** What its agent may spend on pursuits over its life, or a task in all, in USD; 0 or nothing sets no limit. */
  max_cost_usd?: number
  /** What its agent may spend in all, in USD, where it works for no other; 0 sets no limit, undefined is read when it is needed. */
  max_total_cost_usd?: number
}

export interface ModelRequest {
  /** The provider's own name of the model. */
  model: string
  /** A provider that says by `vision` that its model sees images gets their bytes too. */
  messages: readonly SentMessage[]
  tools: readonly ToolSpec[]
  temperature: number
  /** The output limit of this one call. What a provider is asked for includes the tokens for thinking. */
  max_tokens: number
  /** How the model answers besides. A caller gives what task and profile say; a provider gets all that applies. */
  parameters?: ModelParameters
  /** Keys of the provider's own request that the model was found not to take. A provider leaves them out. */
  omit?: ReadonlySet<string>
  purpose: CallPurpose
  /**
   * The answer's text is to be one JSON value of this JSON Schema; `name` is 1 to 64 letters, digits, `_` or `-`. Passed as
   * `response_format: json_schema` where the model's server takes that, else asked for in the prompt. Nothing guarantees
   * that the answer keeps to it: read it with care, and check it.
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

/** What a provider streams. A stream that ends without `done` was cut off. */
export type ModelEvent =
  /** `chars`: how many came with it, where they are more than its text: of a tool call that is being written. */
  | { type: 'text'; text: string; chars?: number }
  /** What the model thought on the way to its answer. `chars`: how many came with it, where it is not its length. */
  | { type: 'reasoning'; text: string; chars?: number }
  | ({ type: 'tool_call' } & AskedCall)
  /** Tool calls over the limit that are not passed on, and the number of characters in them. */
  | { type: 'dropped_calls'; calls: number; chars: number }
  /** What the provider wants back with this answer, in words of its own. Later fields add to earlier ones. */
  | { type: 'provider_data'; fields: Record<string, unknown> }
  | { type: 'usage'; usage: Usage }
  | { type: 'done'; finish_reason: 'stop' | 'tool_calls' | 'length' | 'content_filter' }

/**
 * How a model calls tools. `native`: as its protocol has it. `prompted`: they are described in the prompt, and calls are read
 * out of the text. `auto`: natively, until its server says that it cannot; calls that stand in the text are understood too.
 */
export const ToolCalls = z.enum(['native', 'prompted', 'auto'])
export type ToolCalls = z.infer<typeof ToolCalls>

export interface ModelProvider {
  name: string
  /** Address of its server: what refusals taught of a model holds there. */
  endpoint?: string
  /** Default: `auto`; configuration comes first. */
  tool_calls?: ToolCalls
  /** Whether it takes `response_schema`; what the answer is to be is said in the prompt otherwise. */
  structured?: boolean
  /** No AI model: in demos and benchmarks its tokens do not count against the project's limits. */
  simulated?: boolean
  /** Costs nothing, unless `models.yaml` of the project has a price of the model. */
  free?: boolean
  /** Why that is so, as in '127.0.0.1:4000 is on this machine'. */
  free_because?: string
  /** Said wherever the model's name is shown, as in 'simulated, not an AI model'. */
  notice?: string
  /** Whether it can be called now, and if not, or where that is not known, why and what to do. */
  availability(): Promise<{ available: boolean; reason: string | null }>
  /** The same, with its server asked also where its address and key are otherwise taken on trust: for who looks for a fault. */
  reach?(): Promise<{ available: boolean; reason: string | null }>
  /** The context window that its server has for a model, in tokens; null where the server does not say. */
  contextWindow?(model: string): Promise<number | null>
  /** Whether a model sees images; null where that is not known, and a refusal will tell. Without it none of them does. */
  vision?(model: string): Promise<boolean | null>
  /** The name to use when only the provider was named. */
  defaultModel?(): Promise<string>
  /** One attempt, without retries. Throws ModelError for what the provider refuses. */
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>
  /** The same without streaming, for a stream that broke off. */
  complete?(request: ModelRequest, signal: AbortSignal): Promise<ModelEvent[]>
}
export const ModelProviders = point<ModelProvider>('model_providers', {
  key: provider => provider.name,
  has: { name: 'text', availability: 'function', stream: 'function' },
})

/**
 * What one call cost, over all of its attempts. That of an answer is booked by the caller, with `bookSpend` in the transaction
 * that records the answer; that of a call without an answer, and of any call of the kind `other`, has been booked already.
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
  /** `catalogue`: a known price; `free`; `unknown`: it cost something that is not known, and `cost_micros` is 0. */
  priced: 'catalogue' | 'free' | 'unknown'
  /** The provider gave no usage, so tokens were estimated. */
  estimated: boolean
  attempts: number
  duration_ms: number
  /** The model that was asked first and gave no answer, as people wrote it, where this one stood in for it. */
  failover_from?: string
  /** What its request held, against the context window of its model. */
  context?: ContextUse
  /** false: no limit holds anything for it. */
  held?: boolean
}

/** One tool call that a model asked for, with the raw text of its arguments. */
export interface AskedCall {
  id: string
  name: string
  arguments: string
  /** What was mended in the call, such as `single_quotes`; absent when it came as it should. */
  repaired?: readonly string[]
}

/** Deeply frozen: several callers may share it. */
export interface ModelAnswer {
  readonly text: string
  /** What the model thought on the way, where it says so; never a part of `text`. */
  readonly reasoning?: string
  /** What the model wants back with this answer: to be stored with it. */
  readonly provider_data?: NonNullable<Message['provider_data']>
  /** In the order given. What could be read in one way only is mended; what could not is as it came. */
  readonly tool_calls: readonly Readonly<AskedCall>[]
  /** Number of further calls, which were dropped because they were over `MAX_TOOL_CALLS`; absent when there were none. */
  readonly dropped_calls?: number
  readonly finish_reason: 'stop' | 'tool_calls' | 'length' | 'content_filter'
  readonly spend: Readonly<Spend>
}

export interface ModelCall extends Omit<ModelRequest, 'model'> {
  /** As people write it: `provider:model`, `provider:tier`, a bare name, or nothing for the default. */
  model: string | null
  /** Models that are asked, in this order, when that one gives no answer. No other model ever replaces it. */
  fallback?: readonly string[]
  signal: AbortSignal
  /** Called with each piece of the answer's text as it comes. */
  onText?: (text: string) => void
  /**
   * Called when all that `onText` was given is taken back: an attempt broke off, and the text of another one follows. In the
   * end the pieces since then are the answer's text. Without it, `onText` gets the text of the first attempt that has any.
   */
  onReset?: () => void
  /** What the system message is made of, a blank line apart: where it is too long, the longest parts are cut. */
  system_parts?: readonly string[]
  /** The tools to offer where the model's context window leaves them this number of tokens; all of `tools` without it. */
  toolsWithin?(tokens: number): readonly ToolSpec[]
  /** What the model is asked for, where that is booked as something else. Default: `purpose`. */
  asked_for?: CallPurpose
  /** What the request holds; set once it is fitted to its model. */
  context?: ContextUse
}

/** Whom a call asks, as people write it. @param planning_model who chooses goals; empty where the agents' own do */
export function modelOf(
  { model, purpose }: Pick<ModelCall, 'model' | 'purpose'>,
  planning_model: string,
): string | null {
  return (purpose.kind === 'goal_generation' && planning_model) || model
}

/** A call of one model, under the id that its spend is booked by. */
export interface ObservedCall {
  call_id: string
  /** `provider:model` */
  model: string
  call: ModelCall
}
/** How it ended: with an answer, or with what was thrown. */
export type ObservedEnd = { answer: ModelAnswer } | { error: unknown }

/** Observes model calls. */
export interface CallObserver {
  name: string
  /** A call begins. @returns a function called with its end. What either throws is logged, and changes nothing */
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
  /** Input that is read from the provider's cache. */
  cached_input?: number | undefined
  /** Input that is written to the provider's cache. */
  cache_write?: number | undefined
}

export interface ModelPrice extends ModelRates {
  /** What every token of a request costs whose input has more tokens than `above`. */
  long_prompt?: (ModelRates & { above: number }) | undefined
}

/** What is known of one model: its price, and how much it reads and writes. */
export interface ModelFacts {
  /** `provider:model` */
  model: string
  price: ModelPrice | 'free' | 'unknown'
  /** Why it is free; null where it is not. */
  free_because: string | null
  /** Tokens of input and output together; null where that is not known. */
  context_window: number | null
  /** Tokens that one answer may have; null where that is not known. */
  max_output_tokens: number | null
  /** How it answers where profile and task say nothing. */
  parameters: ModelParameters
  /** Whether it sees images; null where that is not known. */
  vision: boolean | null
}

/** Knows names of models that may be called, as people write them; null or an empty string is the default model. */
export interface ModelUser {
  name: string
  models(): Promise<readonly (string | null)[]>
}
export const ModelUsers = point<ModelUser>('model_users', {
  key: user => user.name,
  has: { name: 'text', models: 'function' },
})

/** As much of a call as decides how large its request is. */
export type MeasuredCall = Pick<
  ModelCall,
  'model' | 'messages' | 'system_parts' | 'tools' | 'toolsWithin' | 'max_tokens' | 'parameters' | 'purpose'
>

/** A summary that stands for the oldest part of a conversation. */
export interface Summary {
  /** Belongs to the end of the conversation, before what is said next. */
  message: Message
  /** Lines worth remembering beyond that conversation. */
  remember: readonly string[]
}

/** What it takes to put a summary by a model in the place of the oldest part of a conversation; who does it makes the call. */
export interface Summaries {
  /**
   * Returns the bounds of a summary that is due before a digest would take the place of the oldest turns of the next
   * call; null
   * when everything fits, or when `model.summary` is off.
   * @param keeps newest messages to keep at most, where a summary is due in any case
   * @throws as `resolve` does
   */
  findDue(call: MeasuredCall, keeps?: number): Promise<SummaryDue | null>
  /** Returns the messages that ask for it. @param remembers whether lines worth remembering are asked for too */
  request(messages: readonly Message[], due: SummaryDue, remembers: boolean): Message[]
  /** Returns the summary in an answer to them; undefined when the answer is none. */
  read(answer: Pick<ModelAnswer, 'text' | 'spend'>, messages: readonly Message[], due: SummaryDue): Summary | undefined
}

export interface Models {
  /** `provider:model` for what people write. @throws ModelNameError, or ModelError when nothing can be called */
  resolve(name: string | null): Promise<{ id: string; provider: ModelProvider; model: string }>
  /** Price and limits of a model, from `models.yaml` and the shipped catalogue. @throws as `resolve` does */
  describe(name: string | null): Promise<ModelFacts>
  /** The same of every model that the configuration, profiles and living agents name. Names that mean nothing are left out. */
  inUse(): Promise<ModelFacts[]>
  /** Measures a call that is not made, fitted to its model. Absent where another plugin provides the models. @throws as `resolve` does */
  measure?(call: MeasuredCall): Promise<ContextReport>
  /** How summaries of conversations are made. Absent where another plugin provides the models. */
  summaries?: Summaries
  /**
   * One answer, with the retries and time limits of the configuration, of the model named or of its first fallback that
   * gives one, also after the first tokens of an answer.
   * @throws ModelError with the spend of all attempts; what a limit on calls refuses them with, such as BudgetExhaustedError
   */
  call(call: ModelCall): Promise<ModelAnswer>
}
export const Models = token<Models>('models')

/**
 * Calls the model named in a request. It stays when another plugin replaces the module: that plugin chooses models and may leave
 * the calls to this service.
 */
export const ModelCaller = token<Models>('model_caller')

/**
 * Why a model did not answer: a limit of its provider, an overload, another fault of the server, no connection, a time
 * limit, an answer that broke off or made no sense, a bad or missing key, an empty account, a request that it will not do,
 * that is larger than its context window, has a form or a parameter that its server does not take, or says what its provider does
 * not accept,
 * a provider that is suspended after failures, or the caller stopped. `failed` is anything else.
 */
export type ModelFailure =
  | 'rate_limited'
  | 'overloaded'
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
    kind: z.string().describe('What kept the first from answering, such as `rate_limited` or `unreachable`'),
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

/** A call that brought no answer. `spend` is what it cost all the same. */
export class ModelError extends defineError({
  code: 'model_error',
  status: 502,
  title: 'Model error',
  message: (p: { model: string; problem: string }) => `The model ${p.model} gave no answer: ${p.problem}.`,
}) {
  override name = 'ModelError'
  kind: ModelFailure = 'failed'
  /** The problem alone, without the sentence around it. */
  readonly problem: string
  spend: Spend | null = null
  /** Whether trying again can help. */
  transient = true
  /** Whether the provider may charge for the attempt: not when it refused, or was never reached. */
  billed = true
  /** The answer had begun: one without streaming may come through. */
  interrupted = false
  /** What `onText` was given since the last `onReset`. */
  text = ''
  /** The HTTP status of a refusal, where the server gave one. */
  http_status: number | null = null
  /** The key of the request that the model does not take, where a refusal named one. */
  parameter: string | null = null
  /** The context window that a refusal for the request's size named, in tokens. */
  context_window: number | null = null

  constructor(params: { model: string; problem: string }, options?: { retryAfter?: number; cause?: unknown }) {
    super(params, options)
    this.problem = params.problem
  }
}
export const ModelNameError = defineError({
  code: 'unknown_model',
  name: 'ModelNameError',
  status: 422,
  title: 'Unknown model',
  message: (p: { name: string; known: string[] }) =>
    `"${p.name}" names no model; write provider:model or provider:lite|standard|pro, where provider is one of ${p.known.join(', ')}.`,
})

/** Whether the same request would be refused again: for its size, its form, a parameter that it needs, or its content. */
export function isRefusedForGood(error: unknown): error is ModelError {
  if (!(error instanceof ModelError) || error.transient) return false
  return ['context_overflow', 'invalid_request', 'unsupported_parameter', 'content_policy'].includes(error.kind)
}

/** Whether a server refused the request as a bad one, with an unknown message. */
export function isUnknownRefusal(error: unknown): error is ModelError {
  return error instanceof ModelError && error.kind === 'refused' && [400, 422].includes(error.http_status ?? 0)
}

/** What an answer is an answer to, for `taken`. */
export function recordedQuestion({ messages }: Pick<ModelCall, 'messages'>): readonly Message[] {
  return messages
}
