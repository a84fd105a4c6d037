import {
  type AgentDetail,
  type AgentRow,
  Agents,
  type NewAgent,
  ProfileShapes,
  shapeProfile,
} from '#core/agents/contract'
import type { CallPurpose } from '#core/models/contract'
import { type Profile, Profiles } from '#core/profiles/contract'
import type { PluginHandle, z } from '#kernel'
import { appendEvent, Store, usdOf } from '#platform/store/contract'
import { microsOf } from './config.ts'
import { type AgentBudgetExhausted, AgentBudgetExhaustedError } from './contract.ts'
import { noteExhausted, pursuitSpend, type TotalLimit, totalOf } from './repository.ts'
import { dollars } from './status.ts'

const ABOVE = `WITH RECURSIVE above(agent_id, spawned_by, distance) AS (
    SELECT agent_id, spawned_by, 0 FROM agents_view WHERE agent_id = ?
    UNION ALL SELECT a.agent_id, a.spawned_by, distance + 1 FROM agents_view a JOIN above ON a.agent_id = above.spawned_by)
  SELECT a.agent_id, a.name, a.role, a.given_role, a.model, a.preset, a.spawned_by FROM above
  JOIN agents_view a ON a.agent_id = above.agent_id ORDER BY distance`

/**
 * Returns the total limits for an agent's calls: its own and those of the agents above it, nearest first. Transient
 * profile shapes are skipped: they cannot change limits, and would cost a read per call.
 */
async function totalLimits(svc: PluginHandle, agent_id: string | null): Promise<TotalLimit[]> {
  if (agent_id === null || !svc.has(Profiles)) return []
  const shapes = svc.list(ProfileShapes).filter(({ passing }) => !passing)
  const limits: TotalLimit[] = []
  for (const agent of await svc.use(Store).all<NewAgent>(ABOVE, [agent_id])) {
    const profile = await shapeProfile(shapes, agent, await svc.use(Profiles).get(agent.preset, 'beat'))
    const micros = microsOf(profile.max_total_cost_usd)
    if (micros > 0) limits.push({ agent_id: agent.agent_id, micros })
  }
  return limits
}

/** Returns the total limits for a call: from its purpose if that has them, else from the database. */
export function limitsOn(
  svc: PluginHandle,
  purpose: Pick<CallPurpose, 'agent_id' | 'root_agent_id' | 'max_total_cost_usd'>,
): Promise<TotalLimit[]> | TotalLimit[] {
  const { agent_id, root_agent_id, max_total_cost_usd } = purpose
  if (agent_id === null || root_agent_id !== agent_id || max_total_cost_usd === undefined)
    return totalLimits(svc, agent_id)
  const micros = microsOf(max_total_cost_usd)
  return micros > 0 ? [{ agent_id, micros }] : []
}

/**
 * Refuses a pursuit when its agent and those working for it have spent `max_cost_usd`. @throws
 * AgentBudgetExhaustedError
 */
export async function checkPursuit(
  svc: PluginHandle,
  { kind, agent_id, root_agent_id, task_id, max_cost_usd = 0 }: CallPurpose,
): Promise<void> {
  const payer = root_agent_id ?? agent_id
  const isPursuit = kind === 'goal_pursuit' || (kind === 'summary' && task_id === undefined)
  if (!isPursuit || max_cost_usd === 0 || payer === null) return
  const limit = microsOf(max_cost_usd)
  const spent = await pursuitSpend(svc.use(Store), payer)
  if (spent < limit) return
  await report(svc, { agent_id: payer, key: 'max_cost_usd', limit, spent })
  throw new AgentBudgetExhaustedError({ agent_id: payer, spent: dollars(spent), limit: dollars(limit) })
}

/** Refuses a call whose maximum cost would exceed a total limit. @throws AgentBudgetExhaustedError */
export async function checkTotals(svc: PluginHandle, limits: readonly TotalLimit[], needed: number): Promise<void> {
  for (const { agent_id, micros: limit } of limits) {
    const { spent, held } = await totalOf(svc.use(Store), agent_id)
    if (spent + held + needed <= limit) continue
    // Reserved amounts may still be released, so the limit counts as exhausted only without them.
    if (spent + needed > limit) await report(svc, { agent_id, key: 'max_total_cost_usd', limit, spent })
    throw new AgentBudgetExhaustedError({
      agent_id,
      spent: dollars(spent),
      limit: dollars(limit),
      total: {
        held: held > 0 ? dollars(held) : undefined,
        next: spent < limit ? dollars(needed) : undefined,
        raise: dollars(spent + held + needed),
      },
    })
  }
}

interface Exhaustion {
  agent_id: string
  key: z.infer<typeof AgentBudgetExhausted>['key']
  limit: number
  spent: number
}

/** Appends the event `agent_budget_exhausted`, once for each value of the limit. */
async function report(svc: PluginHandle, { agent_id, key, limit, spent }: Exhaustion): Promise<void> {
  const data = { agent_id, key, limit_usd: usdOf(limit), spent_usd: usdOf(spent) }
  await svc
    .use(Store)
    .apply([
      noteExhausted({ agent_id, key, limit_micros: limit }),
      appendEvent({ type: 'agent_budget_exhausted', agent_id, data }),
    ])
}

/** Returns the smallest remaining share of the limits on an agent; null, without a database read, when none is set. */
export async function shareLeft(svc: PluginHandle, agent: AgentRow, profile: Profile): Promise<number | null> {
  const { agent_id, root_agent_id } = agent
  const { max_cost_usd, max_total_cost_usd } = profile
  const store = svc.use(Store)
  const totals = await limitsOn(svc, { agent_id, root_agent_id, max_total_cost_usd })
  const left = totals.map(async ({ agent_id, micros }) => 1 - (await totalOf(store, agent_id)).spent / micros)
  if (max_cost_usd > 0)
    left.push(pursuitSpend(store, root_agent_id ?? agent_id).then(spent => 1 - spent / microsOf(max_cost_usd)))
  return left.length === 0 ? null : Math.max(0, Math.min(...(await Promise.all(left))))
}

/**
 * Returns both limits of an agent with the amounts that count against them; of several total limits, the one with the
 * least remaining.
 */
export async function agentBudget(svc: PluginHandle, agent: AgentRow): Promise<AgentDetail['budget']> {
  const store = svc.use(Store)
  const { max_cost_usd } = await svc.use(Agents).profileOf(agent)
  const payer = agent.root_agent_id
  const own = { agent_id: agent.agent_id, limit: null, ...(await totalOf(store, agent.agent_id)) }
  const limited = (await totalLimits(svc, agent.agent_id)).map(async ({ agent_id, micros }) => {
    return { agent_id, limit: micros, ...(await totalOf(store, agent_id)) }
  })
  const remaining = ({ limit, spent, held }: { limit: number; spent: number; held: number }) => limit - spent - held
  const [total = own] = (await Promise.all(limited)).sort((a, b) => remaining(a) - remaining(b))
  return {
    pursuits: {
      agent_id: payer,
      limit_usd: max_cost_usd || null,
      spent_usd: usdOf(await pursuitSpend(store, payer)),
    },
    total: {
      agent_id: total.agent_id,
      limit_usd: total.limit === null ? null : usdOf(total.limit),
      spent_usd: usdOf(total.spent),
      reserved_usd: usdOf(total.held),
    },
  }
}
