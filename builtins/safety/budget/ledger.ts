import type { AgentRow } from '#core/agents/contract'
import type { CallLimit, CallPurpose, PlannedSpend, Spend } from '#core/models/contract'
import type { Profile } from '#core/profiles/contract'
import { errorMessage, type PluginHandle, SvcError } from '#kernel'
import { recordInput, withoutRecording } from '#lib/recording-context'
import { appendEvent, Store, usdOf } from '#platform/store/contract'
import { checkPursuit, checkTotals, limitsOn, shareLeft } from './agent-limits.ts'
import { type BudgetConfig, estimateOf, type Limits, limitsOf } from './config.ts'
import { type Budget, type BudgetStatus, BudgetUnreadableError, type BudgetWarning, bookSpend } from './contract.ts'
import {
  type BudgetRow,
  budgetRow,
  countAbandoned,
  countReserved,
  holdSpend,
  markReported,
  noteEased,
  noteTight,
  openWindow,
  presumeSpent,
  releaseAttempt,
  releaseSpend,
  type TotalLimit,
  unbookedCalls,
  unconfirmedSpend,
  unsureSpend,
} from './repository.ts'
import { SavedBudget } from './saved.ts'
import { hasReachedLimit, statusOf, usage } from './status.ts'
import { exhaustedLimit, hasRoomFor, tightOf, tooTight } from './tight.ts'
import { admitUnknownPrice } from './unknown-price.ts'
import { areFree, budgetWarnings } from './warnings.ts'

/** Time after which this module books a call's cost if no other has, in milliseconds. */
const BOOKED_WITHIN_MS = 10_000
/** Time that a reservation lasts beyond the longest call, in milliseconds. */
const GRACE_MS = 60_000

/** Minimum amount of a call against an agent's limit, so that an exhausted limit stops free calls too. */
const LEAST_MICROS = 1

/** A call with a reservation of this process; `over` is set when it has ended but may not be booked yet. */
interface HeldCall {
  purpose: CallPurpose
  /** `spend` is null when the call cost nothing and its reservation is to be released. */
  over?: { spend: Spend | null; at: number }
}

/** The spending ledger: amounts are reserved before a call and booked after it, in rows that all processes share. */
export class Ledger implements Budget, CallLimit {
  readonly name = 'budget'
  readonly #svc: PluginHandle
  readonly #config: BudgetConfig
  readonly #saved: SavedBudget
  readonly #held = new Map<string, HeldCall>()
  #made: string | undefined
  #cancel: (() => void) | undefined
  #stopped = false
  /** Amount of the last call if it did not fit the budget; null if it did, undefined before the first call. */
  #refused: Limits | null | undefined

  constructor(svc: PluginHandle, config: BudgetConfig) {
    this.#svc = svc
    this.#config = config
    this.#saved = new SavedBudget(svc)
  }

