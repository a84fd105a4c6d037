import type { Clock } from '#kernel'
import type { Target } from '../catalogue/names.ts'
import type { CallPurpose, ModelFacts, ModelProblem, ModelProvider, Spend } from '../contract.ts'
import type { LearnedModels } from '../learned/learned-models.ts'
import { THINKS, THINKS_IF_ASKED } from '../parameters/thinking.ts'
import { Shortening } from './contract.ts'
import type { ContextLimits, FittedRequest } from './fit.ts'
import { hasImages } from './vision.ts'

/** Assumed window of an unknown model, in tokens: large, because a refusal corrects it, while cutting loses content. */
const ASSUMED_WINDOW = 400_000
/** Time after which a server is asked again for its window, in milliseconds: it may have been restarted. */
const ASK_AGAIN_MS = 60_000
/** Minimum number of estimated tokens by which a request must have grown to show that its server cuts it. */
const MIN_GROWTH = 32
/** Smallest share of estimated tokens that a tokenizer counts; Russian text comes closest to it. */
const LEAST_COUNTED = 0.5
/** Share of its estimated tokens below which a request may have been cut by its server. */
const CUT_SHARE = 0.9
/** Maximum number of conversations whose ratio is remembered; the least recently used is dropped. */
const MAX_CONVERSATIONS = 1_000
/** Step size of the ratio, so that a request keeps its beginning between calls. */
const RATIO_STEP = 0.125
const NOTHING_LEFT_OUT: LeftOut = { summary: 0, digest: 0, cleared: 0, cut: 0 }
const [MIN_RATIO, MAX_RATIO] = [0.75, 3]
/** Share of a refused request that is assumed as the window where the refusal does not name it. */
const REFUSED_SHARE = 0.5

type LeftOut = Record<Shortening, number>

interface Conversation {
  /** Tokens that the provider counted for each token of our estimate. */
  ratio: number
  /** The amounts left out of its last request. */
  left_out: LeftOut
  /** Index of the way of shortening that removed most, of those reported. */
  reported: number
  /** Tokens of its last request: estimated, and counted by the provider. */
  last?: { estimate: number; counted: number }
}

/** The last answer of a server to the question for its window. */
interface WindowAnswer {
  /** Time from which the server is asked again. */
  again_at: number
  window: Promise<number | null>
  /** Whether the model has answered a request since. Ollama reports the window only of loaded models. */
  has_loaded: boolean
}

/**
 * Smallest window that is believed, in tokens. Servers are not run with less; a smaller figure comes from a wrong usage
 * or from a server that refuses everything.
 */
const SMALLEST_WINDOW = 512

/** Returns a window for which a refused request would be made about half as large. */
export function smallerWindow({ sections: { system, tools, messages }, window, max_tokens }: FittedRequest): number {
  const below = Math.floor((system + tools + messages) * REFUSED_SHARE) + max_tokens
  return Math.max(Math.min(below, Math.floor(window * REFUSED_SHARE)), SMALLEST_WINDOW)
}

/** Window in which the prompt and the tools leave little for the work of an agent, in tokens. */
const SMALL_WINDOW = 8_000

/** Says how to give a model's server a larger context window. */
export function largerWindow({ larger_window }: Pick<ModelProvider, 'larger_window'>): string {
  const how = larger_window ? `: ${larger_window}` : ', or choose another model (Context windows in docs/models.md)'
  return `start its server with a larger context window${how}`
}

/** Known context windows of models, and their token ratio for each conversation, in this process. */
export class ContextWindows {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #learned: LearnedModels
  readonly #answers = new Map<string, WindowAnswer>()
  readonly #conversations = new Map<string, Conversation>()
  /** Most tokens that the provider counted for one request, by model. */
  readonly #mostCounted = new Map<string, number>()

  constructor(clock: Pick<Clock, 'monotonic'>, learned: LearnedModels) {
    this.#clock = clock
    this.#learned = learned
  }

  /** Returns the limits of a request. */
  async limits(target: Target, facts: ModelFacts, purpose: CallPurpose): Promise<ContextLimits> {
    const { ratio } = this.#conversationOf(target.id, purpose)
    const known = await this.find(target, facts)
    return {
      window: Math.max(known ?? ASSUMED_WINDOW, SMALLEST_WINDOW),
      max_output_tokens: facts.max_output_tokens,
      thinks: THINKS.test(target.id) ? 'by_default' : THINKS_IF_ASKED.test(target.id) ? 'if_asked' : undefined,
      ratio,
    }
  }

  /**
   * Returns the known window of a model: from a recorded refusal, then the catalogue or `models.yaml`, then the server;
   * null if unknown. A refusal no longer counts once the server reports another window than it did then.
   */
  async find(target: Target, { context_window }: Pick<ModelFacts, 'context_window'>): Promise<number | null> {
    const { context_window: learned, reported_window } = await this.#learned.of(target)
    const reported = learned !== null || context_window === null ? await this.#askServer(target) : null
    const isOutdated = reported !== null && reported !== reported_window
    return (isOutdated ? null : learned) ?? context_window ?? reported
  }

  /** Returns why the known window of a model is too small, and what to do; null if it is not. */
  async findProblem(target: Target, facts: ModelFacts): Promise<ModelProblem | null> {
    const window = await this.find(target, facts)
    if (window === null || window >= SMALL_WINDOW) return null
    return {
      problem: `the context window of ${target.id} has ${window} tokens, and most agents need ${SMALL_WINDOW} or more`,
      remedy: await this.remedyFor(target, window),
    }
  }

