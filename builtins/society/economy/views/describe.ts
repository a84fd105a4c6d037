import type { PluginHandle } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { sanitize, sanitizeLine } from '#lib/sanitize'
import { Store } from '#platform/store/contract'
import type { EconomyConfig } from '../config.ts'
import { amount, type Citizen, centsOf, creditsOf, USABLE, type World } from '../contract.ts'
import { allCourses, allJobs, jobOf } from '../jobs.ts'
import { listOffers, openOrders } from '../market/market.ts'
import { type CitizenRow, jobHolders, skillsOf, totalsOf } from '../repository.ts'

/** Maximum number of list lines shown to an agent. */
const SHOWN = 30

/** Returns a citizen in its public form. */
export async function shownCitizen(svc: PluginHandle, row: CitizenRow): Promise<Citizen> {
  const job = jobOf(svc, row.job_id)
  const skills = await skillsOf(svc.use(Store), row.agent_id)
  return {
    agent_id: row.agent_id,
    balance: creditsOf(row.balance),
    job: job?.title ?? row.job_id,
    salary: job?.salary ?? 0,
    skills: Object.fromEntries([...skills].map(([skill, level]) => [skill, level / 1000])),
    happiness: row.happiness / 1000,
    health: row.health / 1000,
    reputation: row.reputation / 1000,
    energy: row.energy / 1000,
    cycles_alive: row.cycles_alive,
    sheltered: row.sheltered === 1,
    insolvencies: row.insolvencies,
    plays: row.plays,
    wins: row.wins,
  }
}

const percent = (thousandths: number) => `${Math.round(thousandths / 10)} %`

/** Returns the agent's economic status in two lines. */
export function statusLine(svc: PluginHandle, config: EconomyConfig, row: CitizenRow): string {
  const job = jobOf(svc, row.job_id)
  const work = job
    ? `You are ${job.title} and are paid ${amount(centsOf(job.salary))} at each heartbeat; \`work\` pays extra.`
    : `You have no job: find a free one with query_world (query_type jobs), and take it with apply_job. Until then, each call of \`work\` pays ${amount(centsOf(config.casual_wage))}.`
  const rent = row.sheltered
    ? `You were insolvent and live in a shelter, without rent, until you have ${amount(centsOf(config.starting_balance))}.`
    : rentLine(config, row)
  const debt =
    row.balance < 0
      ? ` You are in debt; with a debt of more than ${amount(centsOf(config.credit_limit))} you become insolvent.`
      : ''
  return `You have ${amount(row.balance)} credits. ${work} ${rent}${debt}`
}

function rentLine({ rent, rent_every }: EconomyConfig, { cycles_alive }: CitizenRow): string {
  const left = pluralize(rent_every - (cycles_alive % rent_every), 'heartbeat')
  const then = rent_every === 1 ? 'at each heartbeat' : `in ${left}, then every ${rent_every}`
  return `Rent is ${amount(centsOf(rent) * rent_every)}, due ${then}.`
}

/** Returns health, energy, happiness and reputation in one line. */
export function conditionLine({ health, energy, happiness, reputation }: CitizenRow): string {
  const warnings = [
    ...(health < 300 ? [' Look after your health.'] : []),
    ...(energy < 150 ? [' You are too tired to work: rest.'] : []),
  ]
  return `Health ${percent(health)}, energy ${percent(energy)}, contentment ${percent(happiness)}, reputation ${percent(reputation)}.${warnings.join('')}`
}

/** Returns the answer of the tool `query_world`. */
export async function describePart(
  svc: PluginHandle,
  config: EconomyConfig,
  row: CitizenRow,
  part: Parameters<World['describe']>[1],
): Promise<string> {
  const store = svc.use(Store)
  switch (part) {
    case 'status':
      return [statusLine(svc, config, row), conditionLine(row)].join('\n')
    case 'jobs': {
      const holders = new Map((await jobHolders(store)).map(each => [each.job_id, each]))
      const lines = allJobs(svc).map(({ id, title, salary, skill }) => {
        const holder = holders.get(id)
        const who = holder ? (holder.agent_id === row.agent_id ? 'yours' : `taken by ${sanitize(holder.name)}`) : 'free'
        return `- ${id}: ${title}, ${amount(centsOf(salary))} at each heartbeat${skill ? `, needs ${skill} at ${percent(USABLE)}` : ''}, ${who}`
      })
      return listLines(lines, 'jobs')
    }
    case 'skills': {
      const skills = await skillsOf(store, row.agent_id)
      const by = Math.round(config.skill_increment * 100)
      const lines = allCourses(svc, config).map(
        ({ skill, cost }) =>
          `- ${skill}: your level is ${percent(skills.get(skill) ?? 0)}; a course costs ${amount(centsOf(cost))} and adds ${by} %`,
      )
      return listLines(lines, 'courses')
    }
    case 'finances': {
      const lines = (await totalsOf(store, row.agent_id)).map(
        ({ reason, income, expense }) => `- ${sanitize(reason)}: ${amount(income)} in, ${amount(expense)} out`,
      )
      return [
        statusLine(svc, config, row),
        'Your income and expenses so far, by reason:',
        listLines(lines, 'entries'),
      ].join('\n')
    }
    case 'market': {
      const offers = await listOffers(store, SHOWN + 1)
      const orders = await openOrders(store, row.agent_id)
      // Text of other agents is quoted, on one line each.
      const lines = offers.map(
        ({ offer_id, agent_id, name, title, price }) =>
          `- ${offer_id}: "${oneLine(title)}" for ${amount(price)}, by ${agent_id === row.agent_id ? 'you' : oneLine(name)}`,
      )
      const open = orders.map(({ order_id, title, seller, price }) =>
        seller === row.agent_id
          ? `- ${order_id}: deliver "${oneLine(title)}" for ${amount(price)}`
          : `- ${order_id}: you wait for "${oneLine(title)}"`,
      )
      return [
        'Offers of services:',
        listLines(lines, 'offers'),
        ...(open.length > 0 ? ['Your open orders:', ...open] : []),
      ].join('\n')
    }
  }
}

function listLines(lines: readonly string[], what: string): string {
  if (lines.length === 0) return `[There are no ${what}.]`
  const more = lines.length > SHOWN ? [`[and ${lines.length - SHOWN} more]`] : []
  return [...lines.slice(0, SHOWN), ...more].join('\n')
}

function oneLine(text: string): string {
  return sanitizeLine(text).slice(0, 200)
}
