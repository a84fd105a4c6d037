import { type Kernel, type PluginDefinition, type Role, SvcError } from '#kernel'
import { keyedIds, keyedRandom } from '#lib/keyed-random'
import type { Opener } from '#lib/opener'
import { Invariants, type Look, Store } from '#platform/store/contract'
import type { Tool } from '#tools/toolkits/contract'
import { InvariantChecker } from './checks/invariant-checker.ts'
import { agentsThatMustMove, progressOf } from './checks/progress.ts'
import { SimulatedTime } from './clock.ts'
import { type SimulatedProject, type SimulatedRun, type SimulationOptions, SimulationStuckError } from './contract.ts'
import { Dice } from './dice.ts'
import { Disk } from './disk/disk.ts'
import { FaultInjector } from './fault-injector.ts'
import type { InitialState } from './initial-state.ts'
import { Journal } from './journal.ts'
import { actAsOperator, type OperatorParts } from './operators.ts'
import { type ProcessParts, ROOT, SimulatedProcess } from './process.ts'
import { type Rules, rulesOf } from './rules.ts'

/** Time limit of a run that does not reach its number of cycles, in simulated milliseconds. */
const LONGEST_MS = 600_000
/** Time limit for starting and stopping, in simulated milliseconds. */
const PATIENCE_MS = 120_000

export interface SimulationParts {
  opener: Opener
  initial: InitialState
  /** Additional plugins, from files. */
  also: readonly PluginDefinition[]
  belongings: SimulatedProject
  /** Returns the SQL that runs in place of a statement, to simulate broken builds. */
  rewrite?: (sql: string) => string
}

/** A machine with a disk, a clock, processes and operators: everything that happens in it follows from its seed. */
export class SimulatedService {
  readonly journal: Journal
  readonly checker: InvariantChecker
  readonly #options: SimulationOptions
  readonly #rules: Rules
  readonly #time: SimulatedTime
  readonly #faults: FaultInjector
  readonly #dice: { people: Dice; machine: Dice }
  readonly #shared: ProcessParts
  /** Reads the database without faults, also after the run. */
  readonly look: Look
  readonly #processes: SimulatedProcess[] = []
  #number = 0
  /** Whether operator actions and faults are over. */
  #calm = false
  #signal: AbortSignal | undefined
  /** Whether a process stopped while the store failed. */
  #isUnbooked = false

