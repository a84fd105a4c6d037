import { Agents, NUDGES_AT_ONCE } from '#core/agents/contract'
import type { ImageRef } from '#core/images/contract'
import { lineOf } from '#core/memory/contract'
import { ModelError, type Spend } from '#core/models/contract'
import { Runtime } from '#core/runtime/contract'
import { defineError, describeIssues, issuesOf, type PluginHandle, z } from '#kernel'
import { recordInput } from '#lib/recording-context'
import type { Cycle } from '#platform/heartbeat/contract'
import { appendEvent, Store } from '#platform/store/contract'
import type { GoalsConfig } from '../config.ts'
import { assemblyOf } from '../context/assembly.ts'
import { pendingMessagesFor, sanitizeNudge } from '../context/guarded.ts'
import { earlierMessages } from '../context/nudges.ts'
import { lastAnswer, nudgeHint, nudgeMessages } from '../context/prompt.ts'
import { recallMemories } from '../context/recall.ts'
import { contextPartsFor, sectionsFor, toolsDescription } from '../context/sections.ts'
import { latestOfEach, withCheckedResults } from '../context/situation.ts'
import { type GeneratedGoal, type GoalContext, type GoalRow, GoalStrategies } from '../contract.ts'
import { clearFailure, recordSpend } from '../pursuit/outcome.ts'
import { isRefusedAgain } from '../pursuit/refusals.ts'
import { insertGoal, keepMessages, listGoals } from '../repository.ts'
import { EXISTENCE_LOOP, UNREADABLE } from './existence.ts'
import {
  isAsleep,
  modelOf,
  type NoGoal,
  readIdleState,
  restAfterFailures,
  sleepLonger,
  sleepsOn,
  sleepUntilChanged,
  wokeUp,
} from './idle.ts'
import { isSameGoal } from './sameness.ts'

/**
 * Number of recent goals in the prompt, of those without a result that follow them, so that the agent does not repeat
 * what it did days ago, and of goals read for both, because goals of a schedule repeat.
 */
const RECENT = 5
const EARLIER = 20
const EARLIER_CHARS = 150
const RECENT_READ = 40
const PEERS = 8
/** Characters of the last objective that are added to the role in the memory query. */
const ABOUT = 80
/** Minimum and maximum length of an objective, in characters. */
const SHORTEST = 10
const LONGEST = 500

const UnreadableAnswerError = defineError({
  code: 'goal_unreadable',
  status: 502,
  title: 'Unreadable goal',
  message: (p: { problem: string }) => `${p.problem} Messages to the agent stay unread until it does.`,
})

const UnusableGoalError = defineError({
  code: 'goal_unusable',
  status: 502,
  title: 'Unusable goal',
  message: (p: { refusal: string }) =>
    `The goal that was chosen cannot be used: ${p.refusal}. Messages to the agent stay unread until a valid one is chosen.`,
})

/** A valid answer of a strategy; any other answer counts as no goal. */
const Generated = z.object({
  objective: z.string().max(100_000).nullable(),
  reasoning: z.string().max(20_000).optional(),
  no_duplicates: z.boolean().optional(),
  cost_usd: z.number().min(0).default(0),
  tokens: z.int().min(0).default(0),
})

