import type { Claim, Rejection, Waiting } from '#core/runtime/contract'
import { defineError, type Effect, type PluginHandle } from '#kernel'
import { recordInput } from '#lib/recording-context'
import type { Cycle } from '#platform/heartbeat/contract'
import { appendEvent, Store } from '#platform/store/contract'
import type { Reach } from '#safety/sandbox/contract'
import type { GoalsConfig } from '../config.ts'
import { openWorkOf } from '../context/open-work.ts'
import { GoalVerifiers, OpenWorkSources, type PursuedGoal } from '../contract.ts'
import { findTerms } from '../repository.ts'
import { check } from './acceptance.ts'
import { missingFiles } from './answers.ts'
import { untrueClaims } from './claims.ts'
import { claimsRefused, readAcceptance, setAcceptance } from './repository.ts'
import { refuteClaim } from './verify.ts'

/** Ends a goal whose agent claimed too often that it is reached, each time refused. */
export const NotAcceptedError = defineError({
  code: 'goal_not_accepted',
  status: 409,
  title: 'Goal not accepted',
  message: (p: { refused: string; problem: string; summary: string }) =>
    `${p.refused} ${p.problem}\nThe agent said: ${p.summary}`,
})

/** Values of `claims_refused`: an answer without `finish_goal` was refused; a call of it was. */
const ANSWER_REFUSED = 1
const CALL_REFUSED = 2

/** Checks what agents say they achieved: a goal completes only when no check objects. */
export class GoalClaimCheck {
  readonly #svc: PluginHandle
  readonly #config: GoalsConfig
  readonly #cycle: Cycle
  readonly #goal: PursuedGoal
  readonly #reach: Reach
  readonly #save: (effects: readonly Effect[]) => Promise<void>
  /** Answers without `finish_goal` that were refused: what they claim is still claimed by one that says less. */
  #refused = ''

  /** @param save writes in the middle of the cycle */
  constructor(
    svc: PluginHandle,
    config: GoalsConfig,
    cycle: Cycle,
    goal: PursuedGoal,
    reach: Reach,
    save: (effects: readonly Effect[]) => Promise<void>,
  ) {
    this.#svc = svc
    this.#config = config
    this.#cycle = cycle
    this.#goal = goal
    this.#reach = reach
    this.#save = save
  }

