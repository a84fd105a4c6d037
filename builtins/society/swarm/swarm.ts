import { isDeepStrictEqual } from 'node:util'
import { Memory } from '#core/memory/contract'
import { errorMessage, type PluginHandle, SvcError, token } from '#kernel'
import { sanitize } from '#lib/sanitize'
import { Freeze } from '#platform/daemon/contract'
import { appendEvent, Store } from '#platform/store/contract'
import type { SwarmConfig } from './config.ts'
import {
  type RouteCandidate,
  type Specialists,
  type Specialization,
  type SwarmAction,
  type SwarmEffect,
  type SwarmLearning,
  SwarmPolicies,
  type SwarmReport,
  SwarmReportNotFoundError,
  type SwarmSituation,
  TaskTypes,
} from './contract.ts'
import type { Records } from './records.ts'
import { learn } from './report.ts'
import {
  findReport,
  lastCompleted,
  listAvailableAgents,
  listReports,
  openEffects,
  recentOutcomes,
  standingEffects,
  typesOf,
  unfinishedEffects,
} from './repository.ts'
import { routeScore, specializationOf } from './specialization.ts'
import { classify } from './task-types.ts'
import { insertEffects, insertReport, markReverted, moveEffect, moveEffects, trimReports } from './writes.ts'

/** Number of heartbeats between two evaluations. */
const EVERY = 5
/** Number of each agent's latest ended goals that count. */
const LAST_GOALS = 50
/** Minimum number of goals of a kind whose experience is shared. */
const TEACHER_GOALS = 3
/** Maximum length of a goal's result that is shared, in characters. */
const LONGEST_RESULT = 1_500
/** Number of active goals from which an agent counts as busy, when delegation is off. */
const BUSY = 5

/** Words that say nothing about the kind of work. */
const COMMON_WORDS = new Set(
  'this that with from into your their them they what when which where have will work'.split(' '),
)

/** Findings that are reported again when they change. */
const findingsOf = ({ figures, recommendations }: SwarmLearning) => ({ figures, recommendations })

/** The swarm service including operator actions, delegated to the current provider where possible. */
export const OwnSwarm = token<Swarm>('swarm/swarm')

/** Evaluates the results of all agents, records findings, and executes the policy's actions. */
export class Swarm implements Specialists {
  readonly #svc: PluginHandle
  readonly #config: SwarmConfig
  readonly #records: Records

  constructor(svc: PluginHandle, config: SwarmConfig, records: Records) {
    this.#svc = svc
    this.#config = config
    this.#records = records
  }

  get acting(): boolean {
    return this.#config.policy !== 'passive'
  }

