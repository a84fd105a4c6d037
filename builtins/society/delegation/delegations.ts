import { type AgentRow, Agents, agentReach } from '#core/agents/contract'
import { type GoalClaim, type GoalRow, Goals, type OpenWork } from '#core/goals/contract'
import { type Effect, errorMessage, type PluginHandle, SvcError } from '#kernel'
import { removeControlCharacters } from '#lib/sanitize'
import { appendEvent, Store, wakeAgents } from '#platform/store/contract'
import { Guardrails } from '#safety/guardrails/contract'
import { fence } from '#safety/net/contract'
import { Jail, type Reach } from '#safety/sandbox/contract'
import { Mail, OPERATOR } from '#society/a2a/contract'
import { REVIEW, Specialists } from '#society/swarm/contract'
import type { DelegationConfig } from './config.ts'
import {
  BEST_PEER,
  DelegationNotFoundError,
  type Delegations,
  type NewDelegation,
  NoBestPeerError,
} from './contract.ts'
import { delegationIdOf, taskOf } from './policy.ts'
import {
  agentsBelow,
  type DelegationRow,
  delegationOf,
  endDelegation,
  endedDelegations,
  findDelegation,
  findDelegator,
  givenBy,
  goalsAbove,
  openDelegationsOf,
  waitForDelegation,
} from './repository.ts'

/** Maximum length of the result that is reported; the whole result stays with the goal. */
const LONGEST_RESULT = 4_000
/** The part of it for the end of a longer result, with its evidence and files. */
const TAIL = 1_000

/** Creates delegations between agents and reports their ends. */
export class DelegationService implements Delegations {
  readonly #svc: PluginHandle
  readonly #config: DelegationConfig
  #sweeping = false
  /** Whether a task may have ended since the sweep in progress looked. */
  #isDue = false

  constructor(svc: PluginHandle, config: DelegationConfig) {
    this.#svc = svc
    this.#config = config
  }