  /**
   * Checks a claim that the goal is reached.
   * @returns why it is not, in sentences that stand alone, or that the operator's answer is awaited; undefined when the
   * goal may complete
   * @throws NotAcceptedError when the claim was refused too often
   */
  async objection(claim: Claim): Promise<string | Rejection | Waiting | undefined> {
    const { agent_id, goal_id, objective } = this.#goal
    const openWork = this.#svc.list(OpenWorkSources).flatMap(({ condition }) => condition ?? [])
    const current = await findTerms(this.#svc.use(Store), goal_id, openWork)
    if (current && current.open_subgoals > 0)
      return `Subgoals of this goal are still active (${current.open_subgoals}). They come first; you will be shown their results.`
    const unfinished = current?.has_open_work && (await this.#checkOpenWork())
    if (unfinished) return unfinished
    // The agent or the operator may have set criteria since the cycle began.
    if (current) this.#goal.acceptance = current.acceptance
    // A check may take long, so what the agent said before it is stored first.
    if (readAcceptance(this.#goal.acceptance).length > 0 || this.#svc.list(GoalVerifiers).length > 0)
      await this.#save([])
    const problem =
      (await this.#checkEvidence(claim)) ?? (await this.#checkAnswer(claim)) ?? (await this.#checkAcceptance(claim))
    if (problem) return problem
    const { signal } = this.#cycle
    const claimed = { ...claim, ...this.#reach, agent_id, goal_id, objective, signal }
    return refuteClaim(this.#svc, claimed, this.#config.tool_timeout)
  }

  /**
   * Refuses an end while others still work for the goal, or wait for an answer of its agent, once per goal, because it may
   * be reached all the same.
   */
  async #checkOpenWork(): Promise<string | undefined> {
    const { goal_id, claims_refused } = this.#goal
    if (claims_refused === CALL_REFUSED) return undefined
    const open = await openWorkOf(this.#svc, goal_id)
    const owed = await Promise.all(this.#svc.list(OpenWorkSources).map(source => source.owed?.(goal_id) ?? []))
    const what = open.map(each => each.what).join(', ')
    const problems = [
      ...(what ? [`Work that you gave for this goal has not ended: ${what}. To wait for it, answer "I wait".`] : []),
      ...owed.flat(),
    ]
    if (problems.length === 0) return undefined
    await this.#refuseOnce()
    return `${problems.join(' ')} If the goal is reached without it, call finish_goal again.`
  }

  /** @param called whether `finish_goal` was called: an answer without it does not use up the refusal of a call */
  async #refuseOnce(called = true): Promise<void> {
    const { goal_id } = this.#goal
    this.#goal.claims_refused = called ? CALL_REFUSED : ANSWER_REFUSED
    await this.#save([claimsRefused({ goal_id, as: this.#goal.claims_refused })])
  }

  /** Refuses missing evidence once per goal, because text that looks like a file or a command may be neither. */
  async #checkEvidence({ evidence }: Claim): Promise<string | undefined> {
    const { goal_id, claims_refused } = this.#goal
    if (claims_refused === CALL_REFUSED || evidence.length === 0) return undefined
    const problems = await recordInput('claims', () => untrueClaims(this.#svc, goal_id, evidence, this.#reach))
    if (problems.length === 0) return undefined
    await this.#refuseOnce()
    return `Your evidence cannot be confirmed: ${problems.join('; ')}. Do what is missing, or name evidence that exists, and call finish_goal again.`
  }

  /**
   * Refuses a summary without evidence that cannot be true, or the end of a goal that names a file which is nowhere, once
   * with what is missing; an answer without `finish_goal` then for good. Where criteria are set, they decide.
   */
  async #checkAnswer({ unconfirmed, summary, evidence }: Claim): Promise<string | undefined> {
    const { goal_id, objective, claims_refused, acceptance } = this.#goal
    if (readAcceptance(acceptance).length > 0) return undefined
    if (!unconfirmed && claims_refused === CALL_REFUSED) return undefined
    const said = `${this.#refused} ${evidence.length > 0 ? '' : summary}`
    const claim = unconfirmed ? said : `${objective} ${said}`
    const missing = await recordInput('claims', () => missingFiles(this.#svc, goal_id, claim, this.#reach))
    if (missing.length === 0) return undefined
    const problem = missing.map(file => `The file ${JSON.stringify(file)} does not exist in your workspace.`).join(' ')
    if (claims_refused && unconfirmed) throw new NotAcceptedError({ refused: 'Not confirmed:', problem, summary })
    this.#refused = said
    await this.#refuseOnce(!unconfirmed)
    return unconfirmed
      ? `The goal is not finished. ${problem} Do what is missing now, by tool calls, then call finish_goal.`
      : `${problem} Do what is missing; if the goal is reached all the same, call finish_goal again.`
  }

  async #checkAcceptance(claim: Claim): Promise<string | Rejection | Waiting | undefined> {
    const { agent_id, goal_id } = this.#goal
    const checked = this.#goal.acceptance
    const criteria = readAcceptance(checked)
    if (checked === null || criteria.length === 0) return undefined
    const claimed = { ...claim, goal: this.#goal, reach: this.#reach }
    const { checks, effects, waits } = await check(this.#svc, this.#cycle, claimed, criteria)
    const current = await findTerms(this.#svc.use(Store), goal_id, [])
    if (current && current.acceptance !== checked) {
      await this.#save(effects)
      return 'The acceptance criteria were changed while they were checked. Read the new ones, and call finish_goal again.'
    }
    const problem = checks.flatMap(each => each.problem ?? []).join('\n')
    // A command that was stopped at its time limit refuses nothing.
    const refused = checks.some(({ met }) => met === false)
    if (refused) this.#goal.refusals++
    const { refusals } = this.#goal
    const refusalEvent = appendEvent({
      type: 'goal_not_accepted',
      agent_id,
      data: { agent_id, goal_id, refusals, problem },
    })
    await this.#save([
      ...effects,
      setAcceptance({ goal_id, acceptance: checks, refused, checked }),
      ...(problem === '' ? [] : [refusalEvent]),
    ])
    if (problem === '') return waits
    const { max_refusals } = this.#config
    if (refused && refusals >= max_refusals) {
      const refused = `Not accepted after ${refusals} tries.`
      throw new NotAcceptedError({ refused, problem, summary: claim.summary })
    }
    const rejection = refused
      ? `The result is not accepted yet (${refusals} of ${max_refusals} tries). ${problem}`
      : `The result could not be checked. ${problem}`
    return checks.some(({ operator, met }) => operator && met === false) ? { rejection } : rejection
  }
}
