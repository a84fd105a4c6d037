import type { Clock } from '#kernel'
import type { Target } from '../catalogue/names.ts'
import type { CallPurpose, ModelFacts, Spend } from '../contract.ts'
import type { LearnedModels } from '../learned/learned-models.ts'
import { Shortening } from './contract.ts'
import type { ContextLimits, FittedRequest } from './fit.ts'

/** Assumed of a model of which nothing is known, in tokens: large, as a refusal corrects it and a cut loses words. */
export const ASSUMED_WINDOW = 400_000
/** A server that did not say how large its window is is asked again after this time. */
const ASK_AGAIN_MS = 60_000
/** Conversations whose ratio is remembered; the one used longest ago goes first. */
const MAX_CONVERSATIONS = 1_000
/** The ratio moves in such steps, so that a request keeps its beginning from call to call. */
const RATIO_STEP = 0.125
const NOTHING: LeftOut = { summary: 0, digest: 0, cleared: 0, cut: 0 }
const [MIN_RATIO, MAX_RATIO] = [0.75, 3]
/** Of a refused request, the share that is taken for the window where the refusal does not name it. */
const REFUSED_SHARE = 0.5

type LeftOut = Record<Shortening, number>

interface Conversation {
  ratio: number
  /** What was left out of its last request. */
  left_out: LeftOut
}

/** Returns a window in which a request that was refused would be a good deal smaller. */
export function smallerWindow({ sections: { system, tools, messages }, window, max_tokens }: FittedRequest): number {
  const below = Math.floor((system + tools + messages) * REFUSED_SHARE) + max_tokens
  return Math.min(below, Math.floor(window * REFUSED_SHARE))
}

/** What this process knows of the context windows of models, and of how they count the tokens of each conversation. */
export class ContextWindows {
  readonly #clock: Pick<Clock, 'monotonic'>
  readonly #learned: LearnedModels
  readonly #asked = new Map<string, { at: number; window: Promise<number | null> }>()
  readonly #conversations = new Map<string, Conversation>()

  constructor(clock: Pick<Clock, 'monotonic'>, learned: LearnedModels) {
    this.#clock = clock
    this.#learned = learned
  }

  /** Limits of a request: what a refusal taught, then what the catalogue or `models.yaml` says, then what the server says. */
  async limits(target: Target, facts: ModelFacts, purpose: CallPurpose): Promise<ContextLimits> {
    const { max_output_tokens, context_window } = facts
    const learned = await this.#learned.of(target)
    const known = learned.context_window ?? context_window ?? (await this.#ask(target))
    const { ratio } = this.#of(target.id, purpose)
    return { window: known ?? ASSUMED_WINDOW, max_output_tokens, ratio }
  }

  /** Remembers the window that a refusal named, or one a good deal smaller than what was refused. */
  async learn(target: Target, named: number | null, refused: FittedRequest): Promise<void> {
    const context_window = named !== null && named < refused.window ? named : smallerWindow(refused)
    await this.#learned.learn(target, { context_window })
  }

  /** Corrects the estimate of a conversation by the usage that its provider reported. */
  calibrate(target: Target, purpose: CallPurpose, { sections }: FittedRequest, spend: Spend): void {
    const estimate = sections.system + sections.tools + sections.messages
    if (spend.estimated || spend.attempts !== 1 || estimate === 0) return
    const counted = Math.min(Math.max(spend.input_tokens / estimate, MIN_RATIO), MAX_RATIO)
    const conversation = this.#of(target.id, purpose)
    if (Math.abs(counted - conversation.ratio) < RATIO_STEP) return
    conversation.ratio = Math.ceil(counted / RATIO_STEP) * RATIO_STEP
  }

  /**
   * Returns how this request was made smaller that the last one of its conversation was not; undefined when it was not.
   */
  roomMade(target: Target, purpose: CallPurpose, { cleared, summarized, digested, cut }: FittedRequest) {
    const conversation = this.#of(target.id, purpose)
    const before = conversation.left_out
    const left_out: LeftOut = { summary: summarized, digest: digested, cleared, cut }
    conversation.left_out = left_out
    return Shortening.options.find(way => left_out[way] > 0 && left_out[way] !== before[way])
  }

  #of(model: string, { goal_id, task_id, agent_id, kind }: CallPurpose): Conversation {
    const key = `${model} ${kind} ${goal_id ?? task_id ?? agent_id}`
    const conversation = this.#conversations.get(key) ?? { ratio: 1, left_out: NOTHING }
    this.#conversations.delete(key)
    this.#conversations.set(key, conversation)
    if (this.#conversations.size > MAX_CONVERSATIONS) {
      this.#conversations.delete(this.#conversations.keys().next().value!)
    }
    return conversation
  }

  #ask({ id, model, provider }: Target): Promise<number | null> | null {
    if (!provider.contextWindow) return null
    const before = this.#asked.get(id)
    const now = this.#clock.monotonic()
    if (before && now - before.at < ASK_AGAIN_MS) return before.window
    const window = provider.contextWindow(model).catch(() => null)
    this.#asked.set(id, { at: now, window })
    // What is known does not change while the server runs; a restart with another window refuses, and that teaches it.
    void window.then(known => known !== null && this.#asked.set(id, { at: Number.POSITIVE_INFINITY, window }))
    return window
  }
}