/** `goal_generation`: asks the strategies for a goal, and accepts it when it is new and well-formed. */
export async function generate(svc: PluginHandle, config: GoalsConfig, cycle: Cycle): Promise<void> {
  const { agent_id } = cycle
  // Read before any message, so that messages from now on wake the agent.
  const standing = await readIdleState(svc, sleeperOf(cycle))
  // This runs at each heartbeat of idle agents, so it loads nothing that only strategies need.
  if (isAsleep(svc, config, standing) && (await recordInput('asleep', () => sleepsOn(svc, agent_id)))) {
    cycle.effects.push(...clearFailure(svc, cycle))
    return
  }
  const store = svc.use(Store)
  const agents = svc.use(Agents)
  const nudges = standing.nudged ? await agents.waitingNudges(agent_id) : []
  const orders = await Promise.all(nudges.map(nudge => sanitizeNudge(svc, agent_id, nudge.message)))
  const images = nudges.flatMap(nudge => nudge.images)
  const unread = await pendingMessagesFor(svc, agent_id, null, standing.wakes)
  const newest = await listGoals(store, agent_id, { limit: RECENT_READ })
  // Without messages nothing is lost: the agent sleeps as where there is nothing to do.
  const hasMessages = nudges.length + unread.texts.length > 0
  const rest = hasMessages ? undefined : restAfterFailures(svc, config, cycle, standing, newest)
  if (rest) {
    cycle.effects.push(rest, ...clearFailure(svc, cycle))
    return
  }
  const others = unread.texts.filter(text => !unread.orders.includes(text))
  const context = await contextFor(svc, cycle, standing, [...orders, ...unread.orders], images, others, newest)
  const answer = await svc
    .ask<typeof GoalStrategies, GoalContext, GeneratedGoal>(GoalStrategies as never, context)
    .catch(error => {
      if (!isRefusedAgain(error, assemblyOf(cycle).agent)) throw error
      return error
    })
  if (answer instanceof ModelError) {
    svc.log.warn({ agent_id, cycle_num: cycle.cycle_num, code: 'goal_generation_refused' }, answer.message)
    cycle.effects.push(sleepUntilChanged(cycle, standing, answer.message), ...clearFailure(svc, cycle))
    return
  }
  // The cost is booked even when the goal is refused.
  if (answer) cycle.effects.push(...spendOf(cycle, answer))
  if (answer?.is_unreadable && hasMessages) throw new UnreadableAnswerError({ problem: answer.reasoning ?? UNREADABLE })
  // Messages may ask for a goal again, and stand beside one that is too short to be understood alone.
  const limits = hasMessages ? NO_LIMITS : { shortest: SHORTEST, recent: context.recent_goals.slice(0, RECENT) }
  const goal = newGoal(svc, cycle, answer, limits)
  if (goal.refusal !== undefined && hasMessages) throw new UnusableGoalError({ refusal: goal.refusal })
  if (nudges.length > 0) cycle.effects.push(agents.nudgesDelivered(nudges.map(nudge => nudge.nudge_id)))
  // More messages may wait than one prompt holds.
  if (nudges.length === NUDGES_AT_ONCE) cycle.run_at = svc.clock.ms()
  cycle.effects.push(...unread.acknowledgements, ...clearFailure(svc, cycle))
  if (goal.objective === null || goal.refusal !== undefined) {
    const { objective: refused, reasoning, refusal } = goal
    if (refused !== null && refusal) {
      const data = { agent_id, objective: refused, reason: refusal }
      cycle.effects.push(appendEvent({ type: 'goal_refused', agent_id, data }))
    }
    const heardAll = nudges.length < NUDGES_AT_ONCE && !unread.more
    const noGoal = { said: refusal ?? reasoning, refused }
    if (heardAll) cycle.effects.push(...sleepLonger(svc, config, cycle, standing, noGoal))
    return
  }
  const goal_id = svc.ports.ids.make('goal', 12)
  const { objective, reasoning } = goal
  const tools = () => svc.use(Runtime).toolsFor(assemblyOf(cycle).profile)
  const messages = [...nudgeMessages(orders), ...nudgeHint(orders, tools), ...unread.texts]
  cycle.effects.push(
    insertGoal({
      goal_id,
      agent_id,
      objective,
      priority: 4,
      origin: 'generated',
      reasoning,
      parent_goal_id: null,
      place: 0,
    }),
    ...(messages.length > 0 ? [keepMessages({ goal_id, messages, images })] : []),
    appendEvent({ type: 'goal_generated', agent_id, data: { agent_id, goal_id, objective } }),
    ...(standing.isRecorded ? [wokeUp({ agent_id })] : []),
  )
  cycle.result = 'generated'
  // The new goal is pursued at once, without waiting for the next heartbeat.
  cycle.run_at = svc.clock.ms()
}

function sleeperOf(cycle: Cycle) {
  const { agent, profile } = assemblyOf(cycle)
  return { agent_id: cycle.agent_id, profile, model: modelOf(agent, profile) }
}

const ASK_AGAIN =
  'Your last answer to this question could not be read. Answer with the JSON object alone: no other text, no tool call, and short thoughts.'

/** What a chosen goal must keep to. */
interface GoalLimits {
  /** Minimum length of the objective, in characters. */
  shortest: number
  /** Goals that must not be repeated. */
  recent: readonly GoalRow[]
}
const NO_LIMITS: GoalLimits = { shortest: 1, recent: [] }

interface Search {
  /** null when there is nothing to do. */
  objective: string | null
  reasoning: string | null
  /** Why the objective is refused. */
  refusal?: string
}

