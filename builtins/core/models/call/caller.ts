import { errorMessage, type Log, type PluginHandle } from '#kernel'
import { MissingDependencyError } from '#lib/errors'
import { appendEvent, Store } from '#platform/store/contract'
import type { Target } from '../catalogue/names.ts'
import { chunkTimeouts, firstByteTimeout, longestCallMs, type ModelConfig } from '../config.ts'
import { ContextEngine } from '../context/engine.ts'
import {
  CallLimits,
  CallObservers,
  type CallPurpose,
  type ContextReport,
  holdAll,
  MAX_TOOL_CALLS,
  type MeasuredCall,
  type ModelAnswer,
  type ModelCall,
  ModelError,
  ModelNameError,
  type ModelProblem,
  modelOf,
  type ObservedCall,
  type ObservedEnd,
  type Spend,
  type SummaryDue,
} from '../contract.ts'
import type { LearnedModels } from '../learned/learned-models.ts'
import { type ModelParameters, mergeParameters } from '../parameters/contract.ts'
import { Abilities } from './abilities.ts'
import { type CallSettings, callModel } from './call.ts'
import type { Governor, Queue } from './governor.ts'
import { LoadingWait } from './loading.ts'
import { ShownText } from './shown-text.ts'
import { boundOf, priceStateOf } from './spend.ts'

export interface CallerParts {
  config: ModelConfig
  retries: { readonly max_retries: number }
  resolve(name: string | null): Promise<Target>
  governorOf(provider: string): Governor
  learned: LearnedModels
}

/** Minimum share of the total time for each model, however long those before it took. */
const LEAST_SHARE = 0.25

/** Errors after which the next model is tried. */
type UnavailableError = ModelError | InstanceType<typeof MissingDependencyError>

/** A model that was called and gave no answer. */
interface FailedTarget {
  /** The configured name, or the resolved id. */
  model: string
  failure: UnavailableError
}

/** Calls the model of a call, then its fallbacks, one after another. */
export class Caller {
  readonly #svc: PluginHandle
  readonly #parts: CallerParts
  readonly #abilities: Abilities
  readonly #context: ContextEngine
  /** Calls that run now: their model, and when they began by the monotonic clock. */
  readonly #running = new Map<CallPurpose, { model: string; began: number }>()

  constructor(svc: PluginHandle, parts: CallerParts) {
    this.#svc = svc
    this.#parts = parts
    this.#abilities = new Abilities(svc, parts.learned)
    const sees: Abilities['canSee'] = (target, facts) => this.#abilities.canSee(target, facts)
    this.#context = new ContextEngine(svc, { ...parts, sees })
  }

