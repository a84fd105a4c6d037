import type { PluginHandle } from '#kernel'
import { appendEvent, Store } from '../../store/contract.ts'
import { factsOf, type ParameterConfig, type ProjectCatalogue } from '../catalogue.ts'
import {
  type CallPurpose,
  type ContextReport,
  type MeasuredCall,
  type ModelAnswer,
  type ModelCall,
  ModelError,
  type ToolSpec,
} from '../contract.ts'
import type { Target } from '../names.ts'
import { returnable, rulesFor, wellFormed } from './conversation.ts'
import { type ContextLimits, type FitSettings, type FittedRequest, fitRequest } from './fit.ts'
import { toolsTokens } from './tokens.ts'
import { ContextWindows } from './windows.ts'

export interface ContextParts {
  config: FitSettings & ParameterConfig
  catalogue(): Promise<ProjectCatalogue>
}

/** After a refusal for its size a request is sent once with more room, and once as small as it can be. */
const MAX_REFUSALS = 2

/** Sends each request in a form and a size that its model accepts. */
export class ContextEngine {
  readonly #svc: PluginHandle
  readonly #parts: ContextParts
  readonly #windows: ContextWindows

  constructor(svc: PluginHandle, parts: ContextParts) {
    this.#svc = svc
    this.#parts = parts
    this.#windows = new ContextWindows(svc.clock)
  }

  /**
   * Asks with as much of the conversation as the model reads. A refusal for the size teaches the window; room is made, and the
   * call is repeated.
   * @throws ModelError of the kind `context_overflow` when even the smallest request is refused; what `ask` throws
   */
  async call(target: Target, call: ModelCall, ask: (sent: ModelCall) => Promise<ModelAnswer>): Promise<ModelAnswer> {
    const { purpose } = call
    const rules = rulesFor(target)
    const said = returnable(call.messages, target, rules)
    const facts = factsOf(await this.#parts.catalogue(), target, this.#parts.config)
    for (let refusals = 0; ; refusals++) {
      const limits = await this.#windows.limits(target, facts, purpose)
      const tools = toolsFor(call, limits)
      const fitted = fitRequest(
        { ...call, messages: said, tools },
        { ...limits, smallest: refusals === MAX_REFUSALS },
        this.#parts.config,
      )
      if (this.#windows.isCompacted(target, purpose, fitted)) await this.#reportCompaction(target, purpose, fitted)
      const messages = wellFormed(fitted.messages, rules)
      try {
        const { max_tokens, thinking_tokens } = fitted
        const answer = await ask({ ...call, tools, messages, max_tokens, ...fittedParameters(call, thinking_tokens) })
        this.#windows.calibrate(target, purpose, fitted, answer.spend)
        return answer
      } catch (error) {
        if (!(error instanceof ModelError) || error.kind !== 'context_overflow') throw error
        this.#windows.learn(target, error.context_window, fitted)
        await this.#reportRefusal(target, purpose, fitted, error, refusals === MAX_REFUSALS)
        if (refusals === MAX_REFUSALS) throw error
      }
    }
  }

  /** Measures a call that is not made. */
  async measure(target: Target, call: MeasuredCall): Promise<ContextReport> {
    const { fitted, limits } = await this.#fit(target, call, false)
    const { sections, window, cleared, digested, cut } = fitted
    const { ratio } = limits
    return { model: target.id, window, sections, total: tokensOf(fitted), ratio, cleared, digested, cut }
  }

  async #fit(target: Target, call: MeasuredCall, smallest: boolean) {
    const { catalogue, config } = this.#parts
    const limits = await this.#windows.limits(target, factsOf(await catalogue(), target, config), call.purpose)
    const tools = toolsFor(call, limits)
    const messages = returnable(call.messages, target, rulesFor(target))
    return { limits, tools, fitted: fitRequest({ ...call, messages, tools }, { ...limits, smallest }, config) }
  }

  #reportCompaction(target: Target, purpose: CallPurpose, fitted: FittedRequest): Promise<void> {
    const { window, cleared, digested, cut } = fitted
    const data = { model: target.id, window, tokens: tokensOf(fitted), cleared, digested, cut }
    const what = `${cleared} old results cleared, ${digested} messages digested, ${cut} cut`
    this.#log(purpose, 'context_compacted', `The conversation was shortened for ${target.id}: ${what}.`)
    return this.#append(purpose, 'context_compacted', data)
  }

  #reportRefusal(target: Target, purpose: CallPurpose, fitted: FittedRequest, error: ModelError, given_up: boolean) {
    const data = { model: target.id, window: fitted.window, tokens: tokensOf(fitted), reason: error.problem, given_up }
    const next = given_up ? 'Nothing more can be left out.' : 'The conversation is shortened and sent again.'
    this.#log(purpose, 'context_refused', `${error.message} ${next}`)
    return this.#append(purpose, 'context_refused', data)
  }

  #log({ agent_id, goal_id, cycle_num }: CallPurpose, code: string, message: string): void {
    this.#svc.log.warn({ agent_id, goal_id, cycle_num, code }, message)
  }

  /** Records the event. A store that cannot take it keeps no model from being asked. */
  async #append<T extends 'context_compacted' | 'context_refused'>(
    { agent_id, goal_id, cycle_num }: CallPurpose,
    type: T,
    facts: object,
  ): Promise<void> {
    const data = { agent_id, goal_id, ...facts } as never
    if (!this.#svc.has(Store)) return void (await this.#svc.emit(type, data))
    await this.#svc
      .use(Store)
      .apply([appendEvent({ type, agent_id, cycle_num, data })])
      .catch(error => this.#svc.log.error({ agent_id, error }, `Cannot record the event ${type}.`))
  }
}

/** The tools take at most this share of the window. */
const TOOLS_SHARE = 0.2

function toolsFor({ tools, toolsWithin }: MeasuredCall, { window, ratio }: ContextLimits): readonly ToolSpec[] {
  const most = Math.floor((window / ratio) * TOOLS_SHARE)
  return toolsWithin && toolsTokens(tools) > most ? toolsWithin(most) : tools
}

/** The parameters of a call with the tokens for thinking that its model has room for. */
function fittedParameters({ parameters }: ModelCall, thinking_tokens: number): Pick<ModelCall, 'parameters'> {
  if (!parameters) return {}
  const { thinking_tokens: _, ...others } = parameters
  return { parameters: thinking_tokens > 0 ? { ...others, thinking_tokens } : others }
}

/** Tokens of a request with what it keeps free for the answer, as estimated. */
function tokensOf({ sections: { system, tools, messages, answer } }: FittedRequest): number {
  return system + tools + messages + answer
}
