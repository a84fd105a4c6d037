import { type ImageInputs, keepGiven } from '#core/images/contract'
import { Models } from '#core/models/contract'
import { type Profile, Profiles } from '#core/profiles/contract'
import { type Effect, errorMessage, type PluginHandle, token } from '#kernel'
import { idAndName } from '#lib/id-and-name'
import { pluralize } from '#lib/pluralize'
import { sanitizeLine } from '#lib/sanitize'
import { reportedProblems } from '#platform/daemon/contract'
import { appendEvent, isoTime, Store, usdOf, wakeAgents } from '#platform/store/contract'
import { daemonProblem, frozenSince, nextOf } from './block-reasons.ts'
import {
  AgentDeadError,
  type AgentDetail,
  AgentFacets,
  type AgentFilter,
  AgentNameTakenError,
  AgentNotFoundError,
  type AgentRow,
  type AgentSummary,
  type Agents,
  AmbiguousAgentError,
  agentReach,
  type DeletedAgent,
  DeleteHooks,
  FirstGoals,
  type Fleet,
  type FleetQuery,
  type NewAgent,
  ProfileShapes,
  type StatusEntry,
  shapeProfile,
} from './contract.ts'
import { readFleet } from './fleet.ts'
import { fleetPage } from './fleet-page.ts'
import { type FolderSelection, foldersFor, updateFolders, worktreeFor } from './folders.ts'
import {
  type AliveRow,
  agentDied,
  claimName,
  countAgents,
  countEndedSubAgents,
  deleteAgent,
  findAgents,
  hasAlive,
  insertAgent,
  insertNudge,
  leasesOver,
  listAgents,
  listAlive,
  listNames,
  listPeers,
  listSummaries,
  nudgesDelivered,
  numberOfAgents,
  pauseAgent,
  recordAgentOutcome,
  resumeAgent,
  type SummaryRow,
  spendOf,
  updateAgent,
  waitingNudges,
} from './repository.ts'
import { moveToTrash } from './trash.ts'

/** Agents with all operations of operators; uses the current provider of `Agents` where possible. */
export const OwnAgents = token<AgentDirectory>('agents/agents')

/** Number of agents read in one query. */
const PAGE_SIZE = 1_000
/** Maximum number of agents paused or resumed in one transaction. */
const BATCH_SIZE = 100
/** Maximum number of problems that the notice above a list of agents names. */
const NOTICED_PROBLEMS = 3
/** Maximum number of agents that the error for an unknown agent names. */
const NAMED = 8
/** Maximum number of agents whose names are compared with an unknown one. */
const COMPARED = 1_000

interface AgentPage {
  limit?: number | undefined
  offset?: number
}