  async status(): Promise<BudgetStatus> {
    const problem = await this.#budgetProblem()
    await this.#presume(null)
    const row = await budgetRow(this.#store)
    const unsure = await unsureSpend(this.#store, row.budget_window)
    const unconfirmed = await unconfirmedSpend(this.#store, row.budget_window)
    // A process without calls yet uses the result of the others.
    const refused =
      this.#refused === undefined ? (tightOf(row) ?? (await this.#smallestReservation(row))) : this.#refused
    const awaitsRestart = await this.#awaitsRestart()
    return statusOf(this.#config, {
      row,
      unsure,
      unconfirmed,
      refused,
      awaitsRestart,
      problem: problem?.message ?? null,
    })
  }

  /** Returns whether a limit was changed and this process does not apply it yet. */
  async #awaitsRestart(): Promise<boolean> {
    const { config } = this.#svc
    await config.refresh()
    const keys = config.keysAwaitingRestart()
    return ['daemon.budget_usd', 'daemon.budget_tokens'].some(key => keys.includes(key))
  }

  warnings(): Promise<BudgetWarning[]> {
    return budgetWarnings(this.#svc, this.#config)
  }

  async isExceeded(): Promise<boolean> {
    if (this.#isUnlimited) return false
    if (await this.#budgetProblem()) return true
    if (!hasReachedLimit(await budgetRow(this.#store), this.#limits)) return false
    await this.report()
    return true
  }

  shareLeft(agent: AgentRow, profile: Profile): Promise<number | null> {
    return shareLeft(this.#svc, agent, profile)
  }

  async reset(): Promise<BudgetStatus> {
    const { spent_micros, spent_tokens } = await budgetRow(this.#store)
    const data = { spent_usd: usdOf(spent_micros), spent_tokens }
    await this.#store.apply([openWindow({}), appendEvent({ type: 'budget_reset', agent_id: null, data })])
    if (this.#config.budget_persist) await this.#saved.renew()
    return this.status()
  }

  /**
   * Reserves the maximum cost of a call. @throws BudgetExhaustedError, AgentBudgetExhaustedError, UnknownPriceError,
   * BudgetUnreadableError
   */
  async hold(call: PlannedSpend): Promise<'held' | undefined> {
    if (call.purpose.is_simulated) return undefined
    const trouble = await this.#budgetProblem()
    if (trouble) throw trouble
    await checkPursuit(this.#svc, call.purpose)
    const totals = await limitsOn(this.#svc, call.purpose)
    await admitUnknownPrice(this.#svc, this.#config, call, totals)
    if (this.#isUnlimited && totals.length === 0) return undefined
    if (this.#config.budget_mode === 'record_only') {
      await checkTotals(this.#svc, totals, LEAST_MICROS)
      if (await this.isExceeded()) throw exhaustedLimit(await budgetRow(this.#store), this.#limits)
      return undefined
    }
    const { bound, amount, micros } = this.#attemptOf(call)
    const reserve = () => this.#reserve(call, amount, micros, totals)
    const held = (await reserve()) || ((await this.#presume(null)) && (await reserve()))
    if (!held) await checkTotals(this.#svc, totals, micros)
    // The agents' limits now allow the call, and there is no other limit: try again.
    if (!held && this.#isUnlimited) return this.hold(call)
    this.#refused = held ? null : amount
    if (held) return 'held'
    await this.report()
    const row = await budgetRow(this.#store)
    if (hasReachedLimit(row, this.#limits)) throw exhaustedLimit(row, this.#limits)
    const calls = await countReserved(this.#store)
    await this.#reportTight(row, amount, calls)
    throw tooTight(this.#config, { row, kind: call.purpose.kind, bound, amount, calls })
  }

  /** Releases the reservation of an attempt that was not charged. If that fails, it is released when the call ends. */
  async unbilled(call: PlannedSpend): Promise<void> {
    const { call_id, purpose } = call
    if (!this.#held.has(call_id)) return
    const { amount, micros: bound } = this.#attemptOf(call)
    await this.#store.apply([releaseAttempt({ call_id, amount, bound })]).catch(error => {
      this.#svc.log.warn(
        { agent_id: purpose.agent_id },
        `the reservation for ${call_id} is not released yet: ${errorMessage(error)}`,
      )
    })
  }

  /** Books a call that no other module books. For an answered call, checks later whether it was booked. */
  async settle({ call_id, purpose, spend, answered }: Parameters<CallLimit['settle']>[0]): Promise<void> {
    if (purpose.is_simulated) return
    const held = this.#held.get(call_id)
    if (held) held.over = { spend, at: this.#svc.clock.monotonic() }
    if (held || this.#config.budget_persist) this.#later()
    if (answered && purpose.kind !== 'other') return
    if (!spend && !held) return
    try {
      await this.#store.apply([spend ? spendEffect(purpose, spend, !answered) : releaseSpend({ call_id })])
      this.#held.delete(call_id)
      await this.report()
    } catch (error) {
      this.#svc.log.error(
        { agent_id: purpose.agent_id },
        `the cost of ${call_id} is not booked yet: ${errorMessage(error)}`,
      )
    }
  }

  /** Prepares the budget in the process that has become the project's daemon, before its first cycle. */
  async begin(): Promise<void> {
    await this.#presume(this.#owner)
    this.#warn()
    if (!this.#config.budget_persist) return void (await this.#store.apply([openWindow({})]))
    const trouble = await this.#budgetProblem()
    if (trouble) this.#svc.log.error({ code: trouble.code }, trouble.message)
    await this.#saved.show()
  }

  /** Logs price warnings, in the background, because a model server may not answer. */
  #warn(): void {
    this.warnings()
      .then(all => {
        for (const { code, message, remedy } of all)
          this.#svc.log.warn({ code }, `${message}. To change that: ${remedy}.`)
      })
      .catch(error => this.#svc.log.warn({}, `the prices of the models in use are not known: ${errorMessage(error)}`))
  }

  /** Books the reservations of dead processes as spent. */
  async tidy(): Promise<void> {
    await this.#presume(null)
  }

  /** Reports once per window that a limit is reached, and saves the amount spent. */
  report(): Promise<void> | undefined {
    if (this.#config.budget_persist) void withoutRecording(() => this.#saved.show())
    return this.#isUnlimited ? undefined : this.#reportExceeded()
  }

  async #reportExceeded(): Promise<void> {
    const row = await budgetRow(this.#store)
    const tight = tightOf(row)
    if (tight && hasRoomFor(row, this.#limits, tight)) await this.#store.apply([noteEased(tight)])
    if (row.told_window === row.budget_window || !hasReachedLimit(row, this.#limits)) return
    const { budget_window, spent_micros, spent_tokens } = row
    const data = { spent_usd: usdOf(spent_micros), spent_tokens }
    const first = await this.#store.apply([
      markReported({ budget_window }),
      appendEvent({ type: 'budget_exceeded', agent_id: null, data }),
    ])
    const used = usage({ micros: spent_micros, tokens: spent_tokens }, this.#limits)
    if (first) this.#svc.log.warn({ code: 'budget_exceeded' }, `the budget is used up: ${used} spent`)
  }

  /** Reports that the remaining budget is less than one call may cost; once, until a call fits again. */
  async #reportTight(row: BudgetRow, needed: Limits, reserved_calls: number): Promise<void> {
    if (tightOf(row)) return
    const limits = this.#limits
    const data = {
      spent_usd: usdOf(row.spent_micros),
      spent_tokens: row.spent_tokens,
      reserved_usd: usdOf(row.reserved_micros),
      reserved_tokens: row.reserved_tokens,
      reserved_calls,
      limit_usd: limits.micros > 0 ? usdOf(limits.micros) : null,
      limit_tokens: limits.tokens > 0 ? limits.tokens : null,
      needed_usd: usdOf(needed.micros),
      needed_tokens: needed.tokens,
    }
    await this.#store.apply([noteTight(needed), appendEvent({ type: 'budget_tight', agent_id: null, data })])
  }

  /** Books or releases all ended calls of this process. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel?.()
    await this.#bookUnbooked(Number.POSITIVE_INFINITY)
    if (this.#config.budget_persist) await this.#saved.show()
  }

  get #store(): Store {
    return this.#svc.use(Store)
  }

  /** Name of this process in its reservations. */
  get #owner(): string {
    this.#made ??= this.#svc.ports.ids.make(`holder-${process.pid}`, 12)
    return this.#made
  }

  get #limits(): Limits {
    return limitsOf(this.#config)
  }

  get #isUnlimited(): boolean {
    const { budget_usd, budget_tokens } = this.#config
    return budget_usd === 0 && budget_tokens === 0
  }

  /** Imports the saved amounts. @returns why nothing may be spent, when the amount spent so far is unknown */
  async #budgetProblem(): Promise<SvcError | undefined> {
    if (!this.#config.budget_persist) return undefined
    try {
      // Recorded as an input, because the file is read once per process and not in each cycle: a replay uses the same
      // result.
      await recordInput('budget.json', () => this.#importSaved())
      return undefined
    } catch (error) {
      if (error instanceof SvcError && error.code === BudgetUnreadableError.code) return error
      throw error
    }
  }

  /**
   * Imports the saved amounts, or starts from 0. @throws BudgetUnreadableError if an unreadable file must stop all
   * spending
   */
  async #importSaved(): Promise<void> {
    try {
      await this.#saved.importAmounts()
    } catch (error) {
      const isClosed = !this.#isUnlimited && this.#svc.config.get('daemon.guards_fail_closed')
      if (!(error instanceof BudgetUnreadableError) || isClosed) throw error
      await this.#saved.giveUp(error)
    }
  }

  /** Returns the smallest reservation for any call, without dollars when all models in use are free. */
  async #smallestReservation(row: BudgetRow): Promise<Limits> {
    const least = estimateOf(this.#config, 'goal_generation', false)
    // Queries the models only when needed, because their servers may be slow to answer.
    return hasRoomFor(row, this.#limits, least) || !(await areFree(this.#svc)) ? least : { ...least, micros: 0 }
  }

  /**
   * Returns the amounts to reserve for an attempt: its maximum cost, or the configured minimum when the daemon has
   * limits.
   */
  #attemptOf({ purpose, priced, maxSpend: boundOf }: PlannedSpend) {
    const bound = boundOf()
    const { micros, tokens } = this.#isUnlimited
      ? { micros: 0, tokens: 0 }
      : estimateOf(this.#config, purpose.kind, priced === 'free')
    const amount = { micros: Math.max(micros, bound.cost_micros), tokens: Math.max(tokens, bound.tokens) }
    return { bound, amount, micros: Math.max(LEAST_MICROS, bound.cost_micros) }
  }

  async #reserve(
    { call_id, model, purpose, priced, longest_ms }: PlannedSpend,
    amount: Limits,
    bound: number,
    agents: TotalLimit[],
  ): Promise<boolean> {
    const { agent_id, root_agent_id = null, goal_id, kind } = purpose
    const held = await this.#store.apply([
      holdSpend({
        call_id,
        owner: this.#owner,
        by_daemon: this.#svc.heartbeat.live,
        agent_id,
        root_agent_id,
        goal_id,
        kind,
        model,
        priced,
        amount,
        limits: this.#limits,
        bound,
        agents,
        expires_at: Math.ceil(this.#svc.clock.ms() + longest_ms + GRACE_MS),
      }),
    ])
    if (held) this.#held.set(call_id, { purpose })
    return held
  }

  /** Books abandoned reservations as spent. @returns whether there were any */
  async #presume(daemon: string | null): Promise<boolean> {
    const abandoned = await countAbandoned(this.#store, this.#svc.clock.ms(), daemon)
    if (abandoned === 0) return false
    await this.#store.apply([presumeSpent({ daemon })])
    const calls = abandoned === 1 ? 'a model call' : `${abandoned} model calls`
    this.#svc.log.warn({}, `the maximum cost of ${calls} of a dead process was booked as spent, unconfirmed`)
    return true
  }

  #later(): void {
    if (this.#stopped || this.#cancel) return
    this.#cancel = this.#svc.clock.after(BOOKED_WITHIN_MS, () => {
      this.#cancel = undefined
      this.#bookUnbooked(this.#svc.clock.monotonic() - BOOKED_WITHIN_MS)
        .then(() => this.report())
        .catch(error => this.#svc.log.error({}, `ended model calls could not be booked yet: ${errorMessage(error)}`))
        .finally(() => {
          if ([...this.#held.values()].some(({ over }) => over)) this.#later()
        })
    })
  }

  /**
   * Books or releases this process's calls that ended before a time and are not booked yet, and replaces presumed costs
   * by actual ones.
   */
  async #bookUnbooked(before: number): Promise<void> {
    const over = [...this.#held].filter(([, held]) => held.over && held.over.at <= before)
    if (over.length === 0) return
    const unbooked = await unbookedCalls(this.#store, this.#owner)
    const forgotten = over.filter(([call_id]) => unbooked.has(call_id))
    await this.#store.apply(
      forgotten.map(([call_id, { purpose, over }]) =>
        over!.spend ? spendEffect(purpose, over!.spend) : releaseSpend({ call_id }),
      ),
    )
    for (const [call_id] of over) this.#held.delete(call_id)
  }
}

function spendEffect(purpose: CallPurpose, spend: Spend, failed = false) {
  const { agent_id, root_agent_id, goal_id, cycle_num, booked_as: kind = purpose.kind } = purpose
  return bookSpend({ ...spend, agent_id, root_agent_id, goal_id, cycle_num, kind, failed })
}
