import type { ModelRequest } from '#core/models/contract'
import { canonicalJson } from '#core/runtime/contract'
import { errorMessage, type Kernel } from '#kernel'
import type { Invariant, Look } from '#platform/store/contract'
import type { Tool, ToolCall } from '#tools/toolkits/contract'
import type { Refusal } from '../../model/wire-rules.ts'
import type { Violation } from '../contract.ts'
import type { FaultInjector } from '../fault-injector.ts'
import type { Journal } from '../journal.ts'
import { isResult, ownInvariants, RESUMES, WATCHED } from './invariants.ts'

export interface CheckerParts {
  look: Look
  journal: Journal
  injector: FaultInjector
  /** Milliseconds since the run began. */
  elapsed(): number
  /** Time within which a woken agent must run, in milliseconds. */
  wakes_within: number
  /** Returns whether a tool waits for an approval in that process. */
  isGated(process: number, tool: Tool): boolean
  reserves: boolean
  /** Whether pursuits continue at each cycle, rather than begin anew. */
  resumes: boolean
  /** Returns whether a process that drives agents is up. */
  isDriven(): boolean
}

/** Interval of the check that woken agents have run, in simulated milliseconds. */
const TICK_MS = 250
/** Time that a lease outlives failed renewals, in milliseconds. */
const LEASE_MS = 20_000
/**
 * Temporary files have the id of the machine's own process in their name, which would make logs of the same run differ.
 */
const OWN_FILES = `.${process.pid}.tmp`
/** Time that a process waits for a locked database, in milliseconds. */
const LOCK_MS = 5_000
/** Maximum time between two tries of a locked database, in milliseconds. */
const RETRY_MS = 25

interface Nudge {
  nudge_id: string
  agent_id: string
  /** Time since which nothing has delayed the nudge. */
  since: number
  cycles: number
}

/** Observes and counts all events of a simulated run, and reports the first broken promise. */
export class InvariantChecker {
  violation: Violation | null = null
  readonly counts = { cycles: 0, model_calls: 0, tool_runs: 0, acts: 0, kills: 0, checks: 0 }
  /** Number of operators that wait for an answer, by the process that they asked. */
  readonly #asking = new Map<number, number>()
  readonly #parts: CheckerParts
  readonly #invariants = new Map<string, Invariant>(ownInvariants().map(each => [each.name, each]))
  readonly #calls = new Set<string>()
  /** Number of runs of tools by their calls, which is kept when a process is killed. */
  readonly #runs = new Map<string, number>()
  readonly #approvals = new Map<string, string>()
  readonly #driving = new Map<string, { process: number; epoch: number }>()
  readonly #nudges = new Map<string, Nudge>()
  readonly #started = new Map<string, number>()
  /** Number of cycles that an agent had begun when a nudge to it was written. */
  readonly #written = new Map<string, number>()
  #billed = 0
  #spendSeen = 0
  #eventsSeen = 0
  /** Time since which all agents are frozen, on the clock that never jumps. */
  #frozen: number | undefined
  #tick = 0

  constructor(parts: CheckerParts) {
    this.#parts = parts
    if (!parts.resumes) this.#invariants.delete(RESUMES)
  }

  /** Records a broken promise, if it is the first. */
  fail(invariant: string, promise: string, found: string): void {
    if (this.violation) return
    this.violation = { invariant, promise, found: found.slice(0, 2000), at_s: this.#parts.elapsed() / 1000 }
    this.#parts.journal.write('violation', this.violation)
  }

  #report(invariant: keyof typeof WATCHED, found: string): void {
    this.fail(invariant, WATCHED[invariant], found)
  }

  add(invariants: readonly Invariant[]): void {
    for (const each of invariants) this.#invariants.set(each.name, each)
  }

  /** Checks what a committed transaction wrote. */
  afterCommit(process: number, touched: ReadonlySet<string>): void {
    if (touched.size === 0) return
    if (touched.has('nudges')) this.#readNudges()
    if (touched.has('events')) this.#readEvents(process)
    if (touched.has('spend')) this.#checkSpend()
    if (touched.has('plugin_values')) this.#readFreeze()
    this.check(touched)
  }

  /** Checks the invariants of the touched tables. @param touched all tables by default */
  check(touched?: ReadonlySet<string>): void {
    for (const invariant of this.#invariants.values()) {
      if (touched && !invariant.tables.some(table => touched.has(table))) continue
      this.counts.checks++
      const found = this.#lookAt(invariant)
      if (found !== undefined) this.fail(invariant.name, invariant.promise, found)
    }
  }

