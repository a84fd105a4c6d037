import {
  type Cycle,
  type Due,
  describeIssues,
  type GeneratedGoal,
  type GoalContext,
  GoalStrategies,
  idsOf,
  issuesOf,
  type PluginHandle,
  taken,
  z,
} from '#kernel'
import { Agents, NUDGES_AT_ONCE } from '../agents/contract.ts'
import type { Spend } from '../models/contract.ts'
import { appendEvent, Store } from '../store/contract.ts'
import { assembled } from './assembly.ts'
import type { GoalsConfig } from './config.ts'
import type { GoalRow } from './contract.ts'
import { EXISTENCE_LOOP } from './existence.ts'
import { heard, newsFor } from './guarded.ts'
import { isAsleep, modelOf, restless, sleepLonger, sleepsOn, standingOf, wokeUp } from './idle.ts'
import { fared, spent } from './outcome.ts'
import { remembered } from './recall.ts'
import { insertGoal, listGoals } from './repository.ts'
import { partsFor, sectionsFor, toolsDescription } from './sections.ts'

const RECENT = 5
const PEERS = 8
/** Characters of the last objective by which the agent's memory is searched, beside its role. */
const ABOUT = 80

/** What a strategy may answer: anything else counts as no goal. */
const Generated = z.object({
  objective: z.string().max(100_000).nullable(),
  reasoning: z.string().max(20_000).optional(),
  cost_usd: z.number().min(0).default(0),
  tokens: z.number().int().min(0).default(0),
})

/** `goal_generation`: asks the strategies for something to do, and takes it when it is new and well-formed. */
export async function generate(svc: PluginHandle, config: GoalsConfig, cycle: Cycle): Promise<void> {
  const { agent_id } = cycle
  // Before it hears anything: what comes from now on wakes it.
  const standing = await standingOf(svc, sleeperOf(cycle))
  const asleep = isAsleep(svc, config, standing)
  // Who has nothing to do is found so at each heartbeat: without all that a strategy would be told, of which nobody asks.
  if (asleep && isLeftToItsModel(svc) && (await taken('asleep', () => sleepsOn(svc, agent_id)))) {
    cycle.effects.push(...fared(svc, cycle))
    return
  }
  const store = svc.use(Store)
  const agents = svc.use(Agents)
  const nudges = standing.nudged ? await agents.waitingNudges(agent_id) : []
  const news = await newsFor(svc, agent_id)
  const recent = await listGoals(store, agent_id, RECENT)
  const context = await contextFor(
    svc,
    cycle,
    await Promise.all(nudges.map(nudge => heard(svc, agent_id, nudge.message))),
    news.texts,
    recent,
    asleep,
  )
  const answer = await svc.ask<typeof GoalStrategies, GoalContext, GeneratedGoal>(GoalStrategies as never, context)
  // Booked first, and by itself: what was spent is spent, whatever becomes of the goal.
  const spend = answer ? spendOf(cycle, answer) : []
  if (spend.length > 0) await cycle.save(spend)
  if (nudges.length > 0) cycle.effects.push(agents.nudgesDelivered(nudges.map(nudge => nudge.nudge_id)))
  // There may be more than one prompt holds.
  if (nudges.length === NUDGES_AT_ONCE) cycle.run_at = svc.clock.ms()
  cycle.effects.push(...news.told, ...fared(svc, cycle))
  const goal = newGoal(svc, cycle, answer, recent)
  if (!goal) {
    const heardAll = nudges.length < NUDGES_AT_ONCE && !news.more
    if (answer?.asked && heardAll) cycle.effects.push(...sleepLonger(svc, config, cycle, standing))
    return
  }
  const goal_id = svc.ports.ids.make('goal', 12)
  const { objective, reasoning } = goal
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
    appendEvent({ type: 'goal_generated', agent_id, data: { agent_id, goal_id, objective } }),
    wokeUp({ agent_id }),
  )
  cycle.result = 'generated'
  // There is something to do now: no reason to wait for the next heartbeat.
  cycle.run_at = svc.clock.ms()
}