  constructor(options: SimulationOptions, { opener, initial, also, belongings, rewrite }: SimulationParts) {
    const { seed, faults } = options
    this.#options = options
    const dice = (stream: string) => new Dice(seed, stream)
    this.#rules = rulesOf(dice('rules'), options, belongings)
    const time = new SimulatedTime(dice('ties'))
    this.#time = time
    this.#dice = { people: dice('people'), machine: dice('machine') }
    const elapsed = () => time.elapsed
    this.journal = new Journal(elapsed)
    this.#faults = new FaultInjector(faults, dice('trouble'), elapsed)
    const database = initial.database({
      fault: (process, point) => {
        if (point !== 'read') this.#mayKill(process, point)
        return this.#faults.database(point)
      },
      onCommit: (process, tables) => {
        this.checker.afterCommit(process, tables)
        this.#mayKill(process, 'committed')
      },
      ...(rewrite ? { rewrite } : {}),
    })
    this.look = {
      all: (sql, params) => database.all(sql, params),
      get: (sql, params) => database.get(sql, params),
      get now() {
        return time.wall
      },
    }
    this.checker = new InvariantChecker({
      look: this.look,
      journal: this.journal,
      injector: this.#faults,
      elapsed,
      wakes_within: this.#rules.wakes_within,
      isGated: (process, tool) => this.#isGated(process, tool),
      resumes: this.#rules.resumes,
      reserves: this.#rules.config.daemon.budget_mode === 'reserve',
      isDriven: () => this.#isDriven(),
    })
    const disk = new Disk(() => time.wall)
    for (const [path, text] of Object.entries(this.#rules.files)) disk.put(`${ROOT}/${path}`, text)
    const random = keyedRandom(seed)
    this.#shared = {
      opener,
      also,
      favoured: belongings.tools,
      time,
      disk,
      database,
      injector: this.#faults,
      checker: this.checker,
      random,
      ids: keyedIds(random),
      dice: { model: dice('model'), tools: dice('tools') },
      listening: new Map(),
      mayKill: (process, moment) => this.#mayKill(process, moment),
    }
    time.onRest = () => this.checker.checkAtRest()
    time.onError = error => this.checker.uncaught(error)
  }

  /**
   * Runs the simulation from beginning to end.
   * @param turn resolves in the next turn of the event loop
   * @throws SimulationStuckError; the signal's reason when it is stopped
   */
  async live(turn: () => Promise<void>, signal?: AbortSignal): Promise<SimulatedRun> {
    const { cycles } = this.#options
    const { checker } = this
    this.#signal = signal
    this.#time.onTurn = turn
    const over = () => this.#isOver
    this.#open(['daemon'])
    await this.#until(() => this.#up() !== undefined, 'the service does not start')
    if (this.#rules.daemons > 1) this.#open(['daemon', 'joined'])
    for (let n = 0; n < this.#rules.agents; n++) this.#spawn()
    this.#actLater()
    await this.#time.run(this.#time.elapsed + LONGEST_MS, () => over() || checker.counts.cycles >= cycles)
    if (!over()) await this.#calmDown()
    if (!over()) await this.#close()
    if (!over()) checker.check()
    for (const process of this.#processes) if (process.alive) process.kill()
    signal?.throwIfAborted()
    const { counts, violation } = checker
    this.journal.write('over', { rows: this.#fingerprint() })
    return {
      ...counts,
      violation,
      seed: this.#options.seed,
      hash: this.journal.hash,
      seconds: Math.round(this.#time.elapsed) / 1000,
      faults: this.#faults.counts,
      log: this.journal.lines,
    }
  }

  get #isOver(): boolean {
    return this.checker.violation !== null || this.#signal?.aborted === true
  }

  /** Lets time pass until a condition holds. @throws SimulationStuckError */
  async #until(isDone: () => boolean, what: string): Promise<void> {
    const either = () => this.#isOver || isDone()
    await this.#time.run(this.#time.elapsed + PATIENCE_MS, either)
    if (either()) return
    throw new SimulationStuckError({ seed: this.#options.seed, what, at_s: this.#time.elapsed / 1000 })
  }

  #open(roles: readonly Role[]): void {
    const process = new SimulatedProcess(++this.#number, roles, this.#shared)
    this.#processes.push(process)
    const about = { process: process.number, roles }
    this.journal.write('opens', about)
    process.start().then(
      () => {
        this.journal.write('is_up', about)
        this.checker.add(process.kernel!.list(Invariants))
      },
      error => {
        this.journal.write('does_not_start', {
          ...about,
          error: error instanceof SvcError ? error.code : String(error),
        })
        if (this.#faults.level === 0 && !this.#calm) this.checker.reportLost(`the service does not start: ${error}`)
        this.#openLater()
      },
    )
  }

  /** Starts a process later if none is alive: one that drives agents must be up or on its way. */
  #openLater(): void {
    this.#time.after(this.#dice.machine.int(50, 3_000), () => {
      if (this.#processes.every(({ alive }) => !alive)) this.#open(['daemon'])
    })
  }

  #kill(process: SimulatedProcess, moment: string): void {
    this.journal.write('killed', { process: process.number, moment })
    this.checker.counts.kills++
    process.kill()
    this.#openLater()
  }

  /** May kill a process at a moment that matters, rather than at any moment. */
  #mayKill(number: number, moment: string): void {
    const process = this.#processes.find(each => each.number === number)
    if (!process?.alive || !process.kernel || !this.#faults.injects('killed', 0.0006)) return
    this.#kill(process, moment)
  }

  #up(): SimulatedProcess | undefined {
    const up = this.#processes.filter(({ alive, kernel }) => alive && kernel !== undefined)
    return up.length > 1 ? this.#dice.machine.pick(up) : up[0]
  }

  #isDriven(): boolean {
    return this.#processes.some(({ alive, kernel }) => {
      return (
        alive &&
        kernel?.heartbeat.live &&
        kernel.heartbeat.inFlight.length < Number(kernel.config.get('daemon.max_concurrent_agents'))
      )
    })
  }

  /**
   * Returns whether a tool needs approval in the current configuration of a process: operators also switch approvals
   * off.
   */
  #isGated(number: number, { requires_approval, danger }: Tool): boolean {
    const process = this.#processes.find(each => each.number === number)
    const enabled = process?.kernel?.config.get('approval.enabled') === true
    return enabled && (requires_approval === true || danger !== undefined)
  }