  /** A check that fails, for example because SQLite refuses its statement, counts as broken. */
  #lookAt(invariant: Invariant): string | undefined {
    try {
      return invariant.broken(this.#parts.look)
    } catch (error) {
      return `it could not be checked: ${errorMessage(error)}`
    }
  }

  /** Checks what depends on time, while the simulation is at rest. */
  checkAtRest(): void {
    const now = this.#parts.elapsed()
    if (now < this.#tick) return
    this.#tick = now + TICK_MS
    this.#checkBill()
    for (const nudge of this.#nudges.values()) this.#checkNudge(nudge, now)
  }

  follow(process: number, kernel: Kernel, alive: () => boolean): void {
    const { journal } = this.#parts
    const on = (name: string, look: (payload: never) => void) =>
      kernel.hooks.on(
        name as 'cycle_start',
        (payload: object) => {
          if (!alive()) return
          journal.write(name, { process, ...payload })
          look(payload as never)
        },
        'world',
      )
    on('cycle_start', (payload: { agent_id: string }) => this.#cycleBegins(process, payload))
    on('cycle_end', (payload: { agent_id: string; result: string }) => this.#cycleEnds(process, payload))
    on('phase_enter', (payload: { phase: string; agent_id: string }) => this.#phaseBegins(payload))
    on('config_changed', () => {})
    on('guard_failed', ({ guard, error }: { guard: string; error: string }) => {
      if (this.#parts.injector.level === 0) this.#report('quiet_when_well', `the guard ${guard} failed: ${error}`)
    })
  }

  /**
   * Records that an operator waits for a process. @returns what to call after the answer; a killed process never
   * answers
   */
  recordRequest(process: number): () => void {
    const asking = this.#asking
    asking.set(process, (asking.get(process) ?? 0) + 1)
    return () => {
      const still = (asking.get(process) ?? 0) - 1
      if (still > 0) asking.set(process, still)
      else asking.delete(process)
    }
  }

  /** Returns the number of processes that have not answered yet. */
  get openRequests(): number {
    return this.#asking.size
  }

  afterKill(process: number): void {
    this.#asking.delete(process)
    for (const [agent, driver] of this.#driving) if (driver.process === process) this.#driving.delete(agent)
  }

  /**
   * Checks a process that was stopped in order. @param cycles number of cycles that did not end within the grace period
   */
  afterStop(process: number, timers: number, cycles: number): void {
    const { elapsed, injector } = this.#parts
    // Work that an operator still waits for, or that waits for a locked database, is not left over.
    const isLocked = elapsed() - injector.lastOfStore < (cycles > 0 ? LOCK_MS : RETRY_MS)
    const isAsked = this.#asking.has(process)
    if (timers > 0 && !isAsked && !isLocked)
      this.#report('nothing_left_behind', `process ${process} has ${timers} timers`)
  }

  onLog(process: number, line: string): void {
    const { time: _, pid: __, ...entry } = JSON.parse(line.replaceAll(OWN_FILES, '.tmp')) as Record<string, unknown>
    this.#parts.journal.write('logged', { process, ...entry })
    const { injector, elapsed } = this.#parts
    // A read that failed before the faults stopped may be logged after that.
    const isLate = elapsed() - injector.lastOfStore < RETRY_MS
    if (injector.level === 0 && !isLate) this.#report('quiet_when_well', String(entry.msg))
  }

  /** Records an uncaught error. */
  uncaught(error: unknown): void {
    this.#report('caught', error instanceof Error ? (error.stack ?? error.message) : String(error))
  }

  /** Checks a model call that is under way. */
  onModelCall({ purpose: { kind, agent_id, task_id } }: ModelRequest): void {
    this.counts.model_calls++
    this.#parts.journal.write('model_asked', { kind, agent_id })
    if (kind === 'task' || task_id !== undefined || kind === 'other') return
    const waiting = this.#parts.look.get<{ approval_id: string; created_at: number }>(
      "SELECT approval_id, created_at FROM approvals WHERE agent_id = ? AND status = 'pending' AND task_id IS NULL",
      [agent_id],
    )
    if (waiting && waiting.created_at < this.#parts.look.now) {
      this.#report('no_call_when_waiting', `${agent_id} waits for ${waiting.approval_id}`)
    }
  }

  onRefusal({ message }: Refusal): void {
    this.#report('no_request_refused', message)
  }

  onToolCall(call_id: string): void {
    this.#calls.add(call_id)
  }

  onBilled(tokens: number): void {
    this.#billed += tokens
  }

  /** Returns the names of agents and goals. */
  names(): string[] {
    const { look } = this.#parts
    return look.all<{ id: string }>('SELECT agent_id AS id FROM agents ORDER BY rowid LIMIT 5').map(({ id }) => id)
  }

  onToolBegun(process: number, tool: Tool, args: unknown, { call_id, agent_id }: ToolCall): void {
    const { look, journal } = this.#parts
    this.counts.tool_runs++
    const runs = (this.#runs.get(call_id) ?? 0) + 1
    this.#runs.set(call_id, runs)
    journal.write('tool_runs', { process, tool: tool.name, call_id, agent_id, runs })
    if (runs > 1 && tool.idempotent !== true && tool.read_only !== true)
      this.#report('at_most_once', `${tool.name} (${call_id}) ran ${runs} times`)
    const call = look.get<{ state: string; arguments: string }>(
      'SELECT state, arguments FROM tool_calls WHERE call_id = ?',
      [call_id],
    )
    if (call?.state !== 'started') {
      // Its agent may have been deleted in this very moment.
      if (call || look.get('SELECT 1 FROM agents WHERE agent_id = ?', [agent_id])) {
        this.#report('journal_first', `${tool.name} (${call_id}) is ${call?.state ?? 'not in the journal'}`)
      }
      return
    }
    if (this.#parts.isGated(process, tool)) this.#checkApproval(tool, args, call_id)
  }

  #checkApproval(tool: Tool, args: unknown, call_id: string): void {
    const approval = this.#parts.look.get<{
      approval_id: string
      status: string
      tool_name: string
      arguments: string
    }>('SELECT approval_id, status, tool_name, arguments FROM approvals WHERE used_by = ?', [call_id])
    const before = approval && this.#approvals.get(approval.approval_id)
    if (approval) this.#approvals.set(approval.approval_id, call_id)
    const fault =
      approval === undefined
        ? 'without an approval'
        : approval.status !== 'consumed' || approval.tool_name !== tool.name
          ? `by ${JSON.stringify(approval)}`
          : canonicalJson(tool.parameters.parse(JSON.parse(approval.arguments))) !== canonicalJson(args)
            ? `with ${JSON.stringify(args)}, not ${approval.arguments}`
            : before !== undefined && before !== call_id
              ? `by ${approval.approval_id}, as ${before} did`
              : undefined
    if (fault) this.#report('gated_tools_wait', `${tool.name} (${call_id}) ran ${fault}`)
  }

  /** Records an acknowledged nudge of an operator. A cycle may have begun since it was written. */
  onNudge(agent_id: string, nudge_id: string): void {
    const cycles = this.#written.get(nudge_id) ?? this.#started.get(agent_id) ?? 0
    this.#nudges.set(nudge_id, { nudge_id, agent_id, since: this.#parts.elapsed(), cycles })
  }

  #readNudges(): void {
    const rows = this.#parts.look.all<{ nudge_id: string; agent_id: string }>(
      'SELECT nudge_id, agent_id FROM nudges WHERE delivered_at IS NULL',
    )
    for (const { nudge_id, agent_id } of rows) {
      if (!this.#written.has(nudge_id)) this.#written.set(nudge_id, this.#started.get(agent_id) ?? 0)
    }
  }

  reportDoubleDecision(approval_id: string, decisions: readonly string[]): void {
    this.#report('decided_once', `${approval_id}: ${decisions.join(' and ')} were both taken`)
  }

  reportLost(what: string): void {
    this.#report('acknowledged_is_kept', what)
  }

  reportStuckGoal(what: string): void {
    this.#report('goals_move_on', what)
  }

  reportLeftover(what: string): void {
    this.#report('nothing_left_behind', what)
  }

  #cycleBegins(process: number, { agent_id }: { agent_id: string }): void {
    this.#started.set(agent_id, (this.#started.get(agent_id) ?? 0) + 1)
    const { look, injector, elapsed } = this.#parts
    const agent = look.get<{ paused_at: number | null; died_at: number | null }>(
      'SELECT paused_at, died_at FROM agents WHERE agent_id = ?',
      [agent_id],
    )
    const since = agent?.paused_at ?? agent?.died_at
    if (since != null && since < look.now) this.#report('no_cycle_when_paused', `${agent_id}, since ${since}`)
    const epoch = look.get<{ epoch: number }>('SELECT epoch FROM leases WHERE agent_id = ?', [agent_id])?.epoch ?? 0
    const before = this.#driving.get(agent_id)
    // A write that takes an agent away, such as a restored checkpoint, also increments its epoch.
    if (before?.epoch === epoch - 1 && elapsed() - injector.lastOfStore > LEASE_MS) {
      this.#report('driven_once', `${agent_id} is driven by processes ${before.process} and ${process}`)
    }
    this.#driving.set(agent_id, { process, epoch })
  }

  #cycleEnds(process: number, { agent_id, result }: { agent_id: string; result: string }): void {
    this.counts.cycles++
    const epoch = this.#parts.look.get<{ epoch: number }>('SELECT epoch FROM leases WHERE agent_id = ?', [
      agent_id,
    ])?.epoch
    const driving = this.#driving.get(agent_id)
    // The next cycle may be claimed already, but begins only after this one was reported.
    const isIts = driving?.epoch === epoch || result !== 'fenced'
    if (driving?.process === process && isIts) this.#driving.delete(agent_id)
    if (!isResult(result)) this.#report('known_results', `${agent_id}: ${result}`)
  }

  #phaseBegins({ phase, agent_id }: { phase: string; agent_id: string }): void {
    if (this.#frozen !== undefined && this.#frozen < this.#parts.elapsed()) {
      this.#report('no_phase_when_frozen', `${agent_id} enters ${phase}, frozen since ${this.#frozen / 1000} s`)
    }
  }

