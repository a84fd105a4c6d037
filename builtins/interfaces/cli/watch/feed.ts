import type { AgentDetail, Fleet, FleetMember } from '#core/agents/contract'
import { type Clock, errorMessage } from '#kernel'
import type { DaemonStatus } from '#platform/daemon/contract'
import type { EventEnvelope } from '#platform/store/contract'
import type { Approval, ApprovalSummary } from '#safety/approvals/contract'
import type { BudgetStatus } from '#safety/budget/contract'
import { type Calls, operationRef } from '../operations/calls.ts'

const DAEMON = operationRef('daemon.status', 'GET', '/daemon')
const FLEET = operationRef('agents.fleet', 'GET', '/fleet')
const QUEUE = operationRef('approvals.queue', 'GET', '/approvals')
const BUDGET = operationRef('budget.status', 'GET', '/budget')
const AGENT = operationRef('agents.get', 'GET', '/agents/{id}')
const EVENTS = operationRef('events.follow', 'GET', '/events')

/** Interval between reads of what only time changes, in milliseconds; events are shown at once. */
const LOOK_MS = 2_000
const SOON_MS = 150
/** Delay before a broken event stream is opened again, in milliseconds. */
const AGAIN_MS = 1_000
/** Number of events kept, and of past events to begin with. */
const KEPT = 500
const PAST = 50

/** Data shown at one moment. */
export interface Snapshot {
  daemon: DaemonStatus | undefined
  agents: readonly FleetMember[]
  /** Number of ended sub-agents that are left out. */
  hidden: number
  approvals: readonly ApprovalSummary[]
  budget: BudgetStatus | undefined
  /** Details of the selected agent. */
  chosen: AgentDetail | undefined
  /** Events, oldest first. */
  events: readonly EventEnvelope[]
  /** Error of the last read; undefined when it succeeded. */
  problem: string | undefined
}

/** Keeps a snapshot of a project current: by its event stream and by polling. */
export class Feed {
  snapshot: Snapshot = {
    daemon: undefined,
    agents: [],
    hidden: 0,
    approvals: [],
    budget: undefined,
    chosen: undefined,
    events: [],
    problem: undefined,
  }
  /** Called when the snapshot changed. */
  onChange: () => void = () => {}
  /** ID of the agent whose details are read. */
  chosen: string | undefined
  readonly #calls: Calls
  readonly #clock: Clock
  readonly #all: boolean
  #soon = () => {}

  /** @param all whether ended sub-agents are shown */
  constructor(calls: Calls, clock: Clock, all: boolean) {
    this.#calls = calls
    this.#clock = clock
    this.#all = all
  }

  /** Polls and follows events until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.#poll(signal), this.#listen(signal)])
  }

  /** Schedules an early read. */
  look(): void {
    this.#soon()
  }

  /**
   * Reads a snapshot once.
   * @throws what the operations throw
   */
  async readOnce(): Promise<Snapshot> {
    const [daemon, { agents, summary }, approvals, budget] = await Promise.all([
      this.#calls.call<DaemonStatus>(DAEMON),
      this.#calls.call<Fleet>(FLEET, { all: this.#all }),
      this.#calls.call<ApprovalSummary[]>(QUEUE),
      this.#calls.call<BudgetStatus>(BUDGET),
    ])
    // The selected agent may have been deleted.
    const there = agents.some(({ agent_id }) => agent_id === this.chosen) ? this.chosen : agents[0]?.agent_id
    const chosen = there === undefined ? undefined : await this.#calls.call<AgentDetail>(AGENT, { id: there })
    const { hidden } = summary
    return { ...this.snapshot, daemon, agents, hidden, approvals, budget, chosen, problem: undefined }
  }

  async #poll(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const wait = new AbortController()
      const stop = () => wait.abort()
      // Set before the read, which may miss what changes meanwhile.
      this.#soon = () => this.#clock.after(SOON_MS, stop)
      const next = await this.readOnce().catch((error: unknown) => ({ problem: errorMessage(error) }))
      if (signal.aborted) return
      this.#take(next)
      signal.addEventListener('abort', stop, { once: true })
      await this.#clock.sleep(LOOK_MS, wait.signal)
      signal.removeEventListener('abort', stop)
    }
  }

  /** Follows events, and resumes after the last one seen when the process that answers changes. */
  async #listen(signal: AbortSignal): Promise<void> {
    let seen: { last: number } | { after: number } = { last: PAST }
    while (!signal.aborted) {
      try {
        for await (const { event, data } of await this.#calls.stream(EVENTS, { ...seen, follow: true }, signal)) {
          if (event !== 'message') continue
          const envelope = data as EventEnvelope
          seen = { after: envelope.seq }
          this.#take({ events: [...this.snapshot.events, envelope].slice(-KEPT) })
          this.#soon()
        }
      } catch {
        // Polling continues without the event stream.
      }
      await this.#clock.sleep(AGAIN_MS, signal)
    }
  }

  #take(part: Partial<Snapshot>): void {
    this.snapshot = { ...this.snapshot, ...part }
    this.onChange()
  }
}

/** Actions that an operator can take on the page. */
export class OperatorActions {
  readonly #calls: Calls

  constructor(calls: Calls) {
    this.#calls = calls
  }

  async pauseOrResume({ agent_id, status }: FleetMember): Promise<string> {
    const verb = status === 'paused' ? 'resume' : 'pause'
    await this.#calls.call(operationRef(`agents.${verb}`, 'POST', `/agents/{id}/${verb}`), { id: agent_id })
    return `${agent_id}: ${verb}d`
  }

  async nudge(agent_id: string, message: string): Promise<string> {
    await this.#calls.call(operationRef('agents.nudge', 'POST', '/agents/{id}/nudge'), { id: agent_id, message })
    return `sent; ${agent_id} reads it before its next model call`
  }

  async freezeOrThaw(frozen: boolean): Promise<string> {
    const verb = frozen ? 'resume' : 'pause'
    await this.#calls.call(operationRef(`daemon.${verb}`, 'POST', `/daemon/${verb}`))
    return frozen ? 'no longer frozen' : 'frozen: nothing is spent until f is pressed again'
  }

  /** Returns an approval with all arguments of its call, as they are stored. */
  approval(approval_id: string): Promise<Approval> {
    return this.#calls.call(operationRef('approvals.show', 'GET', '/approvals/{approval_id}'), { approval_id })
  }

  async decide(approval_id: string, decision: 'approve' | 'deny', reason?: string): Promise<string> {
    const input = { approval_id, decision, ...(reason ? { reason } : {}) }
    await this.#calls.call(operationRef('approvals.decide', 'POST', '/approvals/{approval_id}'), input)
    return `${approval_id}: ${decision === 'approve' ? 'approved' : 'denied'}`
  }
}
