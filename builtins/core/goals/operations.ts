import { AgentDeadError, AgentNotFoundError, AgentRef, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { ConflictError, defineError, type Effect, InvalidInputError, operation, type PluginHandle, z } from '#kernel'
import { idSchema } from '#lib/id-schema'
import { Page } from '#lib/list'
import { oneLine } from '#lib/sanitize'
import {
  appendEvent,
  DatedPage,
  Instant,
  isoTime,
  type ListWindow,
  Store,
  usdOf,
  wakeAgents,
} from '#platform/store/contract'
import { CommandError } from '#tools/toolkits/shell/contract'
import { criteriaLines, refuseUncheckable } from './acceptance/acceptance.ts'
import { readAcceptance, replaceAcceptance, uncheckedTerms } from './acceptance/repository.ts'
import { readPlan, setTerms, type WaitsFor, waitsOf } from './acceptance/terms-repository.ts'
import { waitOf } from './context/assembly.ts'
import {
  ACCEPTANCE_OPTIONS,
  Acceptance,
  Goal,
  GoalEndedError,
  GoalNotFoundError,
  type GoalRow,
  Goals,
  TooManySubgoalsError,
} from './contract.ts'
import { parentFor } from './goals.ts'
import {
  activeGoals,
  CRITERIA_CHANGED,
  findGoal,
  type GoalFilter,
  type GoalSpend,
  listGoals,
  numberOfGoals,
  setPriority,
  spendOf,
} from './repository.ts'
import { line, renderGoal } from './views/render.ts'

const id = AgentRef
const goalId = idSchema("A goal's id", 'goal-9c8b7a6d5e4f')
const priority = z.int().min(1).max(10).describe('Priority from 1 to 10; higher goes first')
const acceptance = z
  .array(Acceptance)
  .max(20)
  .describe(
    'Criteria that must be met before the goal counts as reached; checked when the agent reports it as finished',
  )
const reason = z.string().max(1000).optional().describe('Reason, for the record')

const NameAGoalError = defineError({
  code: 'name_a_goal',
  status: 422,
  exit: 2,
  title: 'Goal not specified',
  message: () => 'Name a goal (goal_id) or an agent (--agent), or use --all.',
})

const NothingToChangeInGoalError = defineError({
  code: 'nothing_to_change_in_goal',
  status: 422,
  exit: 2,
  title: 'Nothing to change',
  message: () => 'Set priority or acceptance. On the command line: at least one --accept-… option.',
})

async function goalsOf(svc: PluginHandle, ref: string, page?: ListWindow, filter?: GoalFilter) {
  const { agent_id } = await svc.use(Agents).find(ref)
  return toGoalDetails(svc, await listGoals(svc.use(Store), agent_id, page, filter))
}

async function goalOf(svc: PluginHandle, ref: string): Promise<GoalRow> {
  const row = await findGoal(svc.use(Store), ref)
  if (!row) throw new GoalNotFoundError({ ref })
  return row
}

async function toGoalDetails(svc: PluginHandle, rows: readonly GoalRow[]) {
  const ids = rows.map(({ goal_id }) => goal_id)
  const [waits, spends] = await Promise.all([waitsOf(svc, ids), spendOf(svc.use(Store), ids)])
  return rows.map(row => goalView(row, waits(row.goal_id), spends.get(row.goal_id)))
}

const readGoalDetail = async (svc: PluginHandle, goal_id: string) =>
  (await toGoalDetails(svc, [await goalOf(svc, goal_id)]))[0]!

const endedError = async (svc: PluginHandle, goal_id: string) =>
  new GoalEndedError({ goal_id, status: (await goalOf(svc, goal_id)).status })

/** Returns the writes that replace a goal's criteria; an agent that has read, or reads, the earlier ones gets a nudge. */
async function acceptanceEffects(svc: PluginHandle, goal: GoalRow, criteria: readonly Acceptance[]): Promise<Effect[]> {
  const { goal_id, agent_id, objective, steps_completed } = goal
  const agent = await svc.use(Agents).find(agent_id)
  const isShown = steps_completed > 0 || (agent.status === 'working' && agent.goal_id === goal_id)
  const acceptance = uncheckedTerms(criteria)
  const lines = criteriaLines(acceptance).map(each => `- ${each}`)
  const now =
    lines.length > 0 ? `It counts as reached when all of these hold:\n${lines.join('\n')}` : 'It has none now.'
  const message = `${CRITERIA_CHANGED}"${oneLine(objective)}" were changed. ${now}`
  return [
    replaceAcceptance({ goal_id, acceptance }),
    ...(isShown ? svc.use(Agents).nudgeEffects(agent_id, message) : []),
  ]
}

/** Returns the deadline in milliseconds. @throws InvalidInputError if it has passed */
function futureTime(svc: PluginHandle, deadline: string): number {
  const [at, now] = [Date.parse(deadline), svc.clock.ms()]
  if (at > now) return at
  const issues = [{ path: 'deadline', message: `has passed (it is ${isoTime(now)}); give a time in the future` }]
  throw new InvalidInputError({ what: 'The request', issues }, { errors: issues })
}

async function abandon(
  svc: PluginHandle,
  goal: { goal_id: string; agent_id: string },
  reason = 'Abandoned by the operator.',
) {
  const effects = await svc.use(Goals).abandon(goal, reason)
  return svc.use(Store).apply([...effects, wakeAgents({ agents: [goal.agent_id], reason: 'goal abandoned' })])
}

export const goalsHistory = operation({
  name: 'goals.history',
  summary: "List an agent's goals by page, time and status",
  description: 'Includes goals that have ended, with their results.',
  input: DatedPage.extend({
    id,
    limit: z.int().min(1).max(200).default(20).describe('Maximum number of goals (1 to 200)'),
    status: Goal.shape.status.optional().describe('Only goals with this status'),
  }),
  output: z.array(Goal),
  http: { method: 'GET', path: '/agents/{id}/history' },
  cli: { usage: 'history <id>', short: { limit: 'n' } },
  mcp: true,
  errors: [AgentNotFoundError, AmbiguousAgentError],
  run: ({ id, limit, offset, order, ...filter }, { svc }) => goalsOf(svc, id, { limit, offset, order }, filter),
  count: async ({ id, limit: _, offset: __, order: ___, ...filter }, { svc }) =>
    numberOfGoals(svc.use(Store), (await svc.use(Agents).find(id)).agent_id, filter),
  render: goals => goals.map(line).join('\n') || 'no goals yet',
})

export const goalsList = operation({
  name: 'goals.list',
  summary: "List an agent's goals, newest first",
  description:
    'Lists active and ended goals with their results or reasons. The command prints one line each; --json prints all.',
  input: Page.extend({ id }),
  output: z.array(Goal),
  http: { method: 'GET', path: '/agents/{id}/goals' },
  cli: { usage: 'goals <id>', short: { limit: 'n' } },
  mcp: true,
  errors: [AgentNotFoundError, AmbiguousAgentError],
  run: ({ id, ...page }, { svc }) => goalsOf(svc, id, page),
  count: async ({ id }, { svc }) => numberOfGoals(svc.use(Store), (await svc.use(Agents).find(id)).agent_id, {}),
  render: goals => goals.map(line).join('\n') || 'no goals yet',
})

export const goalsGet = operation({
  name: 'goals.get',
  summary: 'Show a goal',
  description: 'Returns the objective, state and progress of the goal, and its result if it has ended.',
  input: z.object({ goal_id: goalId }),
  output: Goal,
  http: { method: 'GET', path: '/goals/{goal_id}' },
  cli: { usage: 'goals show <goal_id>' },
  mcp: true,
  errors: [GoalNotFoundError],
  run: ({ goal_id }, { svc }) => readGoalDetail(svc, goal_id),
  render: renderGoal,
})

export const goalsAdd = operation({
  name: 'goals.add',
  summary: 'Add a goal',
  description: 'The goal is pursued as soon as no other goal of the agent has a higher priority.',
  input: z.strictObject({
    id,
    objective: z
      .string()
      .trim()
      .min(1)
      .max(4000)
      .meta({ examples: ['Write a test for the parser'] })
      .describe('The goal, in plain words'),
    priority: priority.default(4),
    acceptance: acceptance.default([]),
    after: z
      .array(goalId)
      .max(20)
      .default([])
      .describe('Goals, of any agent, that must end before this one begins; the agent is shown their results'),
    deadline: Instant.optional().describe('Time at which the goal is abandoned if it is not reached'),
    parent_goal_id: goalId.nullish().describe('Parent goal, which continues when this goal has ended'),
  }),
  output: Goal,
  http: {
    method: 'POST',
    path: '/agents/{id}/goals',
    status: 201,
    idempotent: true,
    location: ({ goal_id }: Goal) => `/goals/${goal_id}`,
  },
  cli: {
    usage: 'goals add <id> <objective...>',
    short: { priority: 'p' },
    lists: ACCEPTANCE_OPTIONS,
  },
  mcp: true,
  errors: [
    AgentNotFoundError,
    AmbiguousAgentError,
    AgentDeadError,
    GoalNotFoundError,
    GoalEndedError,
    TooManySubgoalsError,
    CommandError,
    ConflictError,
  ],
  notice: services => services.use(Agents).blockOfAll(),
  async run({ id, objective, priority, acceptance, after, deadline, parent_goal_id }, { svc, effects: also = [] }) {
    const { agent_id, died_at } = await svc.use(Agents).find(id)
    if (died_at !== null) throw new AgentDeadError({ agent_id })
    if (parent_goal_id) await parentFor(svc, parent_goal_id, agent_id, 1)
    const goal = { agent_id, objective, priority, origin: 'operator' as const }
    for (const each of after) await goalOf(svc, each)
    await refuseUncheckable(svc, acceptance, agent_id)
    const added = { ...goal, acceptance, parent_goal_id: parent_goal_id ?? null }
    const deadline_at = deadline === undefined ? null : futureTime(svc, deadline)
    const { goal_id, effects } = svc.use(Goals).add(added)
    const wake = wakeAgents({ agents: [agent_id], reason: 'goal' })
    if (deadline_at !== null || after.length > 0) effects.push(setTerms({ goal_id, deadline_at, after }))
    if (!(await svc.use(Store).apply([...effects, wake, ...also])))
      throw await endedError(svc, parent_goal_id ?? goal_id)
    return readGoalDetail(svc, goal_id)
  },
  render: line,
})

export const goalsUpdate = operation({
  name: 'goals.update',
  summary: "Change an active goal's priority or criteria",
  description:
    'Goals with a higher priority are pursued first. New criteria replace all earlier ones, and an agent that has begun the goal reads them as a nudge.',
  input: z.strictObject({
    goal_id: goalId,
    priority: priority.meta({ examples: [7] }).optional(),
    acceptance: acceptance.optional(),
  }),
  output: Goal,
  http: { method: 'PATCH', path: '/goals/{goal_id}' },
  cli: [
    {
      usage: 'goals prioritize <goal_id> <priority>',
      summary: "Change an active goal's priority",
      hidden: ['acceptance'],
    },
    {
      usage: 'goals acceptance <goal_id>',
      summary: "Change an active goal's acceptance criteria",
      hidden: ['priority'],
      lists: ACCEPTANCE_OPTIONS,
      example: 'goals acceptance goal-9c8b7a6d5e4f --accept-command "npm test"',
    },
    {
      usage: 'goals acceptance clear <goal_id>',
      summary: "Remove an active goal's acceptance criteria",
      preset: { acceptance: [] },
      hidden: ['priority', 'acceptance'],
    },
  ],
  mcp: true,
  errors: [GoalNotFoundError, GoalEndedError, NothingToChangeInGoalError, CommandError, ConflictError],
  async run({ goal_id, priority, acceptance }, { svc }) {
    if (priority === undefined && acceptance === undefined) throw new NothingToChangeInGoalError()
    const goal = await goalOf(svc, goal_id)
    const { agent_id } = goal
    if (acceptance) await refuseUncheckable(svc, acceptance, agent_id)
    const changes = [priority === undefined ? [] : 'priority', acceptance ? 'acceptance' : []].flat()
    const done = await svc
      .use(Store)
      .apply([
        ...(priority === undefined ? [] : [setPriority({ goal_id, priority })]),
        ...(acceptance ? await acceptanceEffects(svc, goal, acceptance) : []),
        appendEvent({ type: 'goal_changed', agent_id, data: { agent_id, goal_id, changes } }),
        wakeAgents({ agents: [agent_id], reason: 'goal' }),
      ])
    if (!done) throw await endedError(svc, goal_id)
    return readGoalDetail(svc, goal_id)
  },
  render: goal => renderGoal(goal),
})

export const goalsAbandon = operation({
  name: 'goals.abandon',
  summary: 'Abandon an active goal and its subgoals',
  description: 'The cycle in progress ends before its next model call.',
  input: z.strictObject({ goal_id: goalId, reason }),
  output: Goal,
  http: { method: 'POST', path: '/goals/{goal_id}/abandon' },
  mcp: true,
  errors: [GoalNotFoundError, GoalEndedError],
  async run({ goal_id, reason }, { svc }) {
    if (!(await abandon(svc, await goalOf(svc, goal_id), reason))) throw await endedError(svc, goal_id)
    return readGoalDetail(svc, goal_id)
  },
})

export const goalsAbandonAll = operation({
  name: 'goals.abandon_all',
  summary: 'Abandon active goals',
  description: 'Abandons one goal, all goals of an agent, or all goals.',
  input: z
    .strictObject({
      goal_id: goalId.optional(),
      agent: id.optional().describe('Agent whose active goals are abandoned, by id or name'),
      all: z.boolean().default(false).describe('Abandon all active goals of all agents'),
      reason,
    })
    .meta({ examples: [{ agent: 'coder-1a2b3c4d' }] }),
  output: z.array(Goal),
  http: { method: 'POST', path: '/goals/abandon' },
  cli: {
    usage: 'goals abandon [goal_id]',
    short: { agent: 'a', reason: 'r' },
    example: 'goals abandon --agent coder-1a2b3c4d',
  },
  errors: [GoalNotFoundError, GoalEndedError, AgentNotFoundError, AmbiguousAgentError, NameAGoalError],
  async run({ goal_id, agent, all, reason }, { svc }) {
    if ([goal_id, agent, all || undefined].filter(each => each !== undefined).length !== 1) throw new NameAGoalError()
    if (goal_id !== undefined) {
      if (!(await abandon(svc, await goalOf(svc, goal_id), reason))) throw await endedError(svc, goal_id)
      return [await readGoalDetail(svc, goal_id)]
    }
    const of = agent === undefined ? undefined : (await svc.use(Agents).find(agent)).agent_id
    const goals = await activeGoals(svc.use(Store), of)
    // A goal that has ended in the meantime, alone or with its parent, is skipped.
    for (const each of goals) await abandon(svc, each, reason)
    return Promise.all(goals.map(({ goal_id }) => readGoalDetail(svc, goal_id)))
  },
  render: goals => goals.map(({ goal_id, status }) => `${goal_id}: ${status}`).join('\n') || 'no goals were active',
})

export const goalOperations = [goalsHistory, goalsList, goalsGet, goalsAdd, goalsUpdate, goalsAbandon, goalsAbandonAll]

function goalView({ claims_refused: _, deadline_at, ...row }: GoalRow, waits: WaitsFor, spend?: GoalSpend): Goal {
  const { after, question_id } = waits
  return {
    ...row,
    after,
    question_id,
    waits_for: row.status === 'active' ? waitOf(row.agent_id, waits) : null,
    cost_usd: spend ? usdOf(spend.micros) : null,
    tokens: spend?.tokens ?? null,
    acceptance: readAcceptance(row.acceptance),
    plan: readPlan(row.plan),
    deadline: isoTime(deadline_at),
    unconfirmed: row.unconfirmed === 1,
    created_at: isoTime(row.created_at),
    completed_at: isoTime(row.completed_at),
  }
}
