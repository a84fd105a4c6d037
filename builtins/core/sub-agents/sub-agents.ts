import { type AgentRow, Agents } from '#core/agents/contract'
import { Goals, type OpenWork } from '#core/goals/contract'
import { Profiles } from '#core/profiles/contract'
import { type Effect, type PluginHandle, token } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { sanitizeLine } from '#lib/sanitize'
import type { Gate } from '#platform/heartbeat/contract'
import { appendEvent, isoTime, Store, usdOf, wakeAgents } from '#platform/store/contract'
import { GuardrailBlockedError, Guardrails } from '#safety/guardrails/contract'
import {
  AmbiguousSubAgentError,
  MAX_CHILDREN,
  MAX_DEPTH,
  type SubAgent,
  SubAgentEndedError,
  SubAgentLimitError,
  SubAgentNotFoundError,
} from './contract.ts'
import {
  type EndingRow,
  endSubAgent,
  findByCall,
  listExpired,
  markReported,
  orphans,
  readLimitedValues,
  readWorkState,
  runningFor,
  type SubAgentRow,
  subAgentsOf,
  takePlace,
  waitFor,
} from './repository.ts'

export const OwnSubAgents = token<SubAgents>('sub-agents/sub-agents')

/** Maximum length of a reported result, in characters. */
const LONGEST_RESULT = 8_000
/** Number of agents remembered as having no parent. */
const NOBODYS_KNOWN = 100_000

export interface SubAgentRequest {
  name: string
  role: string
  task: string
  max_cycles: number
  /** Name of a preset; without one the sub-agent has the limits of its parent. */
  profile?: string | undefined
  /** Id of the call that requests the sub-agent. Repeating the call returns the same sub-agent. */
  call_id: string
}

interface Ending {
  status: SubAgent['status']
  result: string | null
  ending: string | null
}

