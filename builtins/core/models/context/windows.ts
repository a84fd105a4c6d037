import type { Clock } from '#kernel'
import type { Target } from '../catalogue/names.ts'
import type { CallPurpose, ModelFacts, Spend } from '../contract.ts'
import type { LearnedModels } from '../learned/learned-models.ts'
import { Shortening } from './contract.ts'
import type { ContextLimits, FittedRequest } from './fit.ts'

/** Assumed window of an unknown model, in tokens: large, because a refusal corrects it, while cutting loses content. */
const ASSUMED_WINDOW = 400_000
/** Time after which a server that did not report its window is asked again, in milliseconds. */
const ASK_AGAIN_MS = 60_000
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
}

/** Returns a window for which a refused request would be made about half as large. */
export function smallerWindow({ sections: { system, tools, messages }, window, max_tokens }: FittedRequest): number {
  const below = Math.floor((system + tools + messages) * REFUSED_SHARE) + max_tokens
  return Math.min(below, Math.floor(window * REFUSED_SHARE))
}

/** Known context windows of models, and their token ratio for each conversation, in this process. */
export class ContextWindows {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #learned: LearnedModels
  readonly #answers = new Map<string, { at: number; window: Promise<number | null> }>()
  readonly #conversations = new Map<string, Conversation>()

  constructor(clock: Pick<Clock, 'monotonic'>, learned: LearnedModels) {
    this.#clock = clock
    this.#learned = learned
  }

  /** Returns the limits of a request: from a recorded refusal, then the catalogue or `models.yaml`, then the server. */
  async limits(target: Target, facts: ModelFacts, purpose: CallPurpose): Promise<ContextLimits> {
    const { max_output_tokens, context_window } = facts
    const learned = await this.#learned.of(target)
    const known = learned.context_window ?? context_window ?? (await this.#askServer(target))
    const { ratio } = this.#conversationOf(target.id, purpose)
    return { window: known ?? ASSUMED_WINDOW, max_output_tokens, ratio }
  }

  /** Records the window that a refusal named, or otherwise one about half as large as the refused request. */
  async learn(target: Target, named: number | null, refused: FittedRequest): Promise<void> {
    const context_window = named !== null && named < refused.window ? named : smallerWindow(refused)
    await this.#learned.learn(target, { context_window })
  }

  /** Corrects the estimate of a conversation by the usage that its provider reported. */
  calibrate(target: Target, purpose: CallPurpose, { sections }: FittedRequest, spend: Spend): void {
    const estimate = sections.system + sections.tools + sections.messages
    if (spend.estimated || spend.attempts !== 1 || estimate === 0) return
    const counted = Math.min(Math.max(spend.input_tokens / estimate, MIN_RATIO), MAX_RATIO)
    const conversation = this.#conversationOf(target.id, purpose)
    if (Math.abs(counted - conversation.ratio) < RATIO_STEP) return
    conversation.ratio = Math.ceil(counted / RATIO_STEP) * RATIO_STEP
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

  #conversationOf(model: string, { goal_id, task_id, agent_id, kind }: CallPurpose): Conversation {
    const key = `${model} ${kind} ${goal_id ?? task_id ?? agent_id}`
    const conversation = this.#conversations.get(key) ?? { ratio: 1, left_out: NOTHING_LEFT_OUT }
    this.#conversations.delete(key)
    this.#conversations.set(key, conversation)
    if (this.#conversations.size > MAX_CONVERSATIONS) {
      this.#conversations.delete(this.#conversations.keys().next().value!)
    }
    return conversation
  }

  #askServer({ id, model, provider }: Target): Promise<number | null> | null {
    if (!provider.contextWindow) return null
    const previous = this.#answers.get(id)
    const now = this.#clock.monotonic()
    if (previous && now - previous.at < ASK_AGAIN_MS) return previous.window
    const window = provider.contextWindow(model).catch(() => null)
    this.#answers.set(id, { at: now, window })
    // A known window does not change while the server runs; after a restart with another one, a refusal corrects it.
    void window.then(known => known !== null && this.#answers.set(id, { at: Number.POSITIVE_INFINITY, window }))
    return window
  }
}