  /** Reads when a freeze was written: one that waited for a locked database has an older time stamp. */
  #readFreeze(): void {
    const row = this.#parts.look.get("SELECT 1 FROM plugin_values WHERE namespace = 'daemon' AND key = 'frozen'")
    this.#frozen = row === undefined ? undefined : (this.#frozen ?? this.#parts.elapsed())
  }

  #checkSpend(): void {
    const rows = this.#parts.look.all<{ n: number; call_id: string }>(
      'SELECT rowid AS n, call_id FROM spend WHERE rowid > ? ORDER BY rowid',
      [this.#spendSeen],
    )
    for (const { n, call_id } of rows) {
      this.#spendSeen = n
      const own = call_id.endsWith(':strategy') || call_id === 'budget.json'
      if (!this.#calls.has(call_id) && !own) this.#report('spend_has_a_call', call_id)
    }
  }

  #checkBill(): void {
    if (!this.#parts.reserves) return
    this.counts.checks++
    const row = this.#parts.look.get<{ spent: number; held: number }>(
      `SELECT (SELECT coalesce(sum(input_tokens + output_tokens), 0) FROM spend) AS spent,
              (SELECT coalesce(sum(tokens), 0) FROM budget_reservations) AS held`,
    )
    if (row && row.spent + row.held < this.#billed) {
      this.#report(
        'nothing_for_free',
        `${row.spent} tokens are spent and ${row.held} held, but ${this.#billed} were billed`,
      )
    }
  }

  /** Checks that a nudge is read by the cycle under way or by the next one. Faults meanwhile extend its time. */
  #checkNudge(nudge: Nudge, now: number): void {
    const { look, injector, wakes_within, isDriven: driven } = this.#parts
    const row = look.get<{ delivered_at: number | null; stopped: number; owner: string | null }>(
      `SELECT n.delivered_at, a.paused_at IS NOT NULL OR a.died_at IS NOT NULL AS stopped, l.owner FROM nudges n
       JOIN agents a ON a.agent_id = n.agent_id JOIN leases l ON l.agent_id = n.agent_id WHERE n.nudge_id = ?`,
      [nudge.nudge_id],
    )
    if (!row && look.get('SELECT 1 FROM agents WHERE agent_id = ?', [nudge.agent_id])) this.reportLost(nudge.nudge_id)
    const delivered = !row || row.delivered_at !== null || (this.#started.get(nudge.agent_id) ?? 0) > nudge.cycles
    if (delivered) return void this.#nudges.delete(nudge.nudge_id)
    const busy = row.stopped || row.owner !== null || !driven() || now - injector.lastOfStore < 2_000
    if (busy) nudge.since = now
    else if (now - nudge.since > wakes_within) {
      this.#report(
        'no_wake_lost',
        `${nudge.agent_id} was nudged (${nudge.nudge_id}) and rests ${now - nudge.since} ms since`,
      )
    }
  }

  #readEvents(process: number): void {
    const rows = this.#parts.look.all<{ seq: number; data: string }>(
      'SELECT seq, type, at, agent_id, cycle_num, run_id, data FROM events WHERE seq > ? ORDER BY seq',
      [this.#eventsSeen],
    )
    for (const { data, ...row } of rows) {
      this.#eventsSeen = row.seq
      this.#parts.journal.write('event', { process, ...row, data: JSON.parse(data) as unknown })
    }
  }
}
