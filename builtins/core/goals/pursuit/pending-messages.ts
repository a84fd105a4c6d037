import { Agents } from '#core/agents/contract'
import { type ImageRef, imagesOf, readImages } from '#core/images/contract'
import type { Message } from '#core/models/contract'
import { type RunRequest, Runtime } from '#core/runtime/contract'
import type { Effect, PluginHandle } from '#kernel'
import type { Cycle } from '#platform/heartbeat/contract'
import { Store } from '#platform/store/contract'
import { goalsBefore, readPlan } from '../acceptance/terms-repository.ts'
import { assemblyOf, listAwaited } from '../context/assembly.ts'
import { pendingMessagesFor, sanitizeNudge } from '../context/guarded.ts'
import { earlierMessages, fitNudges } from '../context/nudges.ts'
import { describeParked } from '../context/open-work.ts'
import {
  blockedMessage,
  causesMessage,
  endedMessage,
  goalMessage,
  largerGoalMessage,
  nudgeHint,
  nudgeMessages,
  stateMessage,
  waitingMessage,
} from '../context/prompt.ts'
import { recallMemories } from '../context/recall.ts'
import { sectionsFor } from '../context/sections.ts'
import { lastGoals, withCheckedResults } from '../context/situation.ts'
import type { GoalRow, PursuedGoal } from '../contract.ts'
import {
  awaitedGoals,
  CRITERIA_CHANGED,
  type CurrentGoal,
  findGoal,
  markSubgoalsReported,
  nudgesSince,
  subgoalsOf,
  unreportedSubgoals,
} from '../repository.ts'
import { planReminder } from './plan.ts'

/** Memories of what happened to an agent outside of its work; a pursuit recalls them only as a part of its inner life. */
const LIFE_EVENTS = { kind: 'life_event' }
/** Heading of ended goals that may belong to other agents. */
const AWAITED_ENDED = 'Goals that this goal waited for have ended:'

/** The model that is called, and the purpose of the calls. */
export type Called = Pick<RunRequest, 'model' | 'purpose'>

/** The messages of a pursuit that come from outside its loop: the goal with its context, nudges, reports and notices. */
export class PendingMessages {
  readonly #svc: PluginHandle
  readonly #cycle: Cycle
  readonly #goal: PursuedGoal
  readonly #called: Called
  /** Ids of nudges, and of ended subgoals, in the last messages. */
  #nudges: string[] = []
  #reportedGoals: string[] = []
  /** The writes that mark messages of other modules among them as read. */
  #acknowledgements: readonly Effect[] = []
  /** Whether this cycle has read the agent's state. */
  #hasReadState = false

  /** @param called reads the messages */
  constructor(svc: PluginHandle, cycle: Cycle, goal: PursuedGoal, called: Called) {
    this.#svc = svc
    this.#cycle = cycle
    this.#goal = goal
    this.#called = called
  }

  /**
   * Returns the messages for the next model call: the goal at the beginning, and those of the operator between two
   * steps.
   * @param current state of the goal, read before the call
   */
  async gather(transcript: readonly Message[], current: CurrentGoal | undefined): Promise<Message[]> {
    const { agent_id, goal_id } = this.#goal
    const all = current?.nudged ? await this.#svc.use(Agents).waitingNudges(agent_id) : []
    const { nudges, waiting } = await fitNudges(this.#svc, all, this.#called)
    this.#nudges = nudges.map(nudge => nudge.nudge_id)
    const messages = await Promise.all(nudges.map(({ message }) => sanitizeNudge(this.#svc, agent_id, message)))
    const ended = current?.unreported ? await unreportedSubgoals(this.#svc.use(Store), goal_id) : []
    this.#reportedGoals = ended.map(goal => goal.goal_id)
    const unread = await pendingMessagesFor(this.#svc, agent_id, goal_id, current?.wakes ?? 0)
    this.#acknowledgements = unread.acknowledgements
    const texts = unread.texts.map(text => ({
      ...userMessage(text),
      ...(unread.reports.includes(text) ? { is_report: true } : {}),
    }))
    const first = transcript.length === 0 ? [await this.#opening(messages)] : []
    const heading = ended.every(goal => goal.agent_id === agent_id) ? 'Subgoals have ended:' : AWAITED_ENDED
    const state = (await this.#newState(transcript)) ?? []
    const subgoals = ended.length > 0 ? [await this.#endedMessage(heading, ended)] : []
    const plan = planReminder(readPlan(this.#goal.plan), transcript) ?? []
    const tools = () => this.#svc.use(Runtime).toolsFor(assemblyOf(this.#cycle).profile)
    const operator = nudgeMessages(messages).map((text, n) => userMessage(text, nudges[n]!.images))
    // Criteria ask nothing, and the tools that the hint names would change the beginning of the prompt.
    const orders = messages.filter(text => !text.startsWith(CRITERIA_CHANGED))
    const hint = nudgeHint(orders, tools)
    const more = waiting > 0 ? [waitingMessage(waiting)] : []
    const blocked = current?.blocked && texts.length + operator.length > 0 ? [await this.#blockedMessage()] : []
    const notices = [state, plan, ...subgoals].flat().map(noticeMessage)
    return [...first, ...notices, ...texts, ...operator, ...[...hint, ...more, ...blocked].map(noticeMessage)]
  }

  /** Returns the writes that mark the last messages as read; they are stored with the model's answer to them. */
  markRead(): Effect[] {
    return [
      ...(this.#nudges.length > 0 ? [this.#svc.use(Agents).nudgesDelivered(this.#nudges)] : []),
      ...(this.#reportedGoals.length > 0 ? [markSubgoalsReported({ goal_ids: this.#reportedGoals })] : []),
      ...this.#acknowledgements,
    ]
  }

  /** Says that a goal still waits, although its agent is asked to read messages. */
  async #blockedMessage(): Promise<string> {
    const { agent_id, goal_id } = this.#goal
    const awaited = await awaitedGoals(this.#svc.use(Store), goal_id)
    return blockedMessage(listAwaited(agent_id, awaited) || (await describeParked(this.#svc, goal_id)))
  }

  /** Returns the agent's state at the beginning of a cycle, if it is not in the conversation. */
  async #newState(transcript: readonly Message[]): Promise<string | undefined> {
    if (this.#hasReadState) return undefined
    this.#hasReadState = true
    const { agent, profile } = assemblyOf(this.#cycle)
    const sections = await sectionsFor(this.#svc, 'goal_state', agent, profile)
    return stateMessage(profile, sections, transcript)
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
}

function userMessage(content: string, images: readonly ImageRef[] = []): Message {
  return { role: 'user', content, ...imagesOf(images) }
}

/** A message that goes stale; summaries do not keep it as something the operator said. */
function noticeMessage(content: string): Message {
  return { role: 'user', content, is_notice: true }
}
