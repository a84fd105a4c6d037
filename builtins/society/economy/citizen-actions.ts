import { createHash } from 'node:crypto'
import { Agents } from '#core/agents/contract'
import type { PluginHandle } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { sanitize, sanitizeLine } from '#lib/sanitize'
import { Store, wakeAgents } from '#platform/store/contract'
import {
  changeStats,
  enterStatements,
  hire,
  learnSkill,
  leaveJob,
  playOnce,
  reachMilestone,
  workOnce,
  worldChanged,
} from './citizens.ts'
import type { EconomyConfig } from './config.ts'
import {
  amount,
  type Citizen,
  type CitizenAction,
  centsOf,
  creditsOf,
  EconomyOffError,
  type Job,
  USABLE,
  type World,
  WorldError,
} from './contract.ts'
import { isWorldPaused } from './economy-beat.ts'
import { allCourses, allJobs, isAble, jobOf } from './jobs.ts'
import { accountOf, moveMoney, payMoney } from './market/ledger.ts'
import {
  DELIVERY_BEATS,
  deleteOffer,
  endOrder,
  findOffer,
  findOrder,
  insertOffer,
  MOST_OFFERS,
  numberOfOffers,
  placeOrder,
} from './market/market.ts'
import { beatOf, type CitizenRow, findCitizen, findEntry, mayEnter, skillsOf } from './repository.ts'
import { describePart, shownCitizen } from './views/describe.ts'

/** Cost and gain of one `work` call, in thousandths. */
const WORK = { energy: 150, reputation: 5 }
/** Number of retries of a bet when another bet of the same agent came in between. */
const TRIES = 5

/** Actions of agents in the economy: each runs in its own transaction, keyed by the tool call that requested it. */
export class CitizenActions implements World {
  readonly #svc: PluginHandle
  readonly #config: EconomyConfig

  constructor(svc: PluginHandle, config: EconomyConfig) {
    this.#svc = svc
    this.#config = config
  }