  /** Returns how to get a larger window; one that was learned from a refusal may also be wrong. */
  async remedyFor(target: Target, window: number): Promise<string> {
    const { context_window } = await this.#learned.of(target)
    const forget = context_window === window ? `; if it already has one: svc models forget ${target.id}` : ''
    return `${largerWindow(target.provider)}${forget}`
  }

  /**
   * Records the window that a refusal named, or that the server reports now, or otherwise one about half as large as the
   * refused request.
   */
  async learn(target: Target, named: number | null, refused: FittedRequest): Promise<void> {
    this.#answers.delete(target.id)
    const reported_window = await this.#askServer(target)
    const limit = named ?? reported_window
    const context_window = limit !== null && limit < refused.window ? limit : smallerWindow(refused)
    await this.#learned.learn(target, { context_window, reported_window })
  }

  /**
   * Corrects the estimate of a conversation by the usage that its provider reported.
   * @returns the window at which the server cut the request, as Ollama does without an error; undefined if that is not
   * certain
   */
  async calibrate(
    target: Target,
    purpose: CallPurpose,
    { sections, messages }: FittedRequest,
    spend: Spend,
  ): Promise<number | undefined> {
    this.#askOnceLoaded(target)
    const estimate = sections.system + sections.tools + sections.messages
    const conversation = this.#conversationOf(target.id, purpose)
    // Ollama reports its window only once the model is loaded, and drops the oldest messages of what exceeds it.
    const reported = estimate * LEAST_COUNTED > SMALLEST_WINDOW ? await this.#askServer(target) : null
    if (reported !== null && reported < estimate * LEAST_COUNTED && !hasImages(messages)) {
      conversation.ratio = Math.max(conversation.ratio, 1)
      return reported
    }
    if (spend.estimated || spend.attempts !== 1 || estimate === 0) return undefined
    const { last } = conversation
    const { input_tokens } = spend
    conversation.last = { estimate, counted: input_tokens }
    const most = Math.max(input_tokens, this.#mostCounted.get(target.id) ?? 0)
    this.#mostCounted.set(target.id, most)
    const hasGrown = last !== undefined && estimate >= last.estimate + MIN_GROWTH
    // Two requests may have one count by chance; a window is also the most that was counted for any request.
    const isSame = hasGrown && input_tokens === last.counted && input_tokens === most
    const isCut = isSame && input_tokens < estimate * CUT_SHARE
    if (isCut && input_tokens >= SMALLEST_WINDOW) {
      conversation.ratio = Math.max(conversation.ratio, 1)
      return input_tokens
    }
    const counted = Math.min(Math.max(input_tokens / estimate, MIN_RATIO), MAX_RATIO)
    if (Math.abs(counted - conversation.ratio) < RATIO_STEP) return undefined
    conversation.ratio = Math.ceil(counted / RATIO_STEP) * RATIO_STEP
    return undefined
  }

  /**
   * Returns the way in which this request was shortened further than the last one of its conversation; undefined when
   * it was not.
   */
  findNewShortening(target: Target, purpose: CallPurpose, { cleared, summarized, digested, cut }: FittedRequest) {
    const conversation = this.#conversationOf(target.id, purpose)
    const previous = conversation.left_out
    const left_out: LeftOut = { summary: summarized, digest: digested, cleared, cut }
    conversation.left_out = left_out
    return Shortening.options.find(way => left_out[way] > 0 && left_out[way] !== previous[way])
  }

  /**
   * Returns whether a shortening is to be reported: each summary, and otherwise a way that removes more than those
   * before. In a small window, almost every request is shortened a little further.
   */
  isNotable(target: Target, purpose: CallPurpose, way: Shortening): boolean {
    const conversation = this.#conversationOf(target.id, purpose)
    const rank = Shortening.options.indexOf(way)
    if (way !== 'summary' && rank >= conversation.reported) return false
    conversation.reported = rank
    return true
  }

  #conversationOf(model: string, { goal_id, task_id, agent_id, kind }: CallPurpose): Conversation {
    const key = `${model} ${kind} ${goal_id ?? task_id ?? agent_id}`
    const conversation = this.#conversations.get(key) ?? {
      ratio: 1,
      left_out: NOTHING_LEFT_OUT,
      reported: Shortening.options.length,
    }
    this.#conversations.delete(key)
    this.#conversations.set(key, conversation)
    if (this.#conversations.size > MAX_CONVERSATIONS) {
      this.#conversations.delete(this.#conversations.keys().next().value!)
    }
    return conversation
  }

  async #askServer({ id, model, provider }: Target): Promise<number | null> {
    if (!provider.contextWindow) return null
    const previous = this.#answers.get(id)
    const now = this.#clock.monotonic()
    if (previous && now < previous.again_at) return previous.window
    // A server that cannot be asked now, or has unloaded the model, keeps the window that it reported before.
    const window = provider
      .contextWindow(model)
      .catch(() => null)
      .then(found => found ?? previous?.window ?? null)
    this.#answers.set(id, { again_at: now + ASK_AGAIN_MS, window, has_loaded: previous?.has_loaded ?? false })
    return window
  }

  /** Makes the server be asked again after the first answer of its model. */
  #askOnceLoaded({ id }: Target): void {
    const answer = this.#answers.get(id)
    if (!answer || answer.has_loaded) return
    answer.has_loaded = true
    answer.again_at = 0
  }
}
