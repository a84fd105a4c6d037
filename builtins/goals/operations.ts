import { ConflictError, operation, type PluginHandle, z } from '#kernel'
import { AgentNotFoundError, Agents, AmbiguousAgentError } from '../agents/contract.ts'
import { isoTime, Store, wakeAgents } from '../store/contract.ts'
import { Goal, GoalNotFoundError, type GoalRow } from './contract.ts'
import { ended } from './outcome.ts'
import { findGoal, listGoals } from './repository.ts'

const id = z.string().min(1).max(128).describe("An agent's id, or its name when only one has it")
const goalId = z.string().min(1).max(128).describe("A goal's id")

export function goalOperations(svc: PluginHandle) {
  const goalsOf = async (ref: string, limit?: number) => {
    const { agent_id } = await svc.use(Agents).find(ref)
    return (await listGoals(svc.use(Store), agent_id, limit)).map(shown)
  }
  const goal = async (ref: string): Promise<GoalRow> => {
    const row = await findGoal(svc.use(Store), ref)
    if (!row) throw new GoalNotFoundError({ ref })
    return row
  }

  return [
    operation({
      name: 'goals.history',
      summary: "An agent's goals, newest first",
      input: z.object({
        id,
        limit: z.coerce.number().int().min(1).max(200).default(20).describe('At most this many (1 to 200)'),
      }),
      output: z.array(Goal),
      http: { method: 'GET', path: '/agents/{id}/history' },
      cli: { usage: 'history <id>', short: { limit: 'n' } },
      mcp: true,
      errors: [AgentNotFoundError, AmbiguousAgentError],
      run: ({ id, limit }) => goalsOf(id, limit),
      render: goals => goals.map(line).join('\n') || 'no goals yet',
    }),
    operation({
      name: 'goals.list',
      summary: 'All goals of an agent, newest first',
      input: z.object({ id }),
      output: z.array(Goal),
      http: { method: 'GET', path: '/agents/{id}/goals' },
      cli: { usage: 'goals <id>' },
      mcp: true,
      errors: [AgentNotFoundError, AmbiguousAgentError],
      run: ({ id }) => goalsOf(id),
      render: goals => goals.map(line).join('\n') || 'no goals yet',
    }),
    operation({
      name: 'goals.get',
      summary: 'One goal',
      input: z.object({ goal_id: goalId }),
      output: Goal,
      http: { method: 'GET', path: '/goals/{goal_id}' },
      mcp: true,
      errors: [GoalNotFoundError],
      run: async ({ goal_id }) => shown(await goal(goal_id)),
    }),
    operation({
      name: 'goals.abandon',
      summary: 'Give up an active goal',
      input: z.strictObject({
        goal_id: goalId,
        reason: z.string().max(1000).optional().describe('Why, for the record'),
      }),
      output: Goal,
      http: { method: 'POST', path: '/goals/{goal_id}/abandon' },
      cli: { usage: 'goals abandon <goal_id>', short: { reason: 'r' } },
      mcp: true,
      errors: [GoalNotFoundError, ConflictError],
      async run({ goal_id, reason }) {
        const found = await goal(goal_id)
        const effects = ended(found, 'abandoned', reason ?? 'Abandoned by the operator.')
        const done = await svc
          .use(Store)
          .apply([...effects, wakeAgents({ agents: [found.agent_id], reason: 'goal abandoned' })])
        if (!done) throw new ConflictError({ sentence: `Goal ${goal_id} is ${(await goal(goal_id)).status} already.` })
        return shown(await goal(goal_id))
      },
      render: ({ goal_id }) => `${goal_id}: abandoned`,
    }),
  ]
}

function shown(row: GoalRow): Goal {
  return {
    ...row,
    unconfirmed: row.unconfirmed === 1,
    created_at: isoTime(row.created_at),
    completed_at: row.completed_at === null ? null : isoTime(row.completed_at),
  }
}

const MARK = { active: '…', completed: '✓', abandoned: '✗' } as const

function line({ goal_id, status, objective, result }: Goal): string {
  return `${MARK[status]} ${goal_id}  ${objective}${result ? `\n    ${result.split('\n')[0]}` : ''}`
}