/** Creates, finds and ends sub-agents. */
export class SubAgents {
  readonly #svc: PluginHandle
  /** Cache of agents without a parent; they never get one. */
  readonly #nobodys = new Set<string>()

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  get #store(): Store {
    return this.#svc.use(Store)
  }

  /**
   * Makes an agent that works on a task of its parent's.
   * @returns its id
   * @throws SubAgentLimitError, ProfileNotFoundError, GuardrailBlockedError
   */
  async spawn(parent_agent_id: string, wanted: SubAgentRequest): Promise<string> {
    const { name, max_cycles, call_id } = wanted
    const known = await findByCall(this.#store, call_id)
    if (known) return known.sub_agent_id
    const parent = await this.#svc.use(Agents).find(parent_agent_id)
    if (wanted.profile !== undefined) await this.#svc.use(Profiles).read(wanted.profile)
    const [role, task] = [sanitizeLine(wanted.role), sanitizeLine(wanted.task)]
    for (const text of [role, task]) await this.#check(text, parent_agent_id)
    const sub_agent_id = this.#svc.ports.ids.make(`sub-${name.toLowerCase()}`, 8)
    const goal = { agent_id: sub_agent_id, objective: task, priority: 4, origin: 'sub_agent' as const }
    const { goal_id, effects } = this.#svc.use(Goals).add({ ...goal, parent_goal_id: null })
    const profile = wanted.profile ?? null
    const data = { agent_id: parent_agent_id, sub_agent_id, name }
    const born = this.#svc.use(Agents).create({
      agent_id: sub_agent_id,
      name,
      role,
      spawned_by: parent_agent_id,
      preset: profile ?? parent.preset,
      model: await this.#modelOf(parent),
    })
    const made = await this.#store.apply([
      takePlace({ sub_agent_id, parent_agent_id, name, role, task, max_cycles, goal_id, profile, call_id }),
      ...born,
      ...effects,
      appendEvent({ type: 'sub_agent_spawned', agent_id: parent_agent_id, data }),
    ])
    if (made) return sub_agent_id
    const same = await findByCall(this.#store, call_id)
    if (same) return same.sub_agent_id
    throw await this.#refusal(parent_agent_id)
  }

  /** Returns an agent's sub-agents, newest first, with truncated results. */
  async of(parent_agent_id: string): Promise<SubAgent[]> {
    return (await subAgentsOf(this.#store, parent_agent_id)).map(subAgentView)
  }

  /**
   * Returns one of the agent's sub-agents by id or name.
   * @throws SubAgentNotFoundError, AmbiguousSubAgentError
   */
  async find(parent_agent_id: string, ref: string): Promise<SubAgent> {
    const own = await this.of(parent_agent_id)
    const byId = own.find(each => each.sub_agent_id === ref)
    if (byId) return byId
    const named = own.filter(each => each.name === ref)
    const running = named.filter(each => each.status === 'running')
    const [found, ...others] = running.length > 0 ? running : named
    if (!found) throw new SubAgentNotFoundError({ ref, known: own.map(each => `${each.name} (${each.sub_agent_id})`) })
    if (others.length > 0)
      throw new AmbiguousSubAgentError({ ref, ids: [found, ...others].map(each => each.sub_agent_id) })
    return found
  }

  /**
   * Returns one of the agent's running sub-agents.
   * @throws SubAgentEndedError
   */
  async findRunning(parent_agent_id: string, ref: string): Promise<SubAgent> {
    const found = await this.find(parent_agent_id, ref)
    if (found.status === 'running') return found
    throw new SubAgentEndedError({ sub_agent_id: found.sub_agent_id, status: found.status })
  }

  /** Returns the sub-agents that work for a goal which does not wait for them. */
  async open(goal_id: string): Promise<OpenWork[]> {
    const running = await runningFor(this.#store, goal_id)
    return running.map(({ sub_agent_id, parent_agent_id }) => ({
      what: sub_agent_id,
      wait: waitFor({ goal_id, parent_agent_id, sub_agent_ids: [sub_agent_id] }),
    }))
  }

  /** Ends one of the agent's sub-agents, even while it works, and those below it. */
  async terminate(parent_agent_id: string, ref: string): Promise<SubAgent> {
    const { sub_agent_id } = await this.findRunning(parent_agent_id, ref)
    const ending = { status: 'terminated' as const, result: null, ending: 'Its parent ended it.' }
    await this.#end(sub_agent_id, parent_agent_id, ending)
    await this.sweep()
    return this.find(parent_agent_id, sub_agent_id)
  }

  /** Runs the sweep after the end of an agent's goal, if any sub-agent should end. */
  async sweepEnded(agent_id: string): Promise<void> {
    if (this.#nobodys.has(agent_id)) return
    if ((await listExpired(this.#store, this.#svc.clock.ms())).length > 0) await this.sweep()
  }

  /**
   * Ends sub-agents whose task has ended, whose cycles are used up, or whose parent is gone, and then those below them.
   */
  async sweep(): Promise<void> {
    for (let level = 0; level <= MAX_DEPTH; level++) {
      const rows = await listExpired(this.#store, this.#svc.clock.ms())
      for (const row of rows) {
        const ending = endingOf(row)
        if (ending) await this.#end(row.sub_agent_id, row.parent_agent_id, ending, row.gone === 1)
      }
      const left = await orphans(this.#store)
      for (const { agent_id, spawned_by, listed } of left) {
        const ending = { status: 'terminated' as const, result: null, ending: 'Its parent is gone.' }
        await this.#end(agent_id, spawned_by, listed ? ending : undefined)
      }
      if (left.length === 0) return
    }
  }

  /**
   * Returns whether an agent may enter this phase. A sub-agent only pursues its task, for a limited number of cycles.
   */
  mayWork(gate: Gate): boolean | Promise<boolean> {
    return this.#nobodys.has(gate.agent_id) || this.#mayWork(gate)
  }

  async #mayWork({ agent_id, phase }: Gate): Promise<boolean> {
    const row = await readWorkState(this.#store, agent_id)
    if (!row) return true
    if (row.spawned_by === null) {
      if (this.#nobodys.size >= NOBODYS_KNOWN) this.#nobodys.clear()
      this.#nobodys.add(agent_id)
      return true
    }
    if (phase !== 'goal_pursuit' || row.status !== 'running') return false
    if (row.cycles < row.max_cycles) return true
    // The agent requests a further cycle, so its last one is over, which a concurrent heartbeat cannot see.
    await this.#end(agent_id, row.spawned_by, expiredEnding(row))
    return false
  }

  /** Returns text between agents after redaction by guardrails. */
  async redact(text: string, agent_id: string): Promise<string> {
    if (!this.#svc.has(Guardrails)) return text
    const { action, text: clean } = await this.#svc.use(Guardrails).check('peer', text, { agent_id })
    return action === 'block' ? '[This was withheld by a guardrail.]' : clean
  }

  /**
   * Checks text between agents.
   * @throws GuardrailBlockedError
   */
  async #check(text: string, agent_id: string): Promise<void> {
    if (!this.#svc.has(Guardrails)) return
    const { action, findings } = await this.#svc.use(Guardrails).check('peer', text, { agent_id })
    if (action !== 'block') return
    throw new GuardrailBlockedError({ stage: 'task', kinds: [...new Set(findings.map(({ kind }) => kind))] })
  }

  async #modelOf(parent: AgentRow): Promise<string> {
    return parent.model || (await this.#svc.use(Agents).profileOf(parent)).model
  }

  /** Ends a sub-agent. If a goal ends concurrently, the write is refused and the next sweep tries again. */
  async #end(sub_agent_id: string, parent: string, ending: Ending | undefined, isGone = false): Promise<void> {
    const agents = this.#svc.use(Agents)
    const goals = this.#svc.use(Goals)
    const effects: Effect[] = []
    // A parent without a use for the result is not woken for it.
    if (ending?.ending === DROPPED) effects.push(markReported({ sub_agent_ids: [sub_agent_id] }))
    if (ending) {
      const data = { agent_id: parent, sub_agent_id, status: ending.status }
      effects.push(
        endSubAgent({ sub_agent_id, ...ending }),
        appendEvent({ type: 'sub_agent_ended', agent_id: parent, data }),
      )
    }
    if (!isGone) {
      effects.push(...agents.markDead(sub_agent_id))
      for (const goal of await goals.listActive(sub_agent_id))
        effects.push(...(await goals.abandon(goal, ending?.ending ?? 'Its agent has ended.')))
    }
    effects.push(wakeAgents({ agents: [parent], reason: 'sub-agent' }))
    await this.#store.apply(effects)
  }

  async #refusal(agent_id: string) {
    const { depth, running } = await readLimitedValues(this.#store, agent_id)
    if (depth >= MAX_DEPTH) {
      const problem = `Sub-agents can be nested at most ${MAX_DEPTH} levels deep`
      return new SubAgentLimitError({ problem, remedy: 'do the task yourself' })
    }
    if (running >= MAX_CHILDREN) {
      const problem = `You have ${running} running sub-agents, and the maximum is ${MAX_CHILDREN}`
      return new SubAgentLimitError({ problem, remedy: 'wait for one to end, or terminate one' })
    }
    return new SubAgentLimitError({ problem: 'You are dead and cannot make sub-agents', remedy: 'use another agent' })
  }
}

const DROPPED = "Its parent's goal was abandoned."

/** Returns the status and reason with which a sub-agent ends; undefined while its last cycle runs. */
function endingOf({
  gone,
  goal_status,
  goal_result,
  cycles,
  max_cycles,
  working,
  is_dropped,
  error,
}: EndingRow): Ending | undefined {
  if (goal_status === 'completed') return { status: 'completed', result: goal_result ?? '', ending: null }
  if (goal_status === 'abandoned') return { status: 'failed', result: null, ending: goal_result }
  if (gone) return { status: 'terminated', result: null, ending: 'It was removed.' }
  if (goal_status === null) return { status: 'terminated', result: null, ending: 'Its task was removed.' }
  if (is_dropped) return { status: 'terminated', result: null, ending: DROPPED }
  if (cycles < max_cycles) return { status: 'terminated', result: null, ending: 'It died.' }
  if (working) return undefined
  return expiredEnding({ max_cycles, error })
}

function expiredEnding({ max_cycles, error }: Pick<EndingRow, 'max_cycles' | 'error'>): Ending {
  const failure = error === null ? '' : ` Its last cycle failed: ${error}`
  return {
    status: 'expired',
    result: null,
    ending: `It used up its ${pluralize(max_cycles, 'cycle')} and did not finish.${failure}`,
  }
}

function subAgentView({ cost_micros, result, created_at, completed_at, ...row }: SubAgentRow): SubAgent {
  return {
    ...row,
    result: result === '' ? null : result.slice(0, LONGEST_RESULT),
    cost_usd: usdOf(cost_micros),
    created_at: isoTime(created_at),
    completed_at: isoTime(completed_at),
  }
}
