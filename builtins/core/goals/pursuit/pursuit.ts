import { hash } from 'node:crypto'
import { agentReach } from '#core/agents/contract'
import { Profiles } from '#core/profiles/contract'
import {
  canonicalJson,
  FINISH_GOAL,
  type PlannedCall,
  type RunEnd,
  type RunEvent,
  type RunRequest,
  Runtime,
  type Verdict,
} from '#core/runtime/contract'
import { unansweredCalls } from '#core/runtime/statements'
import { defineError, type Effect, type PluginHandle } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { recordInput, withoutRecording } from '#lib/recording-context'
import type { Cycle } from '#platform/heartbeat/contract'
import { appendEvent, Store } from '#platform/store/contract'
import { Approvals } from '#safety/approvals/contract'
import { ASK_OPERATOR, Questions } from '#safety/questions/contract'
import type { Tool } from '#tools/toolkits/contract'
import { PROCESS_OUTPUT, Processes } from '#tools/toolkits/shell/contract'
import { GoalClaimCheck, NotAcceptedError } from '../acceptance/ending.ts'
import { resultOf } from '../acceptance/result.ts'
import type { GoalsConfig } from '../config.ts'
import { assemblyOf, canReadMessages } from '../context/assembly.ts'
import { pendingMessagesFor, redactOutput } from '../context/guarded.ts'
import { openWorkOf } from '../context/open-work.ts'
import { pursuitParts } from '../context/prompt.ts'
import { sectionsFor } from '../context/sections.ts'
import { ActiveGoal, type PursuedGoal, toolResult } from '../contract.ts'
import { abandonGoal, mayRun } from '../goals.ts'
import {
  beginDeferredCall,
  type CurrentGoal,
  deferCalls,
  dropTranscript,
  goalAtHand,
  loadTranscript,
  parkGoal,
  recordAnswer,
  recordOutcome,
} from '../repository.ts'
import { clearFailure, goalEnding, recordSpend, restAfter } from './outcome.ts'
import { type Called, PendingMessages } from './pending-messages.ts'
import { Plan, UPDATE_PLAN } from './plan.ts'
import { failsOnAndOn, isRefusedAgain } from './refusals.ts'
import { Summaries } from './summary.ts'
import { Transcript } from './transcript.ts'
import type { TranscriptCache } from './transcript-cache.ts'

/** `goal_pursuit`: continues the loop where it stopped, and stores each event before the next step. */
export async function pursue(
  svc: PluginHandle,
  config: GoalsConfig,
  cache: TranscriptCache,
  cycle: Cycle,
): Promise<void> {
  const goal = cycle.get(ActiveGoal) as PursuedGoal
  const pursuit = new Pursuit(svc, config, cache, cycle, goal)
  const end = await pursuit.run().catch(error => {
    if (error instanceof NotAcceptedError) return { status: 'not_reached', problem: error.message } as const
    // The next cycle would send the same request.
    if (!isRefusedAgain(error, assemblyOf(cycle).agent)) throw error
    return { status: 'not_accepted', problem: error.message } as const
  })
  if (end.status === 'repeating') return restOrGiveUp(svc, config, cycle, goal, end)
  const { agent_id, goal_id } = goal
  if (end.status === 'not_accepted') {
    cycle.effects.push(...goalEnding(goal, 'abandoned', await redactOutput(svc, agent_id, end.problem)))
    restAfter(svc, config, cycle, end.problem)
    cycle.result = 'abandoned'
    return
  }
  cycle.effects.push(...clearFailure(svc, cycle))
  const giveUp = async (reason: string, ...more: Effect[]) => {
    cycle.effects.push(...more, ...(await abandonGoal(svc, goal, await redactOutput(svc, agent_id, reason))))
    cycle.result = 'abandoned'
  }
  switch (end.status) {
    case 'finished': {
      const result = await resultOf(svc, cycle, goal, end)
      cycle.effects.push(...goalEnding(goal, 'completed', await redactOutput(svc, agent_id, result), end.unconfirmed))
      cycle.result = 'completed'
      return
    }
    case 'not_reached':
      return giveUp(end.problem)
    case 'refused':
      return giveUp(`The model declined: ${end.summary}`)
    case 'declined': {
      const data = { agent_id, goal_id, reason: await redactOutput(svc, agent_id, end.reason) }
      return giveUp(`Declined: ${end.reason}`, appendEvent({ type: 'goal_declined', agent_id, data }))
    }
    case 'max_steps':
      if (config.max_steps_policy === 'abandon') {
        cycle.effects.push(...goalEnding(goal, 'abandoned', `Not finished within ${pluralize(end.steps, 'step')}.`))
        cycle.result = 'abandoned'
        return
      }
      cycle.effects.push(
        appendEvent({ type: 'goal_max_steps', agent_id, data: { agent_id, goal_id, steps_done: end.steps } }),
      )
      cycle.result = 'max_steps'
      return
    case 'parked':
      cycle.result = 'parked'
      return
    case 'yielded':
      // Another goal comes first: a subgoal, or one of higher priority.
      cycle.run_at = svc.clock.ms()
  }
}

