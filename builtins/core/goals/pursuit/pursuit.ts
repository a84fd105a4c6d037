import { hash } from 'node:crypto'
import { Agents, agentReach } from '#core/agents/contract'
import { type ImageRef, imagesOf, readImages } from '#core/images/contract'
import type { Message } from '#core/models/contract'
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
import { goalsBefore, readPlan } from '../acceptance/terms-repository.ts'
import type { GoalsConfig } from '../config.ts'
import { assemblyOf, canReadMessages, listAwaited } from '../context/assembly.ts'
import { pendingMessagesFor, redactOutput, sanitizeNudge } from '../context/guarded.ts'
import { earlierMessages, fitNudges } from '../context/nudges.ts'
import { describeParked, openWorkOf } from '../context/open-work.ts'
import {
  blockedMessage,
  causesMessage,
  endedMessage,
  goalMessage,
  largerGoalMessage,
  nudgeHint,
  nudgeMessages,
  pursuitParts,
  stateMessage,
  waitingMessage,
} from '../context/prompt.ts'
import { recallMemories } from '../context/recall.ts'
import { sectionsFor } from '../context/sections.ts'
import { lastGoals, withCheckedResults } from '../context/situation.ts'
import { ActiveGoal, type GoalRow, type PursuedGoal, toolResult } from '../contract.ts'
import { abandonGoal, mayRun } from '../goals.ts'
import {
  awaitedGoals,
  beginDeferredCall,
  type CurrentGoal,
  deferCalls,
  dropTranscript,
  findGoal,
  goalAtHand,
  loadTranscript,
  markSubgoalsReported,
  nudgesSince,
  parkGoal,
  recordAnswer,
  recordOutcome,
  subgoalsOf,
  unansweredCalls,
  unreportedSubgoals,
} from '../repository.ts'
import { clearFailure, goalEnding, recordSpend, restAfter } from './outcome.ts'
import { Plan, planReminder, UPDATE_PLAN } from './plan.ts'
import { isRefusedAgain } from './refusals.ts'
import { Summaries } from './summary.ts'
import { Transcript } from './transcript.ts'
import type { TranscriptCache } from './transcript-cache.ts'

/** Memories of what happened to an agent outside of its work; a pursuit recalls them only as a part of its inner life. */
const LIFE_EVENTS = { kind: 'life_event' }
/** Heading of ended goals that may belong to other agents. */
const AWAITED_ENDED = 'Goals that this goal waited for have ended:'

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
  // The next cycle would repeat the same calls, so the agent rests as after a failure, longer each time.
  if (end.status === 'repeating')
    throw end.problem ? new UnusableAnswersError({ problem: end.problem }) : new RepeatingError({ calls: end.calls })
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

const RepeatingError = defineError({
  code: 'repeating',
  status: 500,
  title: 'Repeated tool calls',
  message: (p: { calls: string }) =>
    `The agent made the same calls three times in a row, with the same result: ${p.calls}.`,
})

const UnusableAnswersError = defineError({
  code: 'unusable_answers',
  status: 502,
  title: 'Unusable answers',
  message: (p: { problem: string }) => `The agent cannot go on: ${p.problem}`,
})

function userMessage(content: string, images: readonly ImageRef[] = []): Message {
  return { role: 'user', content, ...imagesOf(images) }
}

/** A message that goes stale; summaries do not keep it as something the operator said. */
function noticeMessage(content: string): Message {
  return { role: 'user', content, is_notice: true }
}

const NOTHING_OPEN = { unanswered: new Map<string, string>(), waiting: new Set<string>(), planned: new Set<string>() }

/** Workspaces known to exist, for each project of this process. */
const made = new WeakMap<PluginHandle, Set<string>>()