  #spawn(): void {
    const preset = this.#dice.people.pick(this.#rules.presets)
    void this.#up()
      ?.kernel?.invoke('agents.spawn', { preset })
      .catch(error => this.journal.write('refused', { name: 'agents.spawn', error: String(error) }))
  }

  #actLater(): void {
    const { people } = this.#dice
    this.#time.after(people.int(50, this.#rules.pace), () => {
      if (this.#calm) return
      void actAsOperator(this.#people).catch(error => this.checker.uncaught(error))
      this.#actLater()
    })
  }

  get #people(): OperatorParts {
    return {
      dice: this.#dice.people,
      journal: this.journal,
      injector: this.#faults,
      checker: this.checker,
      look: this.look,
      presets: this.#rules.presets,
      service: () => {
        const up = this.#up()
        return up?.kernel && { kernel: up.kernel, process: up.number }
      },
      machine: {
        kill: () => {
          const process = this.#up()
          if (process) this.#kill(process, 'at rest')
        },
        restart: () => {
          const process = this.#up()
          if (process) void this.#restart(process)
        },
        setClock: () => this.#time.jump(this.#faults.clockJump()),
        join: () => {
          if (this.#processes.filter(({ alive }) => alive).length < 2) this.#open(['daemon', 'joined'])
        },
      },
    }
  }

  async #restart(process: SimulatedProcess): Promise<void> {
    this.journal.write('stops', { process: process.number })
    const began = this.#time.elapsed
    await process.stop()
    if (this.#faults.lastOfStore >= began) this.#isUnbooked = true
    this.#openLater()
  }

  /** Ends all faults and lets everything continue: every agent with a goal must make progress. */
  async #calmDown(): Promise<void> {
    this.#calm = true
    this.#faults.end()
    this.journal.write('calm')
    // An operator who has just frozen all agents may still wait for a lock.
    await this.#until(
      () => this.#up() !== undefined && this.checker.openRequests === 0,
      'the service does not come back',
    )
    if (this.#isOver) return
    const kernel = () => this.#up()!.kernel!
    let ready = false
    void this.#letGo(kernel()).then(
      () => {
        ready = true
      },
      error => this.checker.uncaught(error),
    )
    await this.#until(() => ready, 'operations are not answered')
    if (this.#isOver) return
    const before = new Map(agentsThatMustMove(this.look).map(({ agent_id, run_at }) => [agent_id, run_at]))
    const begun = new Map([...before.keys()].map(id => [id, progressOf(this.look, id)]))
    const hasMoved = (id: string) => progressOf(this.look, id) !== begun.get(id)
    const { heartbeat } = this.#rules
    // Agents that rest after failures keep their rest.
    const last = Math.max(this.#time.wall, ...before.values()) + 3 * heartbeat + this.#rules.longest_cycle
    await this.#time.run(this.#time.elapsed + Math.max(0, last - this.#time.wall), () => {
      return this.#isOver || [...before.keys()].every(hasMoved)
    })
    if (this.#isOver) return
    // A full disk may have kept an agent's rest from being written until now.
    const rests = (id: string) =>
      this.look.get(
        'SELECT 1 FROM leases l JOIN agents a ON a.agent_id = l.agent_id WHERE a.agent_id = ? AND a.failures > 0 AND l.run_at > ?',
        [id, this.#time.wall + heartbeat],
      )
    const still = [...before.keys()].filter(id => !hasMoved(id) && !rests(id))
    // While one agent rested for long after a clock was set back, others may have spent the budget.
    if (this.look.get('SELECT 1 FROM budget WHERE tight_tokens > 0 OR tight_micros > 0')) return
    if (still.length > 0) this.checker.reportStuckGoal(still.join(', '))
  }

  async #letGo(kernel: Kernel): Promise<void> {
    const call = (name: string, input: object) => kernel.invoke(name, input, { tenant: 'operator' })
    await call('daemon.resume', {})
    await call('agents.resume', { all: true })
    await call('budget.reset', {})
    for (;;) {
      const waiting = this.look.all<{ approval_id: string }>(
        "SELECT approval_id FROM approvals WHERE status = 'pending'",
      )
      if (waiting.length === 0) break
      for (const { approval_id } of waiting) {
        await call('approvals.decide', { approval_id, decision: 'approve' }).catch(() => {})
      }
    }
    const open = this.look.all<{ question_id: string }>('SELECT question_id FROM questions WHERE answered_at IS NULL')
    // The first option, or text where there are no options.
    for (const { question_id } of open) await call('questions.answer', { question_id, answer: '1' }).catch(() => {})
  }

  async #close(): Promise<void> {
    const open = this.#processes.filter(({ alive }) => alive)
    const owners = new Set(open.map(({ kernel }) => kernel?.use(Store).owner))
    let closed = false
    void Promise.all(open.map(process => process.stop())).then(
      () => {
        closed = true
      },
      error => this.checker.uncaught(error),
    )
    await this.#until(() => closed, 'the service does not stop')
    if (this.#isOver) return
    // A killed process holds its leases until they expire.
    const held = this.look
      .all<{ id: string; owner: string }>('SELECT id, owner, run_at, claimed_at FROM leases WHERE owner IS NOT NULL')
      .filter(({ owner }) => owners.has(owner))
    if (held.length > 0) this.checker.reportLeftover(`leases ${JSON.stringify(held)}`)
    // Calls of a process that was killed, or stopped while the store failed, hold a reservation until no process can be
    // waiting for them any more.
    if (this.checker.counts.kills > 0 || this.#isUnbooked) return
    const reserved = this.look.all<{ call_id: string }>('SELECT call_id FROM budget_reservations')
    if (reserved.length > 0)
      this.checker.reportLeftover(`reservations for ${reserved.map(({ call_id }) => call_id).join(', ')}`)
  }

  #fingerprint(): unknown {
    return this.look.all('SELECT goal_id, status, steps_completed, result FROM goals ORDER BY goal_id')
  }
}