/**
 * Lets an agent rest as after a failure, longer each time, because its next cycle would repeat the same calls. A goal that
 * it chose itself is abandoned when that does not help, so that it chooses another.
 */
async function restOrGiveUp(
  svc: PluginHandle,
  config: GoalsConfig,
  cycle: Cycle,
  goal: PursuedGoal,
  { calls, problem }: Extract<RunEnd, { status: 'repeating' }>,
): Promise<void> {
  const error = problem ? new UnusableAnswersError({ problem }) : new RepeatingError({ ...goal, calls })
  const { agent } = assemblyOf(cycle)
  if (goal.origin !== 'generated' || !failsOnAndOn(error, agent, config.max_failures)) throw error
  const tries = pluralize(agent.failures + 1, 'attempt')
  const reason = `Given up after ${tries} without progress: ${problem ?? `it made the same calls again and again: ${calls}.`}`
  const effects = await abandonGoal(svc, goal, await redactOutput(svc, goal.agent_id, reason))
  cycle.effects.push(...clearFailure(svc, cycle), ...effects)
  cycle.result = 'abandoned'
}

const RepeatingError = defineError({
  code: 'repeating',
  status: 500,
  title: 'Repeated tool calls',
  message: (p: { calls: string; agent_id: string; goal_id: string }) =>
    `The agent made the same calls three times in a row, with the same result: ${p.calls}. It tries again later; to help it: svc nudge ${p.agent_id} "…", or to end the goal: svc goals abandon ${p.goal_id}`,
})

const UnusableAnswersError = defineError({
  code: 'unusable_answers',
  status: 502,
  title: 'Unusable answers',
  message: (p: { problem: string }) => `The agent cannot go on: ${p.problem}`,
})

const NOTHING_OPEN = { unanswered: new Map<string, string>(), waiting: new Set<string>(), planned: new Set<string>() }

/** Workspaces known to exist, for each project of this process. */
const made = new WeakMap<PluginHandle, Set<string>>()
/** Maximum number of them that are remembered. */
const MOST_MADE = 100_000

class Pursuit {
  readonly #svc: PluginHandle
  readonly #config: GoalsConfig
  readonly #cycle: Cycle
  readonly #goal: PursuedGoal
  readonly #cache: TranscriptCache
  readonly #summaries: Summaries
  readonly #called: Called
  readonly #pending: PendingMessages
  #transcript = new Transcript([])
  /** The epoch of the lease under which the transcript was last written to. */
  #written: number | null
  /** State of the goal, read before the next or current model call. */
  #atHand: CurrentGoal | undefined
  /** Whether a blocked goal goes on, because its agent reads messages and acts on them. */
  #isReading = false
  /** Whether nothing was done since the goal was read. */
  #isFresh = false
  /** Writes of an answer without calls to run; they go into the next write, or the end of the cycle. */
  #unsaved: Effect[] = []
  /** When the calls of the last answer began, on the monotonic clock. */
  #began: number