  /** Measures a call without making it. @throws ModelNameError, ModelError */
  async measure(call: MeasuredCall): Promise<ContextReport> {
    const name = modelOf(call, this.#parts.config.planning_model)
    const target = await this.#parts.resolve(name)
    return this.#context.measure(target, await this.#withParameters(target, call))
  }

  /** Returns why the context window of a model is too small, also for an agent. @throws ModelNameError, ModelError */
  async findWindowProblem(name: string | null, agent_id?: string): Promise<ModelProblem | null> {
    const [cut] = agent_id === undefined ? [] : this.#context.promptProblems(agent_id)
    return cut ?? this.#context.findWindowProblem(await this.#parts.resolve(name))
  }

  /** Returns why system prompts of agents are cut, and what to do. */
  promptProblems(): ModelProblem[] {
    return this.#context.promptProblems()
  }

  /** Returns the call that a cycle of an agent makes now; a task may make others beside it. */
  runningCall(agent_id: string): { model: string; since: number } | undefined {
    const { clock } = this.#svc
    for (const [purpose, { model, began }] of this.#running)
      if (purpose.agent_id === agent_id && purpose.task_id === undefined)
        return { model, since: Math.round(clock.ms() - (clock.monotonic() - began)) }
    return undefined
  }

  forgetPrompts(agent_id: string): void {
    this.#context.forgetPrompts(agent_id)
  }

  /** Returns a call with the parameters of its task and profile, on top of those configured for the model. */
  async #withParameters<T extends MeasuredCall>(target: Target, call: T): Promise<T & { parameters: ModelParameters }> {
    const merged = mergeParameters(call.parameters, target.facts.parameters)
    const given = call.purpose.kind === 'summary' ? plainly(merged) : merged
    const most = given.max_tokens ?? call.max_tokens
    // Parameters can only lower the limit of such calls.
    const max_tokens = call.purpose.kind === 'other' ? Math.min(most, call.max_tokens) : most
    return { ...call, parameters: given, max_tokens }
  }

  /**
   * Returns the limits of a summary for a call; null when none is needed or wanted, or no model can be called now, which
   * the call itself reports. @throws ModelNameError
   */
  async summaryDue(call: MeasuredCall, keeps?: number): Promise<SummaryDue | null> {
    const { config, resolve } = this.#parts
    if (!config.summary) return null
    const target = await resolve(modelOf(call, config.planning_model)).catch(nullIfSilent)
    const writer = config.summary_model ? await resolve(config.summary_model).catch(nullIfSilent) : target
    if (!target || !writer) return null
    return this.#context.summaryDue({ target, writer }, await this.#withParameters(target, call), keeps)
  }

  /**
   * @throws ModelError, MissingDependencyError, ModelNameError, or the error with which a limit on calls refuses the
   * call
   */
  async call(call: ModelCall): Promise<ModelAnswer> {
    const { planning_model, total_timeout } = this.#parts.config
    const names = [modelOf(call, planning_model), ...(call.fallback ?? [])]
    const { clock, heartbeat } = this.#svc
    const asked = clock.monotonic()
    let began = asked
    const onWait = () => {
      const [since, resumeCycle] = [clock.monotonic(), heartbeat.pauseTimeout(call.signal)]
      return () => {
        began += clock.monotonic() - since
        resumeCycle()
      }
    }
    let left = total_timeout
    const silent: FailedTarget[] = []
    const shown = new ShownText(call)
    for (let n = 0; ; n++) {
      const next = names[n + 1]
      let model = names[n] || 'by default'
      try {
        const target = await this.#resolve(names[n] ?? null, call)
        model = target.id
        this.#running.set(call.purpose, { model, began: asked })
        // The last model may use all remaining time; others leave half of it.
        const share = next ? left / 2 : left
        const failover_from = silent[0]?.model
        const settings = { shown, share, failover_from, onWait }
        const parametrized = await this.#withParameters(target, call)
        const wholeCall = { ...parametrized, temperature: parametrized.parameters.temperature ?? call.temperature }
        return await this.#context.call(target, wholeCall, sent => this.#ask(target, sent, settings))
      } catch (error) {
        const failure = n > 0 && error instanceof ModelNameError ? namesNone(model, error) : error
        if (!isSilence(failure)) throw failure
        silent.push({ model, failure })
        if (!next || call.signal.aborted) throw sumFailures(silent)
        await this.#logFallback(call, model, next, failure)
        // A model that took long to load leaves the others enough time to answer.
        left = Math.max(total_timeout - (clock.monotonic() - began) / 1000, total_timeout * LEAST_SHARE)
      } finally {
        this.#running.delete(call.purpose)
      }
    }
  }

  /** Resolves a name. Waits for a server that is loading the only model it has. */
  async #resolve(name: string | null, call: ModelCall): Promise<Target> {
    const { ports, log } = this.#svc
    const loading = new LoadingWait(call, {
      ports,
      log,
      first_byte_timeout: firstByteTimeout(this.#parts.config, true),
    })
    for (;;) {
      try {
        return await this.#parts.resolve(name)
      } catch (error) {
        const isLoading = error instanceof ModelError && error.kind === 'loading'
        if (!isLoading || call.signal.aborted || !loading.allowsAnother) throw error
        await loading.pause(error, call.signal)
      }
    }
  }

  async #ask(
    target: Target,
    call: ModelCall,
    { onWait, ...settings }: Pick<CallSettings, 'shown' | 'share' | 'failover_from'> & Pick<Queue, 'onWait'>,
  ): Promise<ModelAnswer> {
    const { ports, log } = this.#svc
    const { config, retries, governorOf } = this.#parts
    const price = target.facts.price === 'unknown' ? undefined : target.facts.price
    const call_id = ports.ids.make('call', 12)
    const { purpose } = call
    const limits = this.#svc.list(CallLimits)
    const planned = {
      call_id,
      model: target.id,
      purpose,
      priced: priceStateOf(price),
      longest_ms: longestCallMs(config),
      maxSpend: () => boundOf(call, price),
    }
    let held = false
    const admit = async () => {
      held = (await holdAll(this.#svc, planned)) || held
    }
    const checks = limits.filter(({ checks_waiting }) => checks_waiting)
    const queue = { onWait, check: () => holdAll(this.#svc, planned, checks) }
    const unbilled = async () => {
      for (const limit of limits) await limit.unbilled?.(planned)
    }
    const settle = async (spend: Spend | null, answered: boolean) => {
      for (const limit of limits) await limit.settle({ call_id, purpose, spend, answered })
    }
    const ended = this.#observe({ call_id, model: target.id, call })
    const answer = await callModel(call, this.#abilities.adapt(target), {
      ...config,
      max_retries: retries.max_retries,
      ...settings,
      ports,
      log,
      call_id,
      price,
      admit,
      queue,
      unbilled,
      ...chunkTimeouts({ ...config, total_timeout: settings.share }, target.provider),
      governor: governorOf(target.provider.name),
    }).catch(async error => {
      ended({ error })
      await settle((error as { spend?: Spend | null }).spend ?? null, false)
      throw error
    })
    ended({ answer })
    await settle(answer.spend, true)
    tellRepairs(answer, purpose, log)
    return held ? answer : Object.freeze({ ...answer, spend: Object.freeze({ ...answer.spend, held }) })
  }

  /** @returns a function that reports the end to the observers */
  #observe(call: ObservedCall): (end: ObservedEnd) => void {
    const safely = <T>(name: string, look: () => T): T | undefined => {
      try {
        return look()
      } catch (error) {
        this.#svc.log.error({}, `the observer "${name}" of model calls failed: ${errorMessage(error)}`)
        return undefined
      }
    }
    const notices = this.#svc
      .list(CallObservers)
      .map(observer => ({ name: observer.name, tell: safely(observer.name, () => observer.began(call)) }))
    return end => {
      for (const { name, tell } of notices) safely(name, () => tell?.(end))
    }
  }

  /** Records the switch to another model. A failed write does not stop the answer. */
  async #logFallback({ purpose }: ModelCall, from: string, to: string, failure: UnavailableError): Promise<void> {
    const { agent_id, goal_id, cycle_num } = purpose
    const kind = failure instanceof ModelError ? failure.kind : failure.code
    const data = { agent_id, goal_id, from, to, kind, reason: failure.message }
    const { log } = this.#svc
    log.warn({ agent_id, goal_id, cycle_num, code: 'model_failover' }, `${failure.message} Asking ${to} instead.`)
    if (!this.#svc.has(Store)) return void (await this.#svc.emit('model_failover', data))
    await this.#svc
      .use(Store)
      .apply([appendEvent({ type: 'model_failover', agent_id, cycle_num, data })])
      .catch(error => log.error({ agent_id }, `cannot record the failover to ${to}: ${errorMessage(error)}`))
  }
}

/** Logs which calls of an answer were repaired, and how many were dropped. */
function tellRepairs(answer: ModelAnswer, { agent_id, goal_id, cycle_num }: CallPurpose, log: Log): void {
  const { tool_calls, dropped_calls } = answer
  if (dropped_calls) {
    log.warn(
      { agent_id, goal_id, cycle_num, code: 'tool_calls_dropped', dropped_calls },
      `an answer contained ${tool_calls.length + dropped_calls} tool calls; ${dropped_calls} over the limit of ${MAX_TOOL_CALLS} were dropped`,
    )
  }
  for (const { name, repaired } of tool_calls) {
    if (!repaired) continue
    const how = repaired.join(', ')
    log.info(
      { agent_id, goal_id, cycle_num, code: 'tool_call_repaired', repaired },
      `an invalid call of ${name} was repaired: ${how}`,
    )
  }
}

/** Returns parameters for an exact text: without those that make answers random, short or based on reasoning. */
function plainly({ reasoning_effort, thinking_tokens, seed, extra }: ModelParameters): ModelParameters {
  return {
    ...(reasoning_effort || thinking_tokens ? { reasoning_effort: 'none' as const } : {}),
    ...(seed === undefined ? {} : { seed }),
    ...(extra ? { extra } : {}),
  }
}

function isSilence(error: unknown): error is UnavailableError {
  return error instanceof ModelError || error instanceof MissingDependencyError
}

function nullIfSilent(error: unknown): null {
  if (isSilence(error)) return null
  throw error
}

function namesNone(model: string, cause: Error): ModelError {
  const facts = { kind: 'refused', transient: false, billed: false } as const
  return new ModelError({ model, problem: problemOf(cause) }, { cause, ...facts })
}

/** Returns the error of the only model called, otherwise one that describes all failures. */
function sumFailures(silent: readonly FailedTarget[]): UnavailableError {
  const [first, ...others] = silent
  if (others.length === 0) return first!.failure
  const failures = others.map(({ model, failure }) => `${model} gave no answer either: ${problemOf(failure)}`)
  const { model, failure } = first!
  const errors = silent.flatMap(each => (each.failure instanceof ModelError ? [each.failure] : []))
  const problem = [problemOf(failure), ...failures].join('; ')
  const { spend = null, text = '', billed = false } = errors.at(-1) ?? {}
  return new ModelError(
    { model, problem },
    {
      cause: failure,
      kind: errors[0]?.kind ?? 'failed',
      transient: errors.some(error => error.transient),
      http_status: errors[0]?.http_status ?? null,
      spend,
      text,
      billed,
    },
  )
}

function problemOf(error: Error): string {
  return error instanceof ModelError ? error.problem : error.message.replace(/\.$/, '')
}