class Pursuit {
  readonly #svc: PluginHandle
  readonly #config: GoalsConfig
  readonly #cycle: Cycle
  readonly #goal: PursuedGoal
  readonly #cache: TranscriptCache
  readonly #summaries: Summaries
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
  /** Ids of nudges, and of ended subgoals, in the prompt of the current model call. */
  #reading: string[] = []
  #reportedGoals: string[] = []
  /** Whether this cycle has read the agent's state. */
  #hasReadState = false
  /** The writes that mark the messages of that prompt as read. */
  #acknowledgements: readonly Effect[] = []
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
    this.#summaries = new Summaries(svc, config, cycle, goal, () => this.#transcript)
  }

  async run(): Promise<RunEnd> {
    const store = this.#svc.use(Store)
    const { goal_id } = this.#goal
    const begun = this.#goal.steps_completed > 0
    const open = begun ? await unansweredCalls(store, goal_id) : NOTHING_OPEN
    // Calls that wait for the operator are continued even without `pursuit_resume`.
    if (begun && (this.#config.pursuit_resume || open.waiting.size > 0)) {
      this.#transcript = await this.#loadTranscript()
    } else if (begun) await this.#cycle.save([dropTranscript({ goal_id })])
    const { status } = assemblyOf(this.#cycle).agent
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
      newMessages: () => this.#news(),
      gate: (call, tool, check) => this.#gate(call, tool, check),
      objection: claim => claimCheck.objection(claim),
      yields: () => this.#yields(),
      waits: text => this.#waits(text),
      mayBegin: () => this.#mayBegin(),
      defer: calls => this.#save([deferCalls({ call_ids: calls.map(({ call_id }) => call_id) })]),
    }
  }

  /** The model to call, and the purpose of the call. */
  get #called(): Pick<RunRequest, 'model' | 'purpose'> {
    const { agent, profile } = assemblyOf(this.#cycle)
    const { agent_id, cycle_num } = this.#cycle
    const { root_agent_id } = agent
    const { max_cost_usd, max_total_cost_usd } = profile
    const payer = { root_agent_id, max_cost_usd, max_total_cost_usd }
    return {
      model: agent.model || profile.model || null,
      purpose: { agent_id, goal_id: this.#goal.goal_id, cycle_num, kind: 'goal_pursuit', ...payer },
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

  /** Returns new messages: the goal at the beginning, and those of the operator between two steps. */
  async #news(): Promise<Message[]> {
    const { agent_id, goal_id } = this.#goal
    const all = this.#atHand?.nudged ? await this.#svc.use(Agents).waitingNudges(agent_id) : []
    const { nudges, waiting } = await fitNudges(this.#svc, all, this.#called)
    this.#reading = nudges.map(nudge => nudge.nudge_id)
    const messages = await Promise.all(nudges.map(({ message }) => sanitizeNudge(this.#svc, agent_id, message)))
    const ended = this.#atHand?.unreported ? await unreportedSubgoals(this.#svc.use(Store), goal_id) : []
    this.#reportedGoals = ended.map(goal => goal.goal_id)
    const news = await pendingMessagesFor(this.#svc, agent_id, goal_id, this.#atHand?.wakes ?? 0)
    this.#acknowledgements = news.acknowledgements
    const texts = news.texts.map(text => ({
      ...userMessage(text),
      ...(news.reports.includes(text) ? { is_report: true } : {}),
    }))
    const first = this.#transcript.messages.length === 0 ? [await this.#opening(messages)] : []
    const heading = ended.every(goal => goal.agent_id === agent_id) ? 'Subgoals have ended:' : AWAITED_ENDED
    const state = (await this.#newState()) ?? []
    const subgoals = ended.length > 0 ? [await this.#endedMessage(heading, ended)] : []
    const plan = planReminder(readPlan(this.#goal.plan), this.#transcript.messages) ?? []
    const tools = () => this.#svc.use(Runtime).toolsFor(assemblyOf(this.#cycle).profile)
    const operator = nudgeMessages(messages).map((text, n) => userMessage(text, nudges[n]!.images))
    const hint = nudgeHint(messages, tools)
    const more = waiting > 0 ? [waitingMessage(waiting)] : []
    const blocked = this.#atHand?.blocked && texts.length + operator.length > 0 ? [await this.#blockedMessage()] : []
    const notices = [state, plan, ...subgoals].flat().map(noticeMessage)
    return [...first, ...notices, ...texts, ...operator, ...[...hint, ...more, ...blocked].map(noticeMessage)]
  }

  /** Says that a goal still waits, although its agent is asked to read messages. */
  async #blockedMessage(): Promise<string> {
    const { agent_id, goal_id } = this.#goal
    const awaited = await awaitedGoals(this.#svc.use(Store), goal_id)
    return blockedMessage(listAwaited(agent_id, awaited) || (await describeParked(this.#svc, goal_id)))
  }

  /** Returns the agent's state at the beginning of a cycle, if it is not in the conversation. */
  async #newState(): Promise<string | undefined> {
    if (this.#hasReadState) return undefined
    this.#hasReadState = true
    const { agent, profile } = assemblyOf(this.#cycle)
    const sections = await sectionsFor(this.#svc, 'goal_state', agent, profile)
    return stateMessage(profile, sections, this.#transcript.messages)
  }

  /** @param nudges messages of the operator that follow this one */
  async #opening(nudges: readonly string[]): Promise<Message> {
    const { agent, profile } = assemblyOf(this.#cycle)
    const goal = this.#goal
    const causes = goal.messages === null ? [] : (JSON.parse(goal.messages) as string[])
    const before = goal.follows ? await goalsBefore(this.#svc.use(Store), goal.goal_id) : []
    const ended = before.length > 0 ? [await this.#endedMessage(AWAITED_ENDED, before)] : []
    const sections = await sectionsFor(
      this.#svc,
      'goal_opening',
      agent,
      profile,
      { nudges: [...causes, ...nudges] },
      goal,
    )
    const memories = await this.#recallMemories()
    const last = goal.origin === 'operator' && goal.has_earlier ? await this.#lastGoals(before, memories) : []
    const earlier = goal.was_nudged && goal.origin !== 'subgoal'
    const context = [
      ...(earlier ? [await earlierMessages(this.#svc, goal.agent_id, goal.created_at)] : []),
      ...(await this.#causes(causes)),
      ...(await this.#largerGoal()),
      ...ended,
      ...last,
      ...sections.map(({ text }) => text),
    ]
    return userMessage(goalMessage(goal, context, memories, this.#svc.clock.ms()), readImages(goal.images))
  }

  /** Names the agent's last goals, because an operator's goal may refer to them. */
  async #lastGoals(before: readonly GoalRow[], memories: readonly string[]): Promise<string[]> {
    const { agent_id } = this.#goal
    const goals = await lastGoals(this.#svc, agent_id, memories, before)
    return goals.length > 0 ? [endedMessage('Your last goals, newest first:', goals, agent_id)] : []
  }

  /** Repeats the messages that led to the goal, because its objective is only one sentence. */
  async #causes(messages: readonly string[]): Promise<string[]> {
    if (messages.length === 0) return []
    const read = messages.map(message => ({ message }))
    const { nudges, waiting } = await fitNudges(this.#svc, read, this.#called)
    return [
      causesMessage(
        nudges.map(({ message }) => message),
        waiting,
      ),
    ]
  }

  /** Describes the goal that this one is a part of, and what the operator said meanwhile; empty for other goals. */
  async #largerGoal(): Promise<string[]> {
    const { agent_id, goal_id, origin, parent_goal_id } = this.#goal
    if (origin !== 'subgoal' || parent_goal_id === null) return []
    const store = this.#svc.use(Store)
    const larger = await findGoal(store, parent_goal_id)
    if (!larger) return []
    const parts = await withCheckedResults(this.#svc, agent_id, await subgoalsOf(store, parent_goal_id))
    const { nudges } = await fitNudges(this.#svc, await nudgesSince(store, agent_id, larger.created_at), this.#called)
    const messages = nudges.map(({ message }) => sanitizeNudge(this.#svc, agent_id, message, true))
    return [largerGoalMessage(larger, goal_id, parts, await Promise.all(messages), this.#svc.clock.ms())]
  }

  async #endedMessage(heading: string, goals: readonly GoalRow[]): Promise<string> {
    const { agent_id } = this.#goal
    return endedMessage(heading, await withCheckedResults(this.#svc, agent_id, goals), agent_id)
  }

  #recallMemories(): Promise<string[]> {
    const { agent_id, objective } = this.#goal
    const hasEconomy = assemblyOf(this.#cycle).profile.inner_life.includes('economy')
    return recallMemories(this.#svc, agent_id, objective, true, hasEconomy ? undefined : LIFE_EVENTS)
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
    const read = this.#reading.length > 0 ? [this.#svc.use(Agents).nudgesDelivered(this.#reading)] : []
    const reported = this.#reportedGoals.length > 0 ? [markSubgoalsReported({ goal_ids: this.#reportedGoals })] : []
    const intents = calls.filter(({ name }) => name !== FINISH_GOAL).map(call => this.#intent(call))
    this.#unsaved.push(
      recordAnswer({ goal_id, agent_id, epoch: this.#cycle.lease.epoch, rows, kept, intents }),
      recordSpend(this.#cycle, 'goal_pursuit', goal_id, spend, event.step),
      ...read,
      ...reported,
      ...this.#acknowledgements,
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