/** Returns the goal of a strategy's answer, and why it is refused, if it is. */
function newGoal(
  svc: PluginHandle,
  { agent_id, cycle_num }: Cycle,
  answer: GeneratedGoal | undefined,
  { shortest, recent }: GoalLimits,
): Search {
  const generated = Generated.safeParse(answer)
  if (answer && !generated.success) {
    const others = svc.contributions(GoalStrategies).filter(({ key }) => key !== EXISTENCE_LOOP)
    const names = others.map(({ key, owner }) => (key === owner ? key : `${key} of ${owner}`))
    const why = describeIssues(issuesOf(generated.error))
    svc.log.warn({ agent_id }, `the answer of the goal strategy ${names.join(' or ')} is not a valid goal: ${why}`)
  }
  const objective = generated.data?.objective?.trim().replace(/\s+/g, ' ') || null
  const reasoning = generated.data?.reasoning || null
  if (objective === null)
    return { objective, reasoning: reasoning?.trim().replace(/\s+/g, ' ').slice(0, LONGEST) || null }
  const refusal = faultOf(objective, { shortest, recent: generated.data?.no_duplicates ? [] : recent })
  if (refusal === undefined) return { objective, reasoning }
  svc.log.info({ agent_id, cycle_num }, `a generated goal was refused: ${refusal}`)
  return { objective: objective.slice(0, LONGEST), reasoning, refusal }
}

async function contextFor(
  svc: PluginHandle,
  cycle: Cycle,
  { last, wasNudged }: { last: NoGoal | undefined; wasNudged: boolean },
  nudges: readonly string[],
  images: readonly ImageRef[],
  news: readonly string[],
  newest: readonly GoalRow[],
): Promise<GoalContext> {
  const { agent, profile } = assemblyOf(cycle)
  const { agent_id, cycle_num, signal } = cycle
  const all = latestOfEach(newest).slice(0, RECENT + EARLIER)
  const recent = all.slice(0, RECENT)
  const about = `${agent.role || agent.name} ${recent[0]?.objective.slice(0, ABOUT) ?? ''}`
  const earlier_goals = all
    .slice(RECENT)
    .map(goal => ({ ...goal, objective: lineOf(goal.objective, EARLIER_CHARS), result: null }))
  const recent_goals = [...(await withCheckedResults(svc, agent_id, recent)), ...earlier_goals]
  // The prompt names these goals with their results.
  const named = newest.filter(({ objective }) => recent.some(goal => goal.objective === objective))
  const except = { kind: 'goal', goal_id: named.map(({ goal_id }) => goal_id) }
  const memory_snippets = await recallMemories(svc, agent_id, about, false, except)
  const known = { ...(await contextPartsFor(svc, agent, profile)), nudges, memory_snippets, recent_goals }
  const earlier = wasNudged ? await earlierMessages(svc, agent_id, svc.clock.ms()) : undefined
  return Object.assign({}, known, {
    agent_id,
    root_agent_id: agent.root_agent_id,
    cycle_num,
    signal,
    profile,
    images,
    news,
    sections: [
      ...(await sectionsFor(svc, 'goal_generation', agent, profile, known)),
      ...(earlier ? [{ name: 'earlier_messages', text: earlier }] : []),
      // The same request would get the same answer.
      ...(agent.error?.startsWith(UNREADABLE) ? [{ name: 'unreadable', text: ASK_AGAIN }] : []),
    ],
    model: modelOf(agent, profile),
    last_answer: last && lastAnswer(last),
    peer_summaries: await svc.use(Agents).peers(agent_id, PEERS),
    tools_description: toolsDescription(svc, profile),
  })
}

function spendOf(cycle: Cycle, answer: GeneratedGoal & { spend?: Spend }) {
  if (answer.spend) return [recordSpend(cycle, 'goal_generation', null, answer.spend)]
  const { cost_usd, tokens } = answer
  if (!(cost_usd > 0) && !(tokens > 0)) return []
  return [
    recordSpend(cycle, 'goal_generation', null, {
      call_id: `${cycle.agent_id}:${cycle.lease.epoch}:strategy`,
      model: 'strategy',
      cost_micros: Number.isFinite(cost_usd) ? Math.max(0, Math.ceil(cost_usd * 1e6)) : 0,
      input_tokens: Number.isInteger(tokens) && tokens > 0 ? tokens : 0,
      output_tokens: 0,
      priced: 'catalogue',
      estimated: false,
      attempts: 1,
      duration_ms: 0,
    }),
  ]
}

/** Returns why an objective is refused; undefined when it is accepted. */
function faultOf(objective: string, { shortest, recent }: GoalLimits): string | undefined {
  if (objective.length < shortest || objective.length > LONGEST)
    return `an objective must have ${shortest} to ${LONGEST} characters, and this one has ${objective.length}`
  const same = recent.find(goal => goal.status !== 'completed' && isSameGoal(goal.objective, objective))
  return same && `it repeats a goal that is ${same.status}`
}
