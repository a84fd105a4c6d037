import { type PluginHandle, point } from '#kernel'
import { type Statement, Store } from '#platform/store/contract'
import type { CallPurpose, Spend } from '../contract.ts'

/** A call that is about to be made. */
export interface PlannedSpend {
  call_id: string
  /** `provider:model` */
  model: string
  purpose: CallPurpose
  priced: Spend['priced']
  /** Maximum duration of the call with all its retries, in milliseconds. */
  longest_ms: number
  /** Returns the maximum cost of one attempt, with estimated input. */
  maxSpend(): { cost_micros: number; tokens: number }
}

/** A limit on what models may cost. */
export interface CallLimit {
  name: string
  /** The SQL expression whose value `hold` needs; the expressions of all limits are read in one statement. */
  question?(purpose: CallPurpose): Statement | undefined
  /**
   * Called before each attempt of a call; throwing prevents the attempt.
   * @param answer the value of `question`; undefined where there is none
   * @returns `held` if an amount was reserved that booking the call must release
   */
  hold(call: PlannedSpend, answer?: unknown): Promise<'held' | undefined | void>
  /** Whether `hold` reserves nothing and is also called while the call waits for others, so that it can end then. */
  checks_waiting?: boolean
  /**
   * Called when the attempt was not charged and another follows after a pause, so that nothing need stay reserved
   * meanwhile.
   */
  unbilled?(call: PlannedSpend): Promise<void>
  /** Called at the end of a call, however it ended. `spend` is null when it cannot have been charged. */
  settle(call: { call_id: string; purpose: CallPurpose; spend: Spend | null; answered: boolean }): Promise<void>
}
export const CallLimits = point<CallLimit>('call_limits', {
  key: limit => limit.name,
  has: { name: 'text', hold: 'function', settle: 'function' },
})

/**
 * Calls `hold` of limits for an attempt, one after another.
 * @param of the limits; all by default
 * @returns whether one of them reserved an amount
 * @throws the error with which a limit refuses the attempt
 */
export async function holdAll(svc: PluginHandle, call: PlannedSpend, of = svc.list(CallLimits)): Promise<boolean> {
  const limits = of.map(limit => ({ limit, question: limit.question?.(call.purpose) }))
  const questions = limits.flatMap(({ question }) => question ?? [])
  const answers = await answersTo(svc, questions)
  let held = false
  for (const { limit, question } of limits) {
    const done = await limit.hold(call, question && answers[`answer_${questions.indexOf(question)}`])
    held ||= done === 'held'
  }
  return held
}

async function answersTo(svc: PluginHandle, questions: readonly Statement[]): Promise<Record<string, unknown>> {
  if (questions.length === 0) return {}
  const sql = `SELECT ${questions.map(({ sql }, n) => `${sql} AS answer_${n}`).join(', ')}`
  const params = questions.flatMap(({ params = [] }) => params)
  return (await svc.use(Store).glance<Record<string, unknown>>(sql, params)) ?? {}
}
