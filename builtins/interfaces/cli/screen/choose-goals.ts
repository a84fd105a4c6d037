import type { AgentSummary } from '#core/agents/contract'
import type { Goal } from '#core/goals/contract'
import type { Context } from '../context.ts'
import { Calls, operationRef } from '../operations/calls.ts'
import { findProject } from '../project/project.ts'
import { printable, printableLine } from './printable.ts'
import { withQuestions } from './questions.ts'

const AGENTS = operationRef('agents.list', 'GET', '/agents')
const GOALS = operationRef('goals.list', 'GET', '/agents/{id}/goals')
const QUESTION = 'Which goals are to be abandoned? (as in 1,3 or all; Enter cancels) '

type Input = Record<string, unknown>

/** Returns whether `svc goals abandon` names no goals and a person can choose them. */
export function canChooseGoals({ goal_id, agent, all }: Input, { terminal, json }: Context): boolean {
  const isNamed = goal_id !== undefined || agent !== undefined || all === true
  return !isNamed && !json && process.stdin.isTTY === true && terminal.columns !== undefined
}

/**
 * Lists the goals in progress by agent and lets a person choose.
 * @returns an input of the operation for each choice: none when the user cancels, undefined after Ctrl-C
 */
export async function chooseGoals(input: Input, context: Context): Promise<Input[] | undefined> {
  const { terminal } = context
  const goals = await goalsInFlight(context)
  if (goals.length === 0) {
    terminal.out('no goals were active')
    return []
  }
  goals.forEach(({ agent_id, goal_id, objective }, n) => {
    if (goals[n - 1]?.agent_id !== agent_id) terminal.out(printable(agent_id))
    terminal.out(`  ${String(n + 1).padStart(String(goals.length).length)}  ${goal_id}  ${printableLine(objective)}`)
  })
  const numbers = await ask(goals.length, context)
  if (numbers === 'all') return [{ ...input, all: true }]
  return numbers?.map(number => ({ ...input, goal_id: goals[number - 1]!.goal_id }))
}

async function goalsInFlight(context: Context): Promise<Goal[]> {
  await using calls = new Calls(await findProject(context.ports, context.named), context)
  const goals: Goal[] = []
  for (const { agent_id, goal } of await calls.call<AgentSummary[]>(AGENTS)) {
    if (goal !== null) goals.push(...(await calls.call<Goal[]>(GOALS, { id: agent_id })))
  }
  return goals.filter(({ status }) => status === 'active')
}

/**
 * Asks until the answer is valid.
 * @returns undefined after Ctrl-C
 */
function ask(count: number, { terminal }: Context): Promise<number[] | 'all' | undefined> {
  return withQuestions(async question => {
    for (;;) {
      const words = (await question(QUESTION)).split(/[\s,]+/).filter(word => word !== '')
      if (words.length === 1 && words[0] === 'all') return 'all'
      const wrong = words.find(word => !(/^\d{1,9}$/.test(word) && Number(word) >= 1 && Number(word) <= count))
      if (wrong === undefined) return [...new Set(words.map(Number))]
      terminal.err(`"${printableLine(wrong)}" is not in the list: answer with numbers from 1 to ${count}, or all.`)
    }
  })
}