/** What can be done with agents, in every interface. */
export class AgentDirectory implements Agents {
  readonly #svc: PluginHandle

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  get #store(): Store {
    return this.#svc.use(Store)
  }

  find(ref: string, asker?: string): Promise<AgentRow> {
    return this.#find(ref, this.#svc.clock.ms(), asker)
  }

  async #find(ref: string, over: number, asker?: string): Promise<AgentRow> {
    const [agent, ...others] = await findAgents(this.#store, ref, over)
    if (!agent) {
      if (asker === undefined) throw new AgentNotFoundError({ ref, known: await listNames(this.#store, COMPARED) })
      const others = await this.listOthers(asker, NAMED)
      throw new AgentNotFoundError({ ref, others: others.map(({ agent_id, name }) => `${agent_id} (${name})`) })
    }
    if (others.length > 0) throw new AmbiguousAgentError({ ref, ids: [agent, ...others].map(each => each.agent_id) })
    return agent
  }

  list({ limit, offset = 0 }: AgentPage): Promise<AgentRow[]> {
    return listAgents(this.#store, this.#svc.clock.ms(), limit ?? -1, offset)
  }

  /** Returns the summaries of agents, in the order of their creation. */
  summaries({ limit = Number.POSITIVE_INFINITY, offset = 0, status, all = true }: AgentFilter & AgentPage) {
    const key = `agents ${limit} ${offset} ${status ?? ''} ${all}`
    return this.#store.readCached(key, () => this.#summaries(limit, offset, { status, all }))
  }

  /** Returns the same summaries, each with the time since which the daemon is frozen. */
  status(wanted: AgentFilter & AgentPage): Promise<StatusEntry[]> {
    const { limit, offset, status, all } = wanted
    return this.#store.readCached(`status ${limit} ${offset} ${status ?? ''} ${all}`, async () => {
      const since = await frozenSince(this.#svc)
      const frozen_since = isoTime(since)
      const found = (await this.summaries(wanted)).map(agent => ({ ...agent, frozen_since }))
      Object.freeze(found)
      return found
    })
  }

  /** Returns the line that says why no agent works, or which problems modules report; undefined without either. */
  async notice(): Promise<string | undefined> {
    const blocked = await this.blockOfAll()
    if (blocked !== undefined) return blocked
    const problems = await reportedProblems(this.#svc)
    const left = problems.length - NOTICED_PROBLEMS
    const more = left > 0 ? [`${pluralize(left, 'more problem')}: svc daemon`] : []
    return [...problems.slice(0, NOTICED_PROBLEMS), ...more].join('; ') || undefined
  }

  async blockOfAll(): Promise<string | undefined> {
    const since = await frozenSince(this.#svc)
    if (since === null) return daemonProblem(this.#svc)
    return `The daemon has been frozen since ${isoTime(since)}: no agent works. Resume it with: svc daemon resume`
  }

  async #summaries(limit: number, offset: number, filter: AgentFilter): Promise<SummaryRow[]> {
    const over = await leasesOver(this.#svc)
    const found: SummaryRow[] = []
    while (found.length < limit) {
      const last = found.at(-1)
      const wanted = Math.min(PAGE_SIZE, limit - found.length)
      const after = last ?? { spawned_at: Number.MIN_SAFE_INTEGER, n: 0 }
      const rows = await listSummaries(this.#store, over, filter, after, wanted, last ? 0 : offset)
      found.push(...rows)
      if (rows.length < PAGE_SIZE) break
      await this.#svc.clock.yield()
    }
    Object.freeze(found)
    return found
  }

  async fleet(query: FleetQuery): Promise<Fleet> {
    return fleetPage(await readFleet(this.#svc), query)
  }

  /** Returns the number of agents that match. */
  async number({ status, all = true }: AgentFilter = {}): Promise<number> {
    const matching = status === undefined ? await this.#number() : (await this.counts())[status]
    return matching - (await this.countHidden({ status, all }))
  }

  #number(): Promise<number> {
    return this.#store.readCached('agents', () => numberOfAgents(this.#store))
  }

  /** Returns the number of ended sub-agents that a list leaves out. */
  async countHidden({ status, all = true }: AgentFilter): Promise<number> {
    if (all || (status !== undefined && status !== 'dead')) return 0
    return this.#store.readCached('ended sub-agents', () => countEndedSubAgents(this.#store))
  }

  hasAlive(preset: string): Promise<boolean> {
    return hasAlive(this.#store, preset)
  }

  async counts() {
    return countAgents(this.#store, await leasesOver(this.#svc))
  }

  async peers(agent_id: string, limit: number): Promise<string[]> {
    const peers = await listPeers(this.#store, agent_id, limit)
    return peers.map(each => {
      const state = each.paused_at === null ? (each.objective ?? 'idle') : 'paused'
      return sanitizeLine(`${idAndName(each)}: ${each.role}; ${state}`)
    })
  }

  async listOthers(agent_id: string, limit: number) {
    const peers = await listPeers(this.#store, agent_id, limit)
    return peers.map(({ agent_id: id, name, role }) => ({ agent_id: id, name, role }))
  }

  waitingNudges(agent_id: string) {
    return waitingNudges(this.#store, agent_id)
  }

  nudgesDelivered(nudge_ids: readonly string[]) {
    return nudgesDelivered({ nudge_ids: [...nudge_ids] })
  }

  recordOutcome(outcome: Parameters<Agents['recordOutcome']>[0]) {
    return recordAgentOutcome(outcome)
  }

  async profileOf(agent: AgentRow, when?: 'now' | 'beat'): Promise<Profile> {
    return shapeProfile(this.#svc.list(ProfileShapes), agent, await this.#svc.use(Profiles).get(agent.preset, when))
  }

  create(agent: NewAgent) {
    const { agent_id, name, preset } = agent
    return [
      insertAgent(agent),
      appendEvent({ type: 'agent_spawned', agent_id, data: { agent_id, name, preset } }),
      wakeAgents({ agents: [agent_id], reason: 'spawned' }),
    ]
  }

  markDead(agent_id: string) {
    return [agentDied({ agent_id }), appendEvent({ type: 'agent_died', agent_id, data: { agent_id } })]
  }

  /** Makes an agent from a preset, with a first goal if one is given; it is due at once. @throws ProfileNotFoundError, ModelNameError, AgentNameTakenError, FolderError */
  async spawn(
    preset: string,
    { name, model, goal, ...wanted }: FolderSelection & Partial<Record<'name' | 'model' | 'goal', string | undefined>>,
    also: readonly Effect[] = [],
  ): Promise<AgentRow> {
    const profile = await this.#svc.use(Profiles).read(preset)
    if (model) await this.#svc.use(Models).resolve(model)
    if (name !== undefined) await this.#checkName(name)
    const agent_id = this.#svc.ports.ids.make(preset, 8)
    const given = await foldersFor(this.#svc, wanted, profile)
    const per = wanted.worktree ?? profile.worktree
    const { effects, ...folders } = per ? await worktreeFor(this.#svc, agent_id, given, per) : { ...given, effects: [] }
    const own = { name: name ?? profile.name, role: profile.role, model: model ?? profile.model }
    const agent = { agent_id, ...own, preset, spawned_by: null, ...folders }
    const first = goal === undefined ? [] : this.#svc.use(FirstGoals).add(agent_id, goal)
    const claim = name === undefined ? [] : [claimName({ agent_id, name })]
    const isStored = await this.#store.apply([...this.create(agent), ...claim, ...effects, ...first, ...also])
    // Another spawn may have taken the name meanwhile.
    if (!isStored && name !== undefined) await this.#checkName(name)
    return this.find(agent_id)
  }

  /** @throws AgentNameTakenError when the name, or an id equal to it, already refers to an agent */
  async #checkName(name: string): Promise<void> {
    const [taken] = await findAgents(this.#store, name, this.#svc.clock.ms())
    if (taken) throw new AgentNameTakenError({ name, agent_id: taken.agent_id })
  }

  /** @throws AgentNotFoundError, AmbiguousAgentError, ModelNameError, FolderError */
  async update(
    ref: string,
    changes: FolderSelection & { model?: string | undefined; role?: string | undefined },
  ): Promise<AgentDetail> {
    const agent = await this.find(ref)
    const { agent_id } = agent
    const { model, role } = changes
    if (model) await this.#svc.use(Models).resolve(model)
    const given = Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined))
    const movesFolders = changes.workspace !== undefined || changes.folders !== undefined
    const was = { workspace: agent.workspace, folders: [...agent.folders] }
    const folders = movesFolders ? await updateFolders(this.#svc, changes, was) : {}
    await this.#change(agent_id, [
      updateAgent({ agent_id, model, role, ...folders }),
      appendEvent({ type: 'agent_changed', agent_id, data: { agent_id, changes: Object.keys(given) } }),
      wakeAgents({ agents: [agent_id], reason: 'changed' }),
    ])
    return this.detail(agent_id)
  }

  /** Removes the agent with all of its rows; its files go to the trash. */
  async delete(ref: string): Promise<DeletedAgent> {
    const agent = await this.find(ref)
    const { agent_id } = agent
    const kept_branches: DeletedAgent['kept_branches'] = []
    for (const hook of this.#svc.list(DeleteHooks)) {
      const logFailure = (error: unknown) => this.#svc.log.warn({ agent_id }, `${hook.name}: ${errorMessage(error)}`)
      kept_branches.push(...((await hook.part(agent).catch(logFailure)) ?? []))
    }
    await this.#change(agent_id, [
      deleteAgent({ agent_id }),
      appendEvent({ type: 'agent_deleted', agent_id, data: { agent_id } }),
    ])
    await moveToTrash(this.#svc, agent_id)
    return { agent_id, kept_branches }
  }

  /** Stores an operator's message and wakes the agent. It reaches the next prompt, also between two steps of a pursuit. */
  async nudge(ref: string, message: string, also: readonly Effect[] = [], given: ImageInputs = []): Promise<string> {
    const { agent_id } = await this.#alive(ref)
    const images = await keepGiven(this.#svc, given)
    const nudge_id = this.#svc.ports.ids.make('nudge', 8)
    await this.#store.apply([...nudgeEffects({ nudge_id, agent_id, message, images }), ...also])
    return nudge_id
  }

  nudgeEffects(agent_id: string, message: string): Effect[] {
    return nudgeEffects({ nudge_id: this.#svc.ports.ids.make('nudge', 8), agent_id, message, images: [] })
  }

  async pause(ref: string): Promise<AgentRow> {
    const { agent_id, paused_at } = await this.#alive(ref)
    if (paused_at === null) {
      await this.#store.apply([
        pauseAgent({ agent_id }),
        appendEvent({ type: 'agent_changed', agent_id, data: { agent_id, changes: ['paused'] } }),
      ])
    }
    return this.find(agent_id)
  }

  async resume(ref: string): Promise<AgentRow> {
    const { agent_id, paused_at } = await this.#alive(ref)
    if (paused_at !== null) {
      await this.#store.apply([
        resumeAgent({ agent_id }),
        appendEvent({ type: 'agent_changed', agent_id, data: { agent_id, changes: ['resumed'] } }),
        wakeAgents({ agents: [agent_id], reason: 'resumed' }),
      ])
    }
    return this.find(agent_id)
  }

  /** Pauses or resumes all live agents, in batches. */
  async pauseOrResumeAll(verb: 'pause' | 'resume'): Promise<void> {
    let last: Pick<AliveRow, 'spawned_at' | 'n'> = { spawned_at: Number.MIN_SAFE_INTEGER, n: 0 }
    for (;;) {
      const some = await listAlive(this.#store, verb === 'pause' ? 'awake' : 'paused', last, BATCH_SIZE)
      if (some.length === 0) return
      last = some.at(-1)!
      const agents = some.map(({ agent_id }) => agent_id)
      await this.#store.apply([
        ...agents.map(agent_id => (verb === 'pause' ? pauseAgent : resumeAgent)({ agent_id })),
        ...agents.map(agent_id =>
          appendEvent({ type: 'agent_changed', agent_id, data: { agent_id, changes: [`${verb}d`] } }),
        ),
        ...(verb === 'resume' ? [wakeAgents({ agents, reason: 'resumed' })] : []),
      ])
      await this.#svc.clock.yield()
    }
  }

  async detail(ref: string): Promise<AgentDetail> {
    return this.detailOf(await this.#find(ref, await leasesOver(this.#svc)))
  }

  async detailOf(agent: AgentRow): Promise<AgentDetail> {
    const spend = await spendOf(this.#store, agent.agent_id)
    // A preset that is broken or gone must not hide the agent.
    const profile = await this.profileOf(agent).catch(() => null)
    return {
      ...summaryOf(agent),
      preset: agent.preset,
      goal_id: agent.goal_id,
      waiting_for: agent.waiting_for,
      error: agent.error,
      persona: profile?.persona ? { ...profile.persona, personality: profile.personality } : null,
      suffering: null,
      mood: null,
      world: null,
      identity: null,
      budget: null,
      parameters: null,
      sandbox: null,
      ...(await this.#facets(agent)),
      workspace: agentReach(this.#svc.project, agent).workspace,
      folders: [...agent.folders],
      spawned_by: agent.spawned_by,
      created_at: isoTime(agent.created_at),
      last_active: isoTime(agent.last_active),
      next_run_at: agent.run_at === null || agent.run_at > 8.64e15 ? null : isoTime(agent.run_at),
      next: await nextOf(this.#svc, agent),
      cycle_count: agent.cycle_num,
      cost_usd: usdOf(spend.cost_micros),
      tokens: spend.tokens,
    }
  }

  async #facets(agent: AgentRow): Promise<Partial<AgentDetail>> {
    const facets = this.#svc.list(AgentFacets)
    // A facet that fails, as where the preset is broken, must not hide the agent.
    const read = async ({ name, read }: (typeof facets)[number]) => {
      const logFailure = (error: unknown) => {
        this.#svc.log.warn({ agent_id: agent.agent_id }, `cannot show "${name}" of the agent: ${errorMessage(error)}`)
        return null
      }
      return [name, await (async () => read(agent))().catch(logFailure)]
    }
    return Object.fromEntries(await Promise.all(facets.map(read)))
  }

  async #alive(ref: string): Promise<AgentRow> {
    const agent = await this.find(ref)
    if (agent.died_at !== null) throw new AgentDeadError({ agent_id: agent.agent_id })
    return agent
  }

  /** A must-change write that changed nothing means that the agent was deleted in between. */
  async #change(agent_id: string, effects: Parameters<Store['apply']>[0]): Promise<void> {
    if (!(await this.#store.apply(effects))) throw new AgentNotFoundError({ ref: agent_id })
  }
}

function summaryOf({ agent_id, name, role, model, status, objective }: AgentRow): AgentSummary {
  return { agent_id, name, role, model, status, goal: objective }
}

function nudgeEffects(nudge: Parameters<typeof insertNudge>[0]): Effect[] {
  const { agent_id, nudge_id } = nudge
  return [
    insertNudge(nudge),
    appendEvent({ type: 'nudge_received', agent_id, data: { agent_id, nudge_id } }),
    wakeAgents({ agents: [agent_id], reason: 'nudge' }),
  ]
}