  get #store(): Store {
    return this.#svc.use(Store)
  }

  /**
   * Handles a heartbeat: completes unfinished effects, and on every fifth evaluates results. Does nothing while the
   * daemon is frozen.
   */
  async onHeartbeat(beat: number): Promise<void> {
    if (this.#svc.has(Freeze) && (await this.#svc.use(Freeze).isFrozen())) return
    await this.#records.look()
    try {
      if (beat % EVERY === 0) await this.#learn(beat)
      await this.finish()
    } catch (error) {
      this.#svc.log.warn({ beat }, `swarm learning failed at this heartbeat: ${errorMessage(error)}`)
    }
  }

  /** Returns an agent's specialization. */
  async specialization(agent_id: string): Promise<Specialization> {
    await this.#records.look()
    return specializationOf(agent_id, (await typesOf(this.#store, agent_id)).get(agent_id) ?? [])
  }

  async specializations(): Promise<Specialization[]> {
    await this.#records.look()
    return [...(await typesOf(this.#store))].map(([agent_id, types]) => specializationOf(agent_id, types))
  }

  async candidates(task: string, except: string | null): Promise<RouteCandidate[]> {
    const task_type = classify(this.#svc.list(TaskTypes), task, [])
    const known = new Map((await this.specializations()).map(each => [each.agent_id, each]))
    const standing = this.acting ? await openEffects(this.#store) : []
    const rests = new Set(standing.filter(({ kind }) => kind === 'rest').map(({ agent_id }) => agent_id))
    const routes = standing.filter(({ kind, topic }) => kind === 'route' && topic === task_type)
    const preferred = new Set(routes.map(({ agent_id }) => agent_id))
    const most = Number(this.#svc.config.get('delegation.max_active_goals') ?? BUSY)
    return (await listAvailableAgents(this.#store))
      .filter(({ agent_id, active }) => agent_id !== except && active < most && !rests.has(agent_id))
      .map(agent => {
        const { agent_id, active } = agent
        const specialization = known.get(agent_id)
        const goals = specialization?.types.find(type => type.task_type === task_type)?.goals ?? 0
        const score = routeScore(specialization, task_type)
        const fit = sharedWords(task, agent)
        return { agent_id, task_type, score, goals, active_goals: active, preferred: preferred.has(agent_id), fit }
      })
      .sort(
        (a, b) =>
          Number(b.preferred) - Number(a.preferred) ||
          b.score - a.score ||
          b.fit - a.fit ||
          a.active_goals - b.active_goals ||
          (a.agent_id < b.agent_id ? -1 : 1),
      )
      .map(({ fit: _, ...candidate }) => candidate)
  }

  /** @throws SwarmReportNotFoundError */
  async report(report_id: string): Promise<SwarmReport> {
    const found = await findReport(this.#store, report_id)
    if (!found) throw new SwarmReportNotFoundError({ report_id })
    return found
  }

  /** Reverts the open effects of a report; they are not applied again while their reason lasts. Idempotent. */
  async revert(report_id: string): Promise<SwarmReport> {
    const { effects } = await this.report(report_id)
    const [memories, others] = [effects.filter(isMemory), effects.filter(effect => !isMemory(effect))]
    const ids = (some: readonly SwarmEffect[]) => some.map(({ effect_id }) => effect_id)
    const from = ['planned', 'in_force']
    await this.#store.apply([
      markReverted({ report_id }),
      moveEffects({ effect_ids: ids(memories), from, to: 'reverting' }),
      moveEffects({ effect_ids: ids(others), from, to: 'reverted' }),
      appendEvent({ type: 'swarm_reverted', agent_id: null, data: { report_id } }),
    ])
    await this.finish()
    return this.report(report_id)
  }

  /** Applies and reverts effects on memory. Interrupted ones are completed at the next heartbeat, once each by id. */
  async finish(): Promise<void> {
    if (!this.#svc.has(Memory)) return
    for (const effect of await unfinishedEffects(this.#store)) {
      try {
        await (effect.status === 'planned' ? this.#applyEffect(effect) : this.#revertEffect(effect))
      } catch (error) {
        if (!(error instanceof SvcError)) throw error
        const { agent_id, effect_id } = effect
        this.#svc.log.info({ agent_id }, `${effect_id} was not carried out: ${error.message}`)
        if (error.status < 500) await this.#store.apply([moveEffect({ effect_id, from: effect.status, to: 'ended' })])
      }
    }
  }

  async #applyEffect(effect: SwarmEffect): Promise<void> {
    const { effect_id, report_id, agent_id, text } = effect
    const memory = this.#svc.use(Memory)
    const id = memory.idOf(`swarm/${effect_id}`)
    await memory.of(agent_id).store(text, { kind: 'swarm', report_id }, id)
    // Reverted in the meantime: the revert may have run before the memory was stored.
    if (!(await this.#store.apply([moveEffect({ effect_id, from: 'planned', to: 'in_force' })])))
      await memory.of(agent_id).forget(id)
  }

  async #revertEffect({ effect_id, agent_id }: SwarmEffect): Promise<void> {
    const memory = this.#svc.use(Memory)
    await memory.of(agent_id).forget(memory.idOf(`swarm/${effect_id}`))
    await this.#store.apply([moveEffect({ effect_id, from: 'reverting', to: 'reverted' })])
  }

  async #learn(beat: number): Promise<void> {
    const store = this.#store
    const outcomes = await recentOutcomes(store, LAST_GOALS)
    if (outcomes.length === 0) return
    const specializations = await this.specializations()
    const [before] = await listReports(store, 1, 0)
    const learned = learn(outcomes, specializations, before?.figures)
    const policy = this.#svc.find(SwarmPolicies, this.#config.policy)
    if (!policy)
      this.#svc.log.warn(
        { beat },
        `there is no swarm policy "${this.#config.policy}", so no action is taken. Set swarm.policy to an existing policy.`,
      )
    const wanted = policy?.act(await this.#situation(learned, specializations)) ?? []
    const standing = await standingEffects(store)
    const report_id = `swr-${beat}`
    const { figures, recommendations } = learned
    const data = { report_id, beat, success_rate: figures.success_rate, recommendations: recommendations.length }
    await store.apply([
      insertReport({ report_id, beat, policy: this.#config.policy, learned }),
      ...effectsToEnd(standing, wanted),
      insertEffects({
        report_id,
        effects: numberActions(report_id, newActions(standing, wanted, this.#svc.has(Memory))),
      }),
      trimReports({}),
      ...(isDeepStrictEqual(findingsOf(learned), before && findingsOf(before))
        ? []
        : [appendEvent({ type: 'swarm_learned', agent_id: null, data })]),
    ])
  }

  async #situation(learned: SwarmLearning, specializations: readonly Specialization[]): Promise<SwarmSituation> {
    const best = new Map<string, NonNullable<ReturnType<SwarmSituation['best']>>>()
    const types = new Set(specializations.flatMap(each => each.types.map(({ task_type }) => task_type)))
    for (const task_type of types) {
      const [first] = specializations
        .filter(({ strengths, types: own }) => {
          const record = own.find(type => type.task_type === task_type)
          return strengths.includes(task_type) && record !== undefined && record.goals >= TEACHER_GOALS
        })
        .sort((a, b) => routeScore(b, task_type) - routeScore(a, task_type) || (a.agent_id < b.agent_id ? -1 : 1))
      const goal = first && (await lastCompleted(this.#store, first.agent_id, task_type))
      if (!first || !goal) continue
      const result = sanitize(goal.result ?? '').slice(0, LONGEST_RESULT)
      best.set(task_type, { ...goal, agent_id: first.agent_id, objective: sanitize(goal.objective), result })
    }
    return { learned, specializations, best: task_type => best.get(task_type) }
  }
}

/** Returns the number of the task's words that the agent's name and role contain. */
function sharedWords(task: string, { name, role }: { name: string; role: string }): number {
  const own = `${name} ${role}`.toLowerCase()
  const words = new Set(task.toLowerCase().match(/\p{L}{4,}/gu) ?? [])
  return [...words].filter(word => !COMMON_WORDS.has(word) && own.includes(word)).length
}

const isMemory = ({ kind }: SwarmEffect) => kind === 'memory'
const keyOf = ({ kind, topic, agent_id }: SwarmAction | SwarmEffect) => JSON.stringify([kind, topic, agent_id])

/** Returns the requested actions that are neither in force nor reverted. */
function newActions(
  standing: readonly SwarmEffect[],
  wanted: readonly SwarmAction[],
  hasMemory: boolean,
): SwarmAction[] {
  const known = new Set(standing.map(keyOf))
  return wanted.filter(action => {
    const isNew = !known.has(keyOf(action)) && (hasMemory || action.kind !== 'memory')
    known.add(keyOf(action))
    return isNew
  })
}

function numberActions(report_id: string, actions: readonly SwarmAction[]) {
  return actions.map((action, n) => ({ effect_id: `${report_id}-${n + 1}`, ...action }))
}

/**
 * Returns the writes that end effects no longer requested, except memories. Reverted ones may be applied again if their
 * reason returns.
 */
function effectsToEnd(standing: readonly SwarmEffect[], wanted: readonly SwarmAction[]) {
  const keys = new Set(wanted.map(keyOf))
  const ceased = standing.filter(effect => !keys.has(keyOf(effect)))
  const ids = (some: readonly SwarmEffect[]) => some.map(({ effect_id }) => effect_id)
  return [
    moveEffects({ effect_ids: ids(ceased.filter(effect => !isMemory(effect))), from: ['in_force'], to: 'ended' }),
    moveEffects({ effect_ids: ids(ceased), from: ['reverted'], to: 'lifted' }),
  ]
}
