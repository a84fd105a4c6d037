import type { AgentRow } from '#core/agents/contract'
import { lineOf } from '#core/memory/contract'
import type { PluginHandle } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { recordInput } from '#lib/recording-context'
import { Store } from '#platform/store/contract'
import { readPlan, waitsOf } from '../acceptance/terms-repository.ts'
import type { GoalRow } from '../contract.ts'
import { planLines, progressOf } from '../pursuit/plan.ts'
import { lastEndedGoals, lastWords, listGoals } from '../repository.ts'
import { waitOf } from './assembly.ts'
import { redactIncoming } from './guarded.ts'
import { endedMessage, memoriesMessage } from './prompt.ts'
import { recallMemories } from './recall.ts'

/** Number of an agent's last goals that a prompt names, and of those read, because those of a schedule repeat. */
const [LAST_GOALS, LAST_READ] = [3, 20]
/** Number of its active goals that it names. */
const ACTIVE_GOALS = 5
/** Maximum length of the objective and of the result of one of them, in characters. */
const LAST_GOAL_CHARS = 200
/** Number of characters by which an objective is recognized in a memory, which may show less of it than its goal. */
const KNOWN_CHARS = 100
/** Maximum length of a plan, in characters. */
const PLAN_CHARS = 1_000

/**
 * Describes an agent's active goals, its last ones, and what it remembers of a text, for prompts outside of its goals;
 * undefined where there is nothing.
 */
export async function situationOf(
  svc: PluginHandle,
  { agent_id, goal_id, paused_at }: AgentRow,
  about: string,
): Promise<string | undefined> {
  const store = svc.use(Store)
  // Recorded, because the daemon goes on with the goals in another process.
  const { active, more, ended } = await recordInput('goals of the agent', async () => ({
    ...(goal_id === null ? { active: [], more: 0 } : await activeLines(svc, agent_id)),
    ended: await lastOfEach(store, agent_id),
  }))
  const memories = await recallMemories(svc, agent_id, about, false)
  const goals = [...active, ...(await shortenGoals(svc, agent_id, ended, memories))]
  const notes = [more > 0 && `${more} more are active`, paused_at !== null && 'you are paused, so none is pursued']
  const noted = notes.filter(Boolean).join('; ')
  const heading = `Your goals, the active ones first${noted ? ` (${noted})` : ''}:`
  const parts = [goals.length > 0 && endedMessage(heading, goals, agent_id), memoriesMessage(memories)]
  return parts.filter(Boolean).join('\n\n') || undefined
}

/** Returns an agent's active goals with their ids and progress, those first that are pursued first, and how many more. */
async function activeLines(svc: PluginHandle, agent_id: string) {
  const goals = await listGoals(svc.use(Store), agent_id, { order: 'oldest' }, { status: 'active' })
  const shown = goals.toSorted((a, b) => b.priority - a.priority).slice(0, ACTIVE_GOALS)
  const waits = await waitsOf(
    svc,
    shown.map(({ goal_id }) => goal_id),
  )
  const lines = shown.map(async goal => ({
    ...goal,
    objective: `${goal.goal_id}: ${lineOf(goal.objective, LAST_GOAL_CHARS)}`,
    result: progressLine(
      goal,
      waitOf(agent_id, waits(goal.goal_id), "the person's"),
      await lastWords(svc.use(Store), goal.goal_id),
    ),
  }))
  const active = await Promise.all(lines)
  return { active, more: goals.length - shown.length }
}

function progressLine({ steps_completed, plan }: GoalRow, waits_for: string | null, words: string | undefined): string {
  const parts = readPlan(plan)
  const { steps, done } = progressOf(parts)
  const lines = lineOf(planLines(parts).join('; '), PLAN_CHARS)
  const planned = steps > 0 ? `, ${done} of ${steps} parts of the plan done: ${lines}` : ''
  const waits = waits_for === null ? '' : `; it waits for ${waits_for}`
  const wrote = words === undefined ? '' : `; you wrote last: ${lineOf(words, LAST_GOAL_CHARS)}`
  return `${pluralize(steps_completed, 'step')} so far${waits}${planned}${wrote}`
}

/**
 * Returns an agent's last ended goals, newest first, shortened and with checked results. Leaves out results that a
 * memory of the same prompt holds.
 * @param others goals that the prompt names already
 */
export async function lastGoals(
  svc: PluginHandle,
  agent_id: string,
  memories: readonly string[],
  others: readonly GoalRow[] = [],
): Promise<GoalRow[]> {
  const ended = await lastOfEach(svc.use(Store), agent_id)
  const further = ended.filter(goal => others.every(({ goal_id }) => goal_id !== goal.goal_id))
  return shortenGoals(svc, agent_id, further, memories)
}

async function lastOfEach(store: Store, agent_id: string): Promise<GoalRow[]> {
  return latestOfEach(await lastEndedGoals(store, agent_id, LAST_READ)).slice(0, LAST_GOALS)
}

/** Returns goals without those whose objective a newer one has. */
export function latestOfEach(newestFirst: readonly GoalRow[]): GoalRow[] {
  return newestFirst.filter(
    (goal, place) => newestFirst.findIndex(({ objective }) => objective === goal.objective) === place,
  )
}

function shortenGoals(svc: PluginHandle, agent_id: string, ended: readonly GoalRow[], memories: readonly string[]) {
  const goals = ended.map(goal => {
    const objective = lineOf(goal.objective, LAST_GOAL_CHARS)
    const result = goal.result && lineOf(goal.result, LAST_GOAL_CHARS)
    const known = [objective.slice(0, KNOWN_CHARS), result ?? ''].map(text => text.replace(/…$/, ''))
    const isRemembered = memories.some(line => known.every(text => line.includes(text)))
    return { ...goal, objective, result: isRemembered ? null : result }
  })
  return withCheckedResults(svc, agent_id, goals)
}

/** Cleans and checks results, because other agents may have done the work. */
export function withCheckedResults(svc: PluginHandle, reader: string, goals: readonly GoalRow[]): Promise<GoalRow[]> {
  return Promise.all(
    goals.map(async goal => ({ ...goal, result: goal.result && (await redactIncoming(svc, reader, goal.result)) })),
  )
}
