import { AgentNotFoundError, Agents, agentReach } from '#core/agents/contract'
import type { Waiting } from '#core/runtime/contract'
import { ConflictError, type Effect, InvalidInputError, type PluginHandle } from '#kernel'
import { recordInput } from '#lib/recording-context'
import type { Cycle } from '#platform/heartbeat/contract'
import { Questions } from '#safety/questions/contract'
import { Jail, OutsideError, type Reach } from '#safety/sandbox/contract'
import { Shell } from '#tools/toolkits/shell/contract'
import type { Acceptance, AcceptanceCheck } from '../contract.ts'
import { OwnCommands } from './commands.ts'
import { type Claimed, judge } from './judge.ts'

/** Maximum number of characters of a judge's or the operator's reason that the agent reads. */
const LONGEST = 2_000
const ACCEPT = 'Accept'

/**
 * Refuses criteria that can never be checked.
 * @param agent_id the agent whose folders must contain the files; without it, files are not checked
 * @throws CommandError for a command that the agents' shell may not run; InvalidInputError for a file that the agent
 * cannot reach; ConflictError where a required module is off
 */
export async function refuseUncheckable(
  svc: PluginHandle,
  acceptance: readonly Acceptance[],
  agent_id?: string,
): Promise<void> {
  for (const [n, each] of acceptance.entries()) {
    if ('command' in each) {
      if (!svc.has(Shell)) throw needs('toolkit-shell', 'commands')
      await svc.use(Shell).check(each.command)
    }
    if ('file' in each) {
      if (!svc.has(Jail)) throw needs('sandbox', 'files')
      if (agent_id !== undefined) await refuseOutside(svc, each.file, agent_id, `acceptance.${n}.file`)
    }
    if ('operator' in each && !svc.has(Questions)) throw needs('questions', "the operator's decision")
  }
}

/** Refuses a file outside the agent's folders. Its workspace may still be empty, so that all else is fine. @throws InvalidInputError */
async function refuseOutside(svc: PluginHandle, file: string, agent_id: string, path: string): Promise<void> {
  const agent = await findExisting(svc, agent_id)
  if (!agent) return
  const reach = agentReach(svc.project, agent)
  try {
    await svc.use(Jail).resolve(reach, file)
  } catch (error) {
    if (!(error instanceof OutsideError)) return
    const given = reach.folders.length > 0 ? ', or a path in one of its other folders' : ''
    const message = `${JSON.stringify(file)} lies outside the folders of ${agent_id}; name a file in its workspace, such as "report.md"${given}`
    const issues = [{ path, message }]
    throw new InvalidInputError({ what: 'The request', issues }, { errors: issues })
  }
}

/** Returns an agent; undefined for one that is being imported, which is committed together with its schedules. */
function findExisting(svc: PluginHandle, agent_id: string) {
  return svc
    .use(Agents)
    .find(agent_id)
    .catch(error => {
      if (error instanceof AgentNotFoundError) return undefined
      throw error
    })
}

function needs(module: string, what: string) {
  return new ConflictError({
    message: `Acceptance by ${what} needs the module ${module}, which is disabled. Enable it and try again.`,
  })
}

export interface Verdict {
  checks: AcceptanceCheck[]
  /** Writes that book the cost of the check. */
  effects: Effect[]
  /** Set while the operator's answer is awaited, or a command runs. */
  waits?: Waiting
}

/**
 * Checks the criteria: files and commands first, then those that a model judges, and last, if all others are met, those
 * that the operator decides. While the operator's answer is awaited, the others are not checked again.
 */
export async function check(
  svc: PluginHandle,
  cycle: Cycle,
  claimed: Claimed,
  criteria: readonly AcceptanceCheck[],
): Promise<Verdict> {
  const effects: Effect[] = []
  if (isAsked(criteria)) return decide(svc, claimed, [...criteria], effects)
  const checks = criteria.map(each => ({ ...each, met: null as boolean | null, problem: null as string | null }))
  const set = (each: AcceptanceCheck, problem: string | null) => {
    each.met = problem === null
    each.problem = problem?.slice(0, LONGEST) ?? null
  }
  const open = () => checks.every(({ problem }) => problem === null)
  for (const each of checks) {
    if (each.file !== undefined) set(each, await checkFileExists(svc, claimed.reach, each.file))
  }
  const commands = checks.flatMap(({ command }) => command ?? [])
  const ends = await recordInput('acceptance commands', () => svc.use(OwnCommands).run(claimed, commands, cycle.signal))
  if (ends === null) return { checks: [...criteria], effects, waits: { waits_for: 'acceptance' } }
  for (const each of checks) if (each.command !== undefined) Object.assign(each, ends.shift())
  for (const each of checks) {
    if (each.rubric === undefined || !open()) continue
    const { problem, effect } = await judge(svc, cycle, claimed, each)
    effects.push(effect)
    set(each, problem)
  }
  return open() && checks.some(({ operator }) => operator) ? decide(svc, claimed, checks, effects) : { checks, effects }
}

/** Returns whether all other criteria were met when the operator was asked. */
function isAsked(criteria: readonly AcceptanceCheck[]): boolean {
  return (
    criteria.some(({ operator }) => operator) && criteria.every(({ operator, met }) => met === (operator ? null : true))
  )
}

/** Decides the criteria that are left to the operator. */
async function decide(
  svc: PluginHandle,
  claimed: Claimed,
  checks: AcceptanceCheck[],
  effects: Effect[],
): Promise<Verdict> {
  const { question_id, answer } = await askAcceptance(svc, claimed)
  if (answer === null) return { checks, effects, waits: { waits_for: question_id } }
  const met = answer === ACCEPT
  const problem = met ? null : `The operator does not accept it: ${answer}`.slice(0, LONGEST)
  return { checks: checks.map(each => (each.operator ? { ...each, met, problem } : each)), effects }
}

async function checkFileExists(svc: PluginHandle, reach: Reach, file: string): Promise<string | null> {
  const isThere = recordInput('acceptance file', async () => {
    try {
      return (await svc.use(Jail).resolve(reach, file)).exists
    } catch {
      return false
    }
  })
  return (await isThere) ? null : `The file ${JSON.stringify(file)} does not exist in your workspace.`
}

/** Asks the operator about this claim, with one question for each attempt. */
function askAcceptance(svc: PluginHandle, { goal, summary, evidence }: Claimed) {
  const { goal_id, agent_id, objective, refusals } = goal
  const result = [summary, ...evidence.map(each => `- ${each}`)].join('\n')
  return svc.use(Questions).ask({
    call_id: `${goal_id}:acceptance:${refusals}`,
    agent_id,
    goal_id,
    question: `Is this goal reached? ${objective}\n\nResult according to the agent:\n${result}\n\nAny answer other than "Accept" sends the goal back to the agent, with your answer as the reason.`,
    options: [ACCEPT],
  })
}

/** Returns the criteria as the agent reads them. */
export function criteriaLines(checks: readonly AcceptanceCheck[]): string[] {
  return checks.map(({ command, file, rubric }) => {
    if (command !== undefined) return `the command \`${command}\` exits with 0 in your workspace`
    if (file !== undefined) return `the file ${file} exists in your workspace`
    return rubric === undefined ? 'the operator accepts the result' : `a reviewer confirms: ${rubric}`
  })
}