/** Of these agents, those for whom somebody may be asked for something to do. */
export async function mayGenerate(svc: PluginHandle, config: GoalsConfig, due: readonly Due[]): Promise<string[]> {
  return isLeftToItsModel(svc) ? restless(svc, config, due) : idsOf(due)
}

/** No plugin's strategy is asked first: those are asked at each heartbeat. */
function isLeftToItsModel(svc: PluginHandle): boolean {
  const [first, ...others] = svc.list(GoalStrategies)
  return first?.name === EXISTENCE_LOOP && others.length === 0
}

function sleeperOf(cycle: Cycle) {
  const { agent, profile } = assembled(cycle)
  return { agent_id: cycle.agent_id, profile, model: modelOf(agent, profile) }
}

/** What a strategy answered, if it is a goal and worth taking. */
function newGoal(
  svc: PluginHandle,
  { agent_id, cycle_num }: Cycle,
  answer: GeneratedGoal | undefined,
  recent: readonly GoalRow[],
): { objective: string; reasoning: string | null } | undefined {
  const generated = Generated.safeParse(answer)
  if (answer && !generated.success) {
    const others = svc.contributions(GoalStrategies).filter(({ key }) => key !== EXISTENCE_LOOP)
    const names = others.map(({ key, owner }) => (key === owner ? key : `${key} of ${owner}`))
    const why = describeIssues(issuesOf(generated.error))
    svc.log.warn({ agent_id }, `goal strategy ${names.join(' or ')} answered what is no goal: ${why}`)
  }
  const objective = generated.data?.objective?.trim().replace(/\s+/g, ' ')
  if (!objective) return undefined
  const fault = faultOf(objective, recent)
  if (!fault) return { objective, reasoning: generated.data?.reasoning ?? null }
  svc.log.info({ agent_id, cycle_num }, `a generated goal was not taken: ${fault}`)
  return undefined
}

async function contextFor(
  svc: PluginHandle,
  cycle: Cycle,
  nudges: readonly string[],
  news: readonly string[],
  recent: readonly GoalRow[],
  asleep: boolean,
): Promise<GoalContext> {
  const { agent, profile } = assembled(cycle)
  const { agent_id, cycle_num, signal } = cycle
  const about = `${agent.role || agent.name} ${recent[0]?.objective.slice(0, ABOUT) ?? ''}`
  const known = await partsFor(svc, agent, profile)
  return Object.assign({}, known, {
    agent_id,
    cycle_num,
    signal,
    profile,
    asleep,
    nudges,
    news,
    sections: await sectionsFor(svc, 'goal_generation', agent, profile, known),
    model: modelOf(agent, profile),
    recent_goals: recent,
    peer_summaries: await svc.use(Agents).peers(agent_id, PEERS),
    memory_snippets: await remembered(svc, agent_id, about, false),
    tools_description: toolsDescription(svc, profile),
  })
}

function spendOf(cycle: Cycle, answer: GeneratedGoal & { spend?: Spend }) {
  if (answer.spend) return [spent(cycle, 'goal_generation', null, answer.spend)]
  const { cost_usd, tokens } = answer
  if (!(cost_usd > 0) && !(tokens > 0)) return []
  return [
    spent(cycle, 'goal_generation', null, {
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

/** Why an objective is not taken; undefined when it is. */
function faultOf(objective: string, recent: readonly Pick<GoalRow, 'objective' | 'status'>[]): string | undefined {
  if (objective.length < 10 || objective.length > 500) return 'an objective has 10 to 500 characters'
  const words = wordsOf(objective)
  for (const goal of recent) {
    if (goal.objective.toLowerCase() === objective.toLowerCase()) return 'it repeats a recent goal'
    // To answer another message is another goal.
    if (messageIn(objective) !== messageIn(goal.objective)) continue
    const others = wordsOf(goal.objective)
    const shared = [...words].filter(word => others.has(word)).length
    if (shared / Math.max(words.size, others.size, 1) > 0.8) return 'it is nearly a recent goal again'
  }
  return undefined
}

function messageIn(objective: string): string | undefined {
  return /\bmsg-[\w-]+/.exec(objective)?.[0]
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])
}