  async citizen(agent_id: string): Promise<Citizen> {
    return shownCitizen(this.#svc, await this.#row(agent_id))
  }

  async describe(agent_id: string, part: Parameters<World['describe']>[1]): Promise<string> {
    return describePart(this.#svc, this.#config, await this.#row(agent_id), part)
  }

  async work({ agent_id, key }: CitizenAction) {
    const { work_per_beat: limit, casual_wage, overtime } = this.#config
    const citizen = await this.#awake(agent_id)
    const salary = jobOf(this.#svc, citizen.job_id)?.salary
    const pay = centsOf(salary === undefined ? casual_wage : salary * overtime)
    const beat = await beatOf(this.#store)
    const entry_id = `work:${key}`
    if (!(await findEntry(this.#store, entry_id))) {
      const wage = { beat, payer: 'employers', payee: accountOf(agent_id), amount: pay, reason: 'work' }
      const done = await this.#store.apply([
        workOnce({ agent_id, beat, limit, ...WORK }),
        ...(pay > 0 ? [moveMoney({ entry_id, ...wage })] : []),
      ])
      if (!done) {
        const tired = citizen.energy < WORK.energy
        throw this.#refusal(
          tired
            ? `you are too tired to work: it takes ${WORK.energy / 10} % energy and you have ${citizen.energy / 10} %; rest for some heartbeats`
            : `you have worked ${pluralize(limit, 'time')} in this heartbeat, which is the maximum; work again in the next heartbeat`,
        )
      }
    }
    const after = await this.#row(agent_id)
    const left = after.worked_beat === beat ? Math.max(0, limit - after.worked) : limit
    return { pay: creditsOf(pay), balance: creditsOf(after.balance), energy: after.energy / 1000, left }
  }

  async apply({ agent_id }: CitizenAction, job_id: string): Promise<Job> {
    const citizen = await this.#awake(agent_id)
    const job = allJobs(this.#svc).find(({ id }) => id === job_id)
    if (!job) throw this.#refusal(`there is no job "${job_id}"; look at them with query_world, query_type jobs`)
    if (citizen.job_id === job_id) return job
    if (citizen.job_id !== null) throw this.#refusal(`you have a job already (${citizen.job_id}); quit_job first`)
    if (!isAble(job, await skillsOf(this.#store, agent_id)))
      throw this.#refusal(`${job.title} needs the skill ${job.skill} at ${USABLE / 10} %; learn it first`)
    const beat = await beatOf(this.#store)
    const text = `Became ${job.title}.`
    const hired = await this.#store.apply([
      hire({ agent_id, job_id, beat }),
      reachMilestone({ agent_id, milestone: `job:${job_id}`, beat, text }),
      worldChanged({ agent_id, change: 'hired', summary: text }),
    ])
    if (!hired) throw this.#refusal(`the job ${job_id} is taken; look for a free one with query_world, query_type jobs`)
    return job
  }

  async quit({ agent_id }: CitizenAction): Promise<Job> {
    const { job_id } = await this.#awake(agent_id)
    if (job_id === null) throw this.#refusal('you have no job to quit')
    const job = jobOf(this.#svc, job_id) ?? { id: job_id, title: job_id, salary: 0 }
    const summary = `Quit as ${job.title}.`
    await this.#store.apply([leaveJob({ agent_id }), worldChanged({ agent_id, change: 'quit', summary })])
    return job
  }

  async learn({ agent_id, key }: CitizenAction, skill: string) {
    await this.#awake(agent_id)
    const courses = allCourses(this.#svc, this.#config)
    const course = courses.find(each => each.skill === skill)
    if (!course)
      throw this.#refusal(
        `there is no course in "${skill}"; the available courses are ${courses.map(each => each.skill).join(', ')}`,
      )
    const known = (await skillsOf(this.#store, agent_id)).get(skill) ?? 0
    const by = Math.round(this.#config.skill_increment * 1000)
    const cost = centsOf(course.cost)
    const entry_id = `course:${key}`
    if (!(await findEntry(this.#store, entry_id))) {
      if (known >= 1000) throw this.#refusal(`you have mastered ${skill} already`)
      const beat = await beatOf(this.#store)
      const usable = known < USABLE && known + by >= USABLE
      const text = `Learnt ${skill} well enough to use it.`
      const fee = { beat, payer: accountOf(agent_id), payee: 'school', amount: cost, reason: 'course' }
      await this.#pay(agent_id, `a course in ${skill} costs ${amount(cost)}`, entry_id, [
        ...(cost > 0 ? [payMoney({ entry_id, ...fee })] : []),
        learnSkill({ agent_id, skill, by }),
        ...(usable ? [reachMilestone({ agent_id, milestone: `skill:${skill}`, beat, text })] : []),
        ...(usable ? [worldChanged({ agent_id, change: 'learned', summary: text })] : []),
      ])
    }
    const level = (await skillsOf(this.#store, agent_id)).get(skill) ?? 0
    return { level: level / 1000, cost: course.cost, balance: creditsOf((await this.#row(agent_id)).balance) }
  }

  async gamble(
    { agent_id, key }: CitizenAction,
    game: 'blackjack' | 'lottery',
    wager = this.#config.default_gamble_wager,
  ) {
    const { lottery_cost, lottery_win_chance, lottery_payout, blackjack_win_rate } = this.#config
    const ticket = game === 'lottery'
    const chance = ticket ? lottery_win_chance : blackjack_win_rate
    const percent = `${Math.round(chance * 1000) / 10} %`
    for (let tries = 0; tries < TRIES; tries++) {
      const citizen = await this.#awake(agent_id)
      const stake = ticket ? centsOf(lottery_cost) : Math.min(centsOf(wager), Math.max(0, citizen.balance))
      const odds = ticket
        ? `a ticket costs ${amount(centsOf(lottery_cost))} and wins ${amount(centsOf(lottery_payout))} with a chance of ${percent}`
        : `it pays twice the wager with a chance of ${percent}`
      const before = await findEntry(this.#store, `bet:${key}`)
      if (before) {
        const win = await findEntry(this.#store, `win:${key}`)
        const { balance } = citizen
        return { won: creditsOf(win?.amount ?? 0), stake: creditsOf(before.amount), balance: creditsOf(balance), odds }
      }
      if (stake <= 0 || stake > citizen.balance)
        throw this.#refusal('you have nothing to bet with; earn something first')
      // Luck depends only on the agent and the number of the bet, so that neither a retry nor the order of agents
      // changes it.
      const won = this.#svc.ports.random.number('world.gamble', agent_id, citizen.plays + 1) < chance
      const prize = ticket ? centsOf(lottery_payout) : 2 * stake
      const beat = await beatOf(this.#store)
      const purse = accountOf(agent_id)
      const bet = { entry_id: `bet:${key}`, beat, payer: purse, payee: 'house', amount: stake, reason: 'bet' }
      const win = { entry_id: `win:${key}`, beat, payer: 'house', payee: purse, amount: prize, reason: 'win' }
      const written = await this.#store.apply([
        playOnce({ agent_id, plays: citizen.plays, won }),
        payMoney(bet),
        ...(won && prize > 0 ? [moveMoney(win)] : []),
        changeStats({ agent_id, happiness: won ? 20 : -10, health: 0, reputation: 0, energy: 0 }),
      ])
      if (!written) continue
      const { balance } = await this.#row(agent_id)
      return { won: creditsOf(won ? prize : 0), stake: creditsOf(stake), balance: creditsOf(balance), odds }
    }
    throw this.#refusal('another bet of yours was placed at the same time; try again')
  }

  async transfer({ agent_id, key }: CitizenAction, to: string, credits: number, note: string) {
    const citizen = await this.#awake(agent_id)
    const other = await this.#svc.use(Agents).find(to, agent_id)
    if (other.agent_id === agent_id) throw this.#refusal('you cannot pay yourself')
    if (other.died_at !== null) throw this.#refusal(`${other.name} is dead and cannot be paid`)
    await this.#row(other.agent_id)
    const entry_id = `transfer:${key}`
    const cents = centsOf(credits)
    if (!(await findEntry(this.#store, entry_id))) {
      const [payer, payee] = [accountOf(agent_id), accountOf(other.agent_id)]
      const beat = await beatOf(this.#store)
      const reason = note ? `transfer: ${sanitize(note).slice(0, 100)}` : 'transfer'
      const pay = payMoney({ entry_id, beat, payer, payee, amount: cents, reason })
      await this.#pay(agent_id, `the transfer takes ${amount(cents)}`, entry_id, [pay])
    }
    const { balance } = (await findCitizen(this.#store, agent_id)) ?? citizen
    return { to: other.agent_id, balance: creditsOf(balance) }
  }

  async offer({ agent_id, key }: CitizenAction, title: string, price: number) {
    await this.#awake(agent_id)
    const offer_id = idOf('offer', key)
    if (await findOffer(this.#store, offer_id)) return { offer_id }
    if ((await numberOfOffers(this.#store, agent_id)) >= MOST_OFFERS)
      throw this.#refusal(`you have ${MOST_OFFERS} offers already; withdraw one first`)
    await this.#store.apply([insertOffer({ offer_id, agent_id, title: sanitizeLine(title), price: centsOf(price) })])
    return { offer_id }
  }

  async withdraw({ agent_id }: CitizenAction, offer_id: string) {
    const offer = await findOffer(this.#store, offer_id)
    if (offer?.agent_id !== agent_id) throw this.#refusal(`you have no offer "${offer_id}"`)
    await this.#store.apply([deleteOffer({ offer_id, agent_id })])
  }

  async buy({ agent_id, key }: CitizenAction, offer_id: string, request: string) {
    await this.#awake(agent_id)
    const order_id = idOf('order', key)
    const known = await findOrder(this.#store, order_id)
    const offer = await findOffer(this.#store, offer_id)
    if (!known) {
      if (!offer) throw this.#refusal(`there is no offer "${offer_id}"; look with query_world, query_type market`)
      if (offer.agent_id === agent_id) throw this.#refusal('that is your own offer')
      const { price } = offer
      const beat = await beatOf(this.#store)
      const payment = { beat, payer: accountOf(agent_id), payee: 'escrow', amount: price, reason: 'order' }
      const order = {
        order_id,
        offer_id,
        buyer: agent_id,
        price,
        request: sanitize(request),
        due_beat: beat + DELIVERY_BEATS,
      }
      await this.#pay(agent_id, `the offer costs ${amount(price)}`, `order:${key}`, [
        payMoney({ entry_id: `order:${key}`, ...payment }),
        placeOrder(order),
        wakeAgents({ agents: [offer.agent_id], reason: 'an order' }),
      ])
    }
    const { balance } = await this.#row(agent_id)
    return { order_id, seller: known?.seller ?? offer?.agent_id ?? '', balance: creditsOf(balance) }
  }

  async deliver({ agent_id }: CitizenAction, order_id: string, result: string) {
    await this.#awake(agent_id)
    const order = await findOrder(this.#store, order_id)
    if (order?.seller !== agent_id) throw this.#refusal(`you have no order "${order_id}" to deliver`)
    const { price, buyer } = order
    if (order.status === 'open') {
      const beat = await beatOf(this.#store)
      const pay = { beat, payer: 'escrow', payee: accountOf(agent_id), amount: price, reason: 'sale' }
      await this.#store.apply([
        endOrder({ order_id, status: 'delivered', result: sanitize(result) }),
        moveMoney({ entry_id: `sale:${order_id}`, ...pay }),
        changeStats({ agent_id, happiness: 10, health: 0, reputation: 10, energy: 0 }),
        wakeAgents({ agents: [buyer], reason: 'a delivery' }),
      ])
    }
    const after = await findOrder(this.#store, order_id)
    if (after?.status !== 'delivered')
      throw this.#refusal(`${order_id} was not delivered in time; its buyer was refunded`)
    return { price: creditsOf(price), balance: creditsOf((await this.#row(agent_id)).balance) }
  }

  get #store(): Store {
    return this.#svc.use(Store)
  }

  /**
   * Commits a payment together with the purchase.
   * @throws WorldError when the balance is too low
   */
  async #pay(agent_id: string, price: string, entry_id: string, effects: Parameters<Store['apply']>[0]): Promise<void> {
    if (await this.#store.apply(effects)) return
    if (await findEntry(this.#store, entry_id)) return
    const { balance } = await this.#row(agent_id)
    throw this.#refusal(`${price}, and you have ${amount(balance)}`)
  }

  async #awake(agent_id: string): Promise<CitizenRow> {
    if (await isWorldPaused(this.#svc))
      throw this.#refusal('the world is paused, because the operator has frozen the daemon; try again later')
    return this.#row(agent_id)
  }

  /**
   * Returns the citizen. An agent that is not a citizen yet becomes one.
   * @throws EconomyOffError, WorldError
   */
  async #row(agent_id: string): Promise<CitizenRow> {
    if (!this.#config.enabled) throw new EconomyOffError()
    const known = await findCitizen(this.#store, agent_id)
    if (known) return known
    if (!(await mayEnter(this.#store, agent_id)))
      throw this.#refusal(`${agent_id} cannot take part in the world: it is dead or a sub-agent`)
    await this.#store.apply(
      enterStatements(agent_id, await beatOf(this.#store), centsOf(this.#config.starting_balance)),
    )
    return (await findCitizen(this.#store, agent_id)) as CitizenRow
  }

  #refusal(problem: string) {
    return new WorldError({ problem })
  }
}

function idOf(prefix: string, key: string): string {
  return `${prefix}-${createHash('sha256').update(key).digest('hex').slice(0, 8)}`
}