  async give({ from_agent, to: named, objective, details, files, from_goal_id, waits }: NewDelegation) {
    const to = named === BEST_PEER ? await this.#bestPeer(objective, from_agent, from_goal_id) : named
    const posted = await this.#svc.use(Mail).post({
      type: 'delegate',
      from_agent,
      to,
      body: [objective, details].filter(Boolean).join('\n\n'),
      ...(files ? { files } : {}),
      metadata: { from_goal_id, waits },
    })
    const { message, answer, effects } = posted
    const delegation_id = answer?.type === 'ack' ? delegationIdOf(message.message_id) : null
    return {
      delegation_id,
      to_agent: message.to_agent,
      answer: answer?.body ?? 'The delegation has not been answered yet.',
      effects,
    }
  }

  /**
   * Returns the agent that does such work best, other than those that gave it, and for a review those that did the work.
   * @throws NoBestPeerError
   */
  async #bestPeer(objective: string, from_agent: string, from_goal_id: string | null): Promise<string> {
    const specialists = this.#svc.has(Specialists) ? this.#svc.use(Specialists) : undefined
    if (!specialists?.acting) throw new NoBestPeerError({ problem: 'the swarm policy is passive (swarm.policy)' })
    const store = this.#svc.use(Store)
    const givers = from_goal_id === null ? [] : await goalsAbove(store, from_goal_id)
    const doers = await agentsBelow(
      store,
      givers.map(({ goal_id }) => goal_id),
    )
    const candidates = await specialists.candidates(objective, from_agent)
    const best = candidates.find(
      ({ agent_id, task_type }) =>
        !givers.some(each => each.agent_id === agent_id) && !(task_type === REVIEW && doers.includes(agent_id)),
    )
    const problem = 'all other agents are paused, busy, have poor results or take part in this work'
    if (!best) throw new NoBestPeerError({ problem })
    return best.agent_id
  }

  async find(delegation_id: string, from_agent: string) {
    const store = this.#svc.use(Store)
    const row = await findDelegation(store, delegation_id)
    if (row?.from_agent !== from_agent) {
      const given = (await givenBy(store, from_agent)).map(each => `${each.delegation_id} to ${each.to_agent}`)
      throw new DelegationNotFoundError({ delegation_id, agent_id: from_agent, given })
    }
    const delegation = delegationOf(row)
    return {
      ...delegation,
      result: delegation.result && (await this.#sanitizeIncoming(delegation.result, from_agent, 'result')),
    }
  }

  /** Returns the tasks that others still do for a goal which does not wait for them. */
  async open(goal_id: string): Promise<OpenWork[]> {
    const open = await openDelegationsOf(this.#svc.use(Store), goal_id)
    return open.map(({ delegation_id, to_agent }) => ({
      what: `${delegation_id} of ${to_agent}`,
      wait: waitForDelegation({ delegation_id, goal_id }),
    }))
  }

  /**
   * Returns the details of a delegated goal, who gave it, and how its result gets there, for the agent that begins it.
   */
  async opening(agent: AgentRow, { goal_id }: GoalRow): Promise<string | undefined> {
    const row = await findDelegator(this.#svc.use(Store), goal_id)
    if (!row) return undefined
    const { details } = taskOf(row.body ?? '')
    const text = details && (await this.#sanitizeIncoming(details, agent.agent_id, 'details'))
    const parts = [text && `The details of this goal stand between <<< and >>>.\n${fence(text)}`]
    if (row.from_agent !== null) parts.push(await this.#delegatorOf(agent, row.from_agent))
    return parts.filter(Boolean).join('\n\n')
  }

  async #delegatorOf(agent: AgentRow, from_agent: string): Promise<string> {
    const sender = await this.#svc.use(Agents).find(from_agent)
    const [own, other] = [agent, sender].map(each => agentReach(this.#svc.project, each).workspace)
    const where = own === other ? 'It works in the same workspace as you.' : 'Its workspace is not yours.'
    return `${sender.name} (${sender.agent_id}) delegated this goal to you. ${where} It reads only the summary and the evidence that you give to finish_goal: put the whole result there, however long it is. Files that the evidence names are copied to it if it cannot read them.`
  }

  /**
   * Copies the files that the evidence of a goal names to the agent that delegated it, or whose sub-agent pursues it,
   * if that agent cannot read them.
   * @returns where they are, for the result; undefined if none was copied
   */
  async sendFiles(claim: GoalClaim): Promise<string | undefined> {
    const agents = this.#svc.use(Agents)
    const delegator = await findDelegator(this.#svc.use(Store), claim.goal_id)
    const sender_id = delegator ? delegator.from_agent : (await agents.find(claim.agent_id)).spawned_by
    if (sender_id === null || !this.#svc.has(Jail)) return undefined
    const sender = await agents.find(sender_id)
    const paths = await this.#filesBeyond(agentReach(this.#svc.project, sender), claim)
    if (paths.length === 0) return undefined
    try {
      const copies = await this.#svc.use(Mail).copyFiles(sender, { call: claim, paths })
      return `Files, copied to ${sender.name}: ${copies.join(', ')}`
    } catch (error) {
      if (!(error instanceof SvcError)) throw error
      return `Files were not copied to ${sender.name}: ${error.message}`
    }
  }

  /** Returns the files of the evidence that exist within reach of its agent, but not of another one. */
  async #filesBeyond(other: Reach, { evidence, ...own }: GoalClaim): Promise<string[]> {
    const jail = this.#svc.use(Jail)
    const isBeyond = async (path: string) => {
      const handle = await jail.open(own, path)
      await handle.close()
      const { real } = await jail.resolve(own, path)
      return jail.resolve(other, real).then(
        () => false,
        () => true,
      )
    }
    const paths = [...new Set(evidence.map(each => each.trim()))]
    const beyond = await Promise.all(paths.map(path => isBeyond(path).catch(() => false)))
    return paths.filter((_, n) => beyond[n])
  }

  /** Returns text of another agent after cleaning and guardrails. */
  async #sanitizeIncoming(given: string, agent_id: string, what: 'result' | 'details'): Promise<string> {
    const clean = removeControlCharacters(given)
    if (!this.#svc.has(Guardrails)) return clean
    const { action, text } = await this.#svc.use(Guardrails).check('peer', clean, { agent_id })
    return action === 'block' ? `[A guardrail withheld the ${what}.]` : text
  }

  /**
   * Reports ended tasks to delegating agents. Reads stored state instead of events, so that an end in another process,
   * or before a crash, is reported too. Each is reported once, because only one process can write it.
   */
  async sweep(): Promise<void> {
    this.#isDue = true
    // Its own writes end goals, so a sweep must not wait for the one in progress.
    if (this.#sweeping) return
    this.#sweeping = true
    try {
      while (this.#isDue) {
        this.#isDue = false
        await this.#reportEnded()
      }
    } catch (error) {
      this.#svc.log.warn({}, `cannot report ended delegations yet: ${errorMessage(error)}`)
    } finally {
      this.#sweeping = false
    }
  }

  async #reportEnded(): Promise<void> {
    const { clock } = this.#svc
    const older = this.#config.timeout > 0 ? clock.ms() - Math.round(this.#config.timeout * 1000) : -1
    for (const row of await endedDelegations(this.#svc.use(Store), older)) await this.#end(row)
  }

  async #end(row: Awaited<ReturnType<typeof endedDelegations>>[number]): Promise<void> {
    const { goal_id, to_agent, goal_status, goal_result } = row
    const tooOld = goal_status === 'active'
    const why = tooOld ? `Not done within ${this.#config.timeout} s.` : `The agent ${to_agent} no longer exists.`
    const status = goal_status === 'completed' ? 'completed' : 'failed'
    const text = goal_status === null || tooOld ? why : (goal_result ?? '')
    const result =
      text.length > LONGEST_RESULT ? `${text.slice(0, LONGEST_RESULT - TAIL)}\n…\n${text.slice(3 - TAIL)}` : text
    const given = tooOld ? await this.#svc.use(Goals).abandon({ goal_id, agent_id: to_agent }, why) : []
    const resultEffects = await this.#resultEffects(row, status, result, goal_status === null)
    await this.#svc.use(Store).apply([...given, ...resultEffects])
  }

  async #resultEffects(
    row: DelegationRow,
    status: 'completed' | 'failed',
    result: string,
    gone: boolean,
  ): Promise<Effect[]> {
    const { delegation_id, from_agent, to_agent, goal_id, message_id, waits } = row
    const agent_id = from_agent === OPERATOR ? null : from_agent
    const ended = [
      endDelegation({ delegation_id, status, result }),
      appendEvent({ type: 'delegation_ended', agent_id, data: { agent_id, delegation_id, to_agent, goal_id, status } }),
    ]
    // A waiting goal reads the outcome itself; its agent only needs to be woken.
    if (waits && !gone && agent_id !== null) return [...ended, wakeAgents({ agents: [agent_id], reason: 'delegation' })]
    try {
      const { effects } = await this.#svc.use(Mail).post({
        type: 'response',
        from_agent: to_agent,
        to: from_agent,
        // The request was deleted together with the recipient.
        ...(gone ? {} : { reply_to: message_id }),
        subject: `${delegation_id} ${status}`,
        body: result || status,
        metadata: { delegation_id, status },
        message_id: `${message_id}-response`,
      })
      return [...ended, ...effects]
    } catch (error) {
      if (!(error instanceof SvcError)) throw error
      this.#svc.log.info(
        { agent_id: from_agent },
        `${delegation_id} ${status}, but its result was not delivered: ${error.message}`,
      )
      return ended
    }
  }
}