  constructor(svc: PluginHandle, config: GoalsConfig, cache: TranscriptCache, cycle: Cycle, goal: PursuedGoal) {
    this.#svc = svc
    this.#config = config
    this.#cache = cache
    this.#cycle = cycle
    this.#goal = goal
    this.#written = goal.transcript_epoch
    this.#began = svc.clock.monotonic()
    this.#called = calledFor(cycle, goal)
    this.#pending = new PendingMessages(svc, cycle, goal, this.#called)
    this.#summaries = new Summaries(svc, config, cycle, goal, () => this.#transcript)
  }

  async run(): Promise<RunEnd> {
    const store = this.#svc.use(Store)
    const { goal_id } = this.#goal
    const begun = this.#goal.steps_completed > 0
    const open = begun ? await unansweredCalls(store, 'goal_id', goal_id) : NOTHING_OPEN
    // Calls that wait for the operator are continued even without `pursuit_resume`.
    if (begun && (this.#config.pursuit_resume || open.waiting.size > 0)) {
      this.#transcript = await this.#loadTranscript()
    } else if (begun) await this.#cycle.save([dropTranscript({ goal_id })])
    const { status } = assemblyOf(this.#cycle).agent
    // The agent of a blocked goal acts on the results of its open calls.
    this.#isReading = this.#goal.blocked !== 0 && open.unanswered.size > 0
    this.#isFresh = open.unanswered.size === 0 && status !== 'paused' && status !== 'dead'
    const events = this.#svc.use(Runtime).run(await this.#request(open))
    try {
      for (;;) {
        const { value, done } = await events.next()
        if (done) {
          this.#keepTranscript(value)
          return value
        }
        await this.#write(value)
      }
    } finally {
      this.#cycle.effects.push(...this.#unsaved)
      await events.return?.(undefined as never)
    }
  }

  async #loadTranscript(): Promise<Transcript> {
    const { goal_id, transcript_epoch } = this.#goal
    const kept = this.#cache.take(goal_id, transcript_epoch)
    // Only this cycle writes to the transcript, so a recording does not depend on when it is read, or whether.
    return kept ?? new Transcript(await withoutRecording(() => loadTranscript(this.#svc.use(Store), goal_id)))
  }

  /** Keeps the transcript for the next cycle, where there is one. After an error it is not sure what was written. */
  #keepTranscript({ status }: RunEnd): void {
    const goesOn = status === 'max_steps' || status === 'parked' || status === 'yielded'
    if (goesOn && this.#written !== null) this.#cache.keep(this.#goal.goal_id, this.#written, this.#transcript)
  }

  async #request(open: typeof NOTHING_OPEN): Promise<RunRequest> {
    const { agent, profile } = assemblyOf(this.#cycle)
    const { agent_id, cycle_num, lease, signal } = this.#cycle
    const { goal_id } = this.#goal
    const runtime = this.#svc.use(Runtime)
    const reach = agentReach(this.#svc.project, agent)
    await recordInput('workspace', () => this.#makeOnce(reach.scratch))
    const claimCheck = new GoalClaimCheck(this.#svc, this.#config, this.#cycle, this.#goal, reach, effects =>
      this.#save(effects),
    )
    const system_parts = pursuitParts(
      profile,
      await this.#svc.use(Profiles).skills(profile),
      await sectionsFor(this.#svc, 'goal_pursuit', agent, profile),
      runtime.toolsFor(profile),
    )
    return {
      agent_id,
      goal_id,
      cycle_num,
      signal,
      ...reach,
      ...open,
      hasUnread: () => this.#hasUnread(),
      // Read anew at each step, because a toolkit may be added or removed during a pursuit.
      get tools() {
        return runtime.toolsFor(profile)
      },
      call_prefix: `${agent_id}:${lease.epoch}`,
      ...this.#called,
      fallback: profile.fallback,
      temperature: profile.temperature,
      max_tokens: profile.max_tokens,
      parameters: profile.parameters,
      max_steps: profile.max_steps,
      system: system_parts.join('\n\n'),
      system_parts,
      transcript: this.#transcript.messages,
      tool_timeout: this.#config.tool_timeout,
      summarize: call => this.#summaries.next(call),
      newMessages: () => this.#pending.gather(this.#transcript.messages, this.#atHand),
      gate: (call, tool, check) => this.#gate(call, tool, check),
      objection: claim => claimCheck.objection(claim),
      yields: () => this.#yields(),
      waits: text => this.#waits(text),
      mayBegin: () => this.#mayBegin(),
      defer: calls => this.#save([deferCalls({ call_ids: calls.map(({ call_id }) => call_id) })]),
    }
  }

  async #gate(call: PlannedCall, tool: Tool, check: () => Promise<void>): Promise<Verdict> {
    const { agent_id, goal_id } = this.#goal
    const { call_id, step, arguments: args, isHeld } = call
    const asking = { call_id, agent_id, goal_id, task_id: null, arguments: args, isHeld }
    if (call.name === ASK_OPERATOR && this.#svc.has(Questions)) return this.#svc.use(Questions).gate(asking)
    if (call.name === FINISH_GOAL) return { verdict: 'run', arguments: args }
    if (!this.#svc.has(Approvals)) {
      if (isHeld) return { verdict: 'hold' }
      if (step === 0) await this.#save([beginDeferredCall({ call_id })])
      return { verdict: 'run', arguments: args }
    }
    // Calls of an earlier answer, which are resumed, have step 0.
    return this.#svc.use(Approvals).gate({ ...asking, session_id: null, tool, check, isNew: step > 0 })
  }

  /** Creates a workspace once per process; tools create it again if it is removed. */
  async #makeOnce(workspace: string): Promise<void> {
    const known = made.get(this.#svc) ?? new Set()
    made.set(this.#svc, known)
    if (known.has(workspace)) return
    await this.#svc.ports.files.mkdir(workspace, { recursive: true, mode: 0o700 })
    if (known.size >= MOST_MADE) known.clear()
    known.add(workspace)
  }

  async #yields(): Promise<boolean> {
    await this.#save([])
    // A pursuit that has done nothing yet uses the state read with its goal.
    this.#atHand = this.#isFresh ? this.#goal : await goalAtHand(this.#svc.use(Store), this.#goal.agent_id)
    this.#isFresh = false
    if (this.#atHand?.goal_id !== this.#goal.goal_id) return true
    if (this.#atHand.blocked === 0) return false
    this.#isReading ||= await canReadMessages(this.#svc, { ...this.#goal, ...this.#atHand })
    return !this.#isReading
  }

  /** An agent that only says something while others work for its goal, or its own programs, waits for them. */
  async #waits(text: string): Promise<boolean> {
    const { goal_id } = this.#goal
    const { blocked, wakes } = this.#atHand ?? this.#goal
    if (blocked) return true
    // A program may never end, such as a server, and a message get no answer, so only an agent that says so waits for it.
    const saysSo = /\bwait/i.test(text)
    const waitsForPrograms = saysSo && this.#svc.has(Processes)
    const running = waitsForPrograms
      ? await recordInput('processes', () => this.#svc.use(Processes).waitFor(goal_id))
      : []
    const open = (await openWorkOf(this.#svc, goal_id)).filter(({ wait }) => wait || saysSo)
    const isParked = running.length > 0 || open.some(({ wait }) => !wait)
    const parked = isParked ? [parkGoal({ goal_id, wakes })] : []
    const waits = [...running.flat(), ...parked, ...open.flatMap(({ wait }) => wait ?? [])]
    if (waits.length > 0) await this.#save(waits)
    return waits.length > 0
  }

  /** Makes the goal wait for a program if the last call asked to wait for it longer than a call may take. */
  async #waitForProcess(): Promise<void> {
    if (!this.#svc.has(Processes)) return
    const { goal_id } = this.#goal
    const { wakes } = this.#atHand ?? this.#goal
    const running = await recordInput('processes', () => this.#svc.use(Processes).waitFor(goal_id, true))
    if (running.length > 0) await this.#save([...running.flat(), parkGoal({ goal_id, wakes })])
  }

  /** Models answer slowly: meanwhile the operator may have paused the agent, frozen the daemon or ended the goal. */
  async #mayBegin(): Promise<'now' | 'later' | 'never'> {
    return mayRun(this.#svc, this.#goal.goal_id)
  }

  /** Returns whether the operator wrote something that the agent has not read. */
  async #hasUnread(): Promise<boolean> {
    const { agent_id, goal_id } = this.#goal
    const { nudged, wakes } = (await goalAtHand(this.#svc.use(Store), agent_id)) ?? this.#goal
    if (nudged) return true
    return (await pendingMessagesFor(this.#svc, agent_id, goal_id, wakes)).orders.length > 0
  }

  async #write(event: RunEvent): Promise<void> {
    const { agent_id, goal_id } = this.#goal
    if (event.type === 'outcome') {
      const { call, message, effects, ran } = event
      const row = this.#transcript.outcome(call, message)
      const { cycle_num, lease } = this.#cycle
      const epoch = this.#written === lease.epoch ? null : lease.epoch
      const duration = this.#svc.clock.monotonic() - this.#began
      await this.#save([
        recordOutcome({ goal_id, agent_id, epoch, call_id: call.call_id, row }),
        toolResult({ agent_id, goal_id, cycle_num }, call, message, duration, ran),
        ...effects,
      ])
      this.#written = lease.epoch
      if (call.name === PROCESS_OUTPUT) await this.#waitForProcess()
      if (call.name === UPDATE_PLAN && !message.is_error)
        this.#goal.plan = JSON.stringify(Plan.parse(call.arguments).steps)
      return
    }
    const { received, message, calls, spend } = event
    const rows = this.#transcript.answer(received, message, calls)
    // Leaves space for the results of these calls.
    const kept = this.#transcript.prune(this.#config.pursuit_transcript_max_messages - calls.length)
    const intents = calls.filter(({ name }) => name !== FINISH_GOAL).map(call => this.#intent(call))
    this.#unsaved.push(
      recordAnswer({ goal_id, agent_id, epoch: this.#cycle.lease.epoch, rows, kept, intents }),
      recordSpend(this.#cycle, 'goal_pursuit', goal_id, spend, event.step),
      ...this.#pending.markRead(),
    )
    if (intents.length > 0) await this.#save([])
    this.#written = this.#cycle.lease.epoch
    this.#began = this.#svc.clock.monotonic()
  }

  #intent(call: PlannedCall) {
    const tool = this.#svc.use(Runtime).toolsFor(assemblyOf(this.#cycle).profile).find(call.name)
    const needsApproval = tool !== undefined && this.#svc.has(Approvals) && this.#svc.use(Approvals).needsApproval(tool)
    const isGated = needsApproval || call.name === ASK_OPERATOR
    const args_hash = hash('sha256', canonicalJson(call.arguments))
    const state = isGated ? ('planned' as const) : ('started' as const)
    return { args_hash, state, ...call }
  }

  /** Writes these effects after those of an unsaved answer. */
  async #save(more: readonly Effect[]): Promise<void> {
    const effects = [...this.#unsaved.splice(0), ...more]
    if (effects.length === 0) return
    if ((await this.#cycle.save(effects)) === 'refused')
      throw new Error('the store refused the writes that a tool requested')
  }
}

function calledFor(cycle: Cycle, { goal_id }: PursuedGoal): Called {
  const { agent, profile } = assemblyOf(cycle)
  const { agent_id, cycle_num } = cycle
  const { root_agent_id } = agent
  const { max_cost_usd, max_total_cost_usd } = profile
  const payer = { root_agent_id, max_cost_usd, max_total_cost_usd }
  return {
    model: agent.model || profile.model || null,
    purpose: { agent_id, goal_id, cycle_num, kind: 'goal_pursuit', ...payer },
  }
}
