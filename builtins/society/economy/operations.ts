import { AgentNotFoundError, AgentRef, Agents, AmbiguousAgentError } from '#core/agents/contract'
import { operation, type PluginHandle, z } from '#kernel'
import { Page } from '#lib/list'
import { isoTime, Store } from '#platform/store/contract'
import { EconomySettings } from './config.ts'
import { ACCOUNTS, Citizen, creditsOf, EconomyOffError, LifeMoment, World, WorldError } from './contract.ts'
import { allCourses, allJobs } from './jobs.ts'
import { LifeCatalogue } from './life/catalogue.ts'
import { countLife, type LifeRow, listLife } from './life/repository.ts'
import { accountOf } from './market/ledger.ts'
import { listOffers } from './market/market.ts'
import { auditAccounts, beatOf, countEntries, jobHolders, listEntries } from './repository.ts'
import { renderLedger, renderLife, renderWorld } from './views/render.ts'
import { Ledger, WorldView } from './views/views.ts'

const found = [AgentNotFoundError, AmbiguousAgentError, EconomyOffError, WorldError] as const
const MAX_OFFERS = 100

const idOf = async (svc: PluginHandle, ref: string) => (await svc.use(Agents).find(ref)).agent_id

export const economyWorld = operation({
  name: 'economy.world',
  summary: 'Show the world: jobs, courses, offers and prices',
  description: 'Also works while economy.enabled is off; `enabled` says whether it is on.',
  input: z.object({}),
  output: WorldView,
  http: { method: 'GET', path: '/world' },
  cli: { usage: 'world' },
  mcp: true,
  async run(_, { svc }) {
    const store = svc.use(Store)
    const holders = new Map((await jobHolders(store)).map(holder => [holder.job_id, holder]))
    return {
      enabled: svc.use(EconomySettings).enabled,
      beat: await beatOf(store),
      jobs: allJobs(svc).map(({ id, title, salary, skill = null }) => {
        const holder = holders.get(id)
        return {
          job_id: id,
          title,
          salary,
          skill,
          agent_id: holder?.agent_id ?? null,
          holder: holder?.name ?? null,
        }
      }),
      courses: [...allCourses(svc, svc.use(EconomySettings))],
      offers: (await listOffers(store, MAX_OFFERS)).map(({ name, price, ...offer }) => ({
        ...offer,
        seller: name,
        price: creditsOf(price),
      })),
      rent: svc.use(EconomySettings).rent,
      lottery: {
        cost: svc.use(EconomySettings).lottery_cost,
        win_chance: svc.use(EconomySettings).lottery_win_chance,
        payout: svc.use(EconomySettings).lottery_payout,
      },
      blackjack: { win_rate: svc.use(EconomySettings).blackjack_win_rate, pays: 2 },
    }
  },
  render: renderWorld,
})

export const economyCitizen = operation({
  name: 'economy.citizen',
  summary: "Show an agent's balance, job, skills and health",
  description: 'Also shows its energy, happiness and reputation. Needs economy.enabled.',
  input: z.object({ id: AgentRef }),
  output: Citizen,
  http: { method: 'GET', path: '/agents/{id}/world' },
  cli: { usage: 'world of <id>' },
  mcp: true,
  errors: found,
  async run({ id }, { svc }) {
    const agent_id = await idOf(svc, id)
    if (!svc.use(EconomySettings).enabled) throw new EconomyOffError()
    return svc.use(World).citizen(agent_id)
  },
})

export const economyLedger = operation({
  name: 'economy.ledger',
  summary: 'Show the ledger and whether it balances',
  description: 'Includes the newest entries of all agents, or of one agent.',
  input: z.object({
    agent: AgentRef.optional().describe('Only entries in which this agent pays or is paid'),
    limit: z.int().min(1).max(1000).default(20).describe('Maximum number of entries (1 to 1000)'),
    offset: Page.shape.offset,
  }),
  output: Ledger,
  http: { method: 'GET', path: '/world/ledger' },
  cli: { usage: 'ledger [agent]', short: { limit: 'n' } },
  mcp: true,
  errors: [AgentNotFoundError, AmbiguousAgentError],
  async run({ agent, limit, offset }, { svc }) {
    const store = svc.use(Store)
    const account = agent === undefined ? undefined : accountOf(await idOf(svc, agent))
    const audited = await auditAccounts(store)
    const total = audited.reduce((sum, { balance }) => sum + balance, 0)
    const kind = (name: string) => ACCOUNTS.find(each => each === name) ?? ('agent' as const)
    return {
      balanced: total === 0 && audited.every(({ balance, moved }) => balance === moved),
      total: creditsOf(total),
      accounts: audited
        .filter(each => account === undefined || each.account === account)
        .map(each => ({
          account: each.account,
          kind: kind(each.account),
          balance: creditsOf(each.balance),
          moved: creditsOf(each.moved),
        })),
      entries: (await listEntries(store, account, limit, offset)).map(({ seq: _, ...entry }) => ({
        ...entry,
        amount: creditsOf(entry.amount),
        at: isoTime(entry.at),
      })),
    }
  },
  count: async ({ agent }, { svc }) =>
    countEntries(svc.use(Store), agent === undefined ? undefined : accountOf(await idOf(svc, agent))),
  render: renderLedger,
})

export const economyLife = operation({
  name: 'economy.life',
  summary: "List an agent's life events, newest first",
  description: 'Lists what happened to the agent and what it chose.',
  input: Page.extend({ id: AgentRef }),
  output: z.array(LifeMoment),
  http: { method: 'GET', path: '/agents/{id}/life' },
  cli: { usage: 'life <id>', defaults: { limit: 20 }, short: { limit: 'n' } },
  mcp: true,
  errors: [AgentNotFoundError, AmbiguousAgentError],
  async run({ id, limit = -1, offset }, { svc }) {
    const rows = await listLife(svc.use(Store), await idOf(svc, id), limit, offset)
    if (!rows.some(({ status }) => status === 'waiting')) return rows.map(row => shownMoment(row))
    const events = await new LifeCatalogue(svc).all()
    return rows.map(row => shownMoment(row, events.get(row.event)?.text))
  },
  count: async ({ id }, { svc }) => countLife(svc.use(Store), await idOf(svc, id)),
  render: renderLife,
})

export const economyOperations = [economyWorld, economyCitizen, economyLedger, economyLife]

/** @param text text of the event, which stands for the summary until a choice is made */
function shownMoment(row: LifeRow, text?: string): LifeMoment {
  const { life_event_id, beat, event, category, origin, status, choice, chosen_by } = row
  const summary = row.summary ?? text ?? null
  return {
    life_event_id,
    beat,
    event,
    category,
    origin,
    status,
    choice,
    chosen_by,
    summary,
    luck: row.luck === null ? null : row.luck / 1000,
    effects: row.effects === null ? null : (JSON.parse(row.effects) as Record<string, number>),
    at: isoTime(row.at),
  }
}
