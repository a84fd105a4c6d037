import { array, assert, asyncProperty, constantFrom, integer, record } from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CheckpointParts } from '#core/checkpoints/contract'
import daemon from '#platform/daemon/index'
import retention from '#platform/retention/index'
import { centsOf } from '#society/economy/contract'
import { Agents, Courses, definePlugin, Jobs, Retention, Store } from '../../../index.ts'
import { writeDirectly } from '../../support/direct-access.ts'
import type { TestHost } from '../../support/index.ts'
import { detail, spawn } from '../core/models/model-host.ts'
import { citizen, ledger, testHostWithEconomy } from './economy-host.ts'

const QUIET = { life_events: false }
type World = Awaited<ReturnType<typeof testHostWithEconomy>>

const balance = async (home: TestHost, id: string) => (await citizen(home, id)).balance
const entries = (home: TestHost, reason?: string) =>
  home.kernel
    .use(Store)
    .all<{ entry_id: string; beat: number; payer: string; payee: string; amount: number; reason: string }>(
      `SELECT entry_id, beat, payer, payee, amount, reason FROM world_entries WHERE reason = coalesce(?, reason) ORDER BY entry_id`,
      [reason ?? null],
    )
const set = (home: TestHost, id: string, sql: string) =>
  home.kernel.use(Store).all(`UPDATE world_citizens SET ${sql} WHERE agent_id = ? RETURNING 1`, [id])
const agentsOf = ({ kernel }: TestHost) => kernel.use(Agents)

describe('a disabled economy', () => {
  it('adds no tools, facts or paydays, and reports that it is off', async () => {
    await using home = await testHostWithEconomy({ rules: { enabled: false } })
    const [ann] = home.ids as [string]
    await home.runBeats(3)
    expect(await entries(home)).toEqual([])
    await expect(home.use('work')).rejects.toThrow('there is no tool work')
    expect(await detail(home, ann)).toMatchObject({ world: null })
    expect(await home.kernel.invoke('economy.world', {})).toMatchObject({ enabled: false, beat: 0 })
    await expect(citizen(home, ann)).rejects.toMatchObject({ code: 'economy_off', status: 409 })
  })
})

describe('a beat of the world', () => {
  it('is processed once, however often and by however many processes it is emitted', async () => {
    await using home = await testHostWithEconomy({ rules: QUIET, agents: 2 })
    await using other = await testHostWithEconomy({ rules: QUIET, agents: 0, root: home.root })
    const [ann, bob] = home.ids as [string, string]
    await home.use('apply_job', { job_id: 'researcher' })
    await Promise.all(
      [1, 2, 3, 3, 2, 4].flatMap(beat => [home, other].map(each => each.kernel.hooks.emit('beat', { beat }))),
    )
    const paid = await entries(home, 'salary')
    expect(new Set(paid.map(({ beat }) => beat)).size).toBe(paid.length)
    expect(paid.at(-1)).toMatchObject({ entry_id: `salary:4:${ann}`, amount: 4_000, payer: 'employers' })
    expect((await citizen(home, ann)).cycles_alive).toBe(paid.length)
    expect(await balance(home, ann)).toBe(100 + 40 * paid.length)
    expect(await balance(home, bob)).toBe(100)
  })

  it('skips agents that are paused, waiting for approval, dead or sub-agents', async () => {
    await using home = await testHostWithEconomy({ rules: QUIET, agents: 4 })
    const [ann, bob, cleo, dan] = home.ids as [string, string, string, string]
    for (const [id, job_id] of [
      [ann, 'clerk'],
      [bob, 'courier'],
      [cleo, 'gardener'],
      [dan, 'analyst'],
    ] as const)
      await home.use('apply_job', { job_id }, id)
    await home.kernel.invoke('agents.pause', { id: bob })
    const store = home.kernel.use(Store)
    await store.apply(agentsOf(home).markDead(cleo))
    await store.all(
      `INSERT INTO approvals (approval_id, agent_id, tool_name, arguments, args_hash, created_at) VALUES ('ap-1', ?, 't', '{}', 'h', 1) RETURNING 1`,
      [dan],
    )
    const child = { agent_id: 'sub-1', name: 'child', role: 'r', model: '', preset: 'worker', spawned_by: ann }
    await store.apply(agentsOf(home).create(child))
    await home.runBeats(2)
    expect((await entries(home, 'salary')).map(({ payee }) => payee)).toEqual([`agent:${ann}`, `agent:${ann}`])
    await expect(citizen(home, 'sub-1')).rejects.toThrow('cannot take part in the world: it is dead or a sub-agent')
  })

  it('pays no salary and allows no work while the daemon is frozen', async () => {
    await using home = await testHostWithEconomy({ rules: QUIET, builtins: [daemon] })
    await home.use('apply_job', { job_id: 'clerk' })
    await home.kernel.invoke('daemon.pause', {})
    await home.runBeats(3)
    expect(await entries(home, 'salary')).toEqual([])
    expect(await home.use('work')).toContain('the world is paused')
    await home.kernel.invoke('daemon.resume', {})
    await home.runBeats(1)
    expect(await entries(home, 'salary')).toHaveLength(1)
  })

  it('charges rent per heartbeat, and moves agents that cannot pay to a shelter without debt', async () => {
    await using home = await testHostWithEconomy({ rules: { ...QUIET, rent: 20, rent_every: 10, credit_limit: 250 } })
    const [ann] = home.ids as [string]
    await home.runBeats(10)
    expect(await balance(home, ann)).toBe(-100)
    await home.runBeats(9)
    expect(await balance(home, ann)).toBe(-100)
    const before = await citizen(home, ann)
    await home.runBeats(1)
    const after = await citizen(home, ann)
    expect(after).toMatchObject({ balance: 0, sheltered: true, insolvencies: 1 })
    expect(after.reputation).toBeCloseTo(before.reputation - 0.2)
    await home.runBeats(30)
    expect(await citizen(home, ann)).toMatchObject({ balance: 0, sheltered: true })
    for (let n = 0; n < 10; n++) {
      await home.use('work')
      await set(home, ann, 'worked = 0, energy = 1000')
    }
    await home.runBeats(1)
    expect(await citizen(home, ann)).toMatchObject({ balance: 100, sheltered: false })
    expect((await ledger(home)).balanced).toBe(true)
  })

  it('sends an agent without health to the clinic, or lets it die if agents are mortal', async () => {
    await using home = await testHostWithEconomy({ rules: QUIET })
    await using mortal = await testHostWithEconomy({ rules: { ...QUIET, mortal: true } })
    for (const each of [home, mortal]) {
      await each.runBeats(1)
      await set(each, each.ids[0]!, 'health = 0')
      await each.runBeats(1)
    }
    expect(await citizen(home, home.ids[0]!)).toMatchObject({ health: 0.3, balance: -200 })
    expect(await detail(home, home.ids[0]!)).toMatchObject({ status: 'idle' })
    expect(await detail(mortal, mortal.ids[0]!)).toMatchObject({ status: 'dead' })
  })
})

it.each([
  ['insolvency', "UPDATE world_accounts SET balance = -90000 WHERE account LIKE 'agent:%'"],
  ['the clinic', 'UPDATE world_citizens SET health = 0'],
])('%s wakes an agent once', async (_, sql) => {
  await using home = await testHostWithEconomy({ rules: QUIET })
  const store = home.kernel.use(Store)
  const wakes = async () => (await store.get<{ wakes: number }>("SELECT wakes FROM leases WHERE kind = 'agent'"))!.wakes
  await home.runBeats(1)
  const before = await wakes()
  await writeDirectly(home.root, sql)
  await home.runBeats(2)
  expect(await wakes()).toBe(before + 1)
})

describe('jobs and skills', () => {
  it('a job has one holder, and becomes free when the holder quits, dies or is deleted', async () => {
    await using home = await testHostWithEconomy({ rules: QUIET, agents: 4 })
    const [ann, bob, cleo, dan] = home.ids as [string, string, string, string]
    const take = (id: string) => home.use('apply_job', { job_id: 'analyst' }, id)
    const tries = await Promise.all(home.ids.map(take))
    expect(tries.filter(each => each.startsWith('You are Analyst'))).toHaveLength(1)
    expect(await take(tries[0]!.startsWith('You are') ? bob : ann)).toContain('the job analyst is taken')
    for (const id of home.ids) await home.use('quit_job', {}, id)
    expect(await take(ann)).toContain('You are Analyst')
    await home.kernel.use(Store).apply(agentsOf(home).markDead(ann))
    expect(await take(bob)).toContain('You are Analyst')
    await home.kernel.invoke('agents.delete', { id: bob })
    expect(await take(cleo)).toContain('You are Analyst')
    expect(await home.use('apply_job', { job_id: 'clerk' }, cleo)).toContain('quit_job first')
    expect(await take(dan)).toContain('is taken')
  })

  it('a skilled job needs two courses, which an unskilled job can pay for', async () => {
    await using home = await testHostWithEconomy({ rules: QUIET })
    const job = () => home.use('apply_job', { job_id: 'architect' })
    expect(await job()).toContain('needs the skill architecture at 50 %')
    await home.use('learn', { skill_name: 'architecture' })
    expect(await home.use('learn', { skill_name: 'architecture' })).toBe(
      'error: a course costs 80.00, and you have 20.00'.replace('a course', 'a course in architecture'),
    )
    await home.use('apply_job', { job_id: 'researcher' })
    await home.runBeats(2)
    expect(await home.use('learn', { skill_name: 'architecture' })).toContain(
      'Your architecture is at 50 %, and you have 20.00',
    )
    await home.use('quit_job')
    expect(await job()).toBe('You are Architect now and are paid 100.00 at each heartbeat.')
    expect(await home.use('learn', { skill_name: 'juggling' })).toContain('the available courses are code_review')
  })

  it('plugins add jobs and courses with their own prices', async () => {
    const circus = definePlugin({
      name: 'circus',
      setup(svc) {
        svc.add(Jobs, { id: 'juggler', title: 'Juggler', salary: 5, skill: 'juggling' })
        svc.add(Courses, { skill: 'juggling', cost: 3 })
      },
    })
    await using home = await testHostWithEconomy({ rules: { ...QUIET, skill_increment: 0.5 }, builtins: [circus] })
    expect(await home.use('learn', { skill_name: 'juggling' })).toContain('You paid 3.00')
    expect(await home.use('apply_job', { job_id: 'juggler' })).toContain('You are Juggler')
  })

  it('work pays half a salary, costs energy and has a limit per beat; a repeated call counts once', async () => {
    await using home = await testHostWithEconomy({ rules: QUIET })
    const [ann] = home.ids as [string]
    await home.runBeats(1)
    await home.use('apply_job', { job_id: 'analyst' })
    for (let n = 0; n < 3; n++) await home.use('work', {}, ann, 'the same call')
    expect(await citizen(home, ann)).toMatchObject({ balance: 125, energy: 0.85 })
    await home.use('work')
    expect(await home.use('work')).toContain('you have worked 2 times in this heartbeat')
    await home.runBeats(1)
    await set(home, ann, 'energy = 100')
    expect(await home.use('work')).toContain('you are too tired to work')
  })
})

describe('gambling', () => {
  it('has the stated odds, a separate account and a fixed ticket price', async () => {
    await using home = await testHostWithEconomy({
      rules: { ...QUIET, starting_balance: 100_000, blackjack_win_rate: 0.48 },
      seed: 7,
    })
    const [ann] = home.ids as [string]
    for (let n = 0; n < 400; n++) await home.use('gamble', { wager: 1 })
    const { plays, wins } = await citizen(home, ann)
    // Within four standard deviations of a binomial distribution.
    expect(Math.abs(wins - plays * 0.48)).toBeLessThan(4 * Math.sqrt(plays * 0.48 * 0.52))
    const host = (await ledger(home)).accounts.find(({ account }) => account === 'house')!
    expect(host.balance).toBe(plays - 2 * wins)
    const said = await home.use('gamble', { game: 'lottery', wager: 0.01 })
    expect(said).toContain('with a stake of 10.00')
    expect(said).toContain('a ticket costs 10.00 and wins 200.00 with a chance of 5 %')
  })

  it('ignores a repeated call and counts every concurrent bet', async () => {
    await using home = await testHostWithEconomy({ rules: { ...QUIET, starting_balance: 20 } })
    const [ann] = home.ids as [string]
    const first = await home.use('gamble', { wager: 5 }, ann, 'one bet')
    expect(await home.use('gamble', { wager: 5 }, ann, 'one bet')).toBe(first)
    await Promise.all([1, 2, 3].map(() => home.use('gamble', { wager: 1 })))
    expect((await citizen(home, ann)).plays).toBe(4)
    while ((await balance(home, ann)) > 0) await home.use('gamble', { wager: 100 })
    expect(await home.use('gamble')).toContain('you have nothing to bet with')
  })
})

describe('the market', () => {
  it('holds the price in escrow until delivery, and informs both agents', async () => {
    await using home = await testHostWithEconomy({ rules: QUIET, agents: 2 })
    const [ann, bob] = home.ids as [string, string]
    const offer = /offer-\w+/.exec(await home.use('offer_service', { title: 'Proofreading <b>', price: 30 }, ann))![0]
    expect(await home.use('query_world', { query_type: 'market' }, bob)).toContain(
      `${offer}: "Proofreading" for 30.00, by worker`,
    )
    const order = /order-\w+/.exec(
      await home.use('buy_service', { offer_id: offer, request: 'My poem' }, bob, 'purchase'),
    )![0]
    expect(await home.use('buy_service', { offer_id: offer, request: 'My poem' }, bob, 'purchase')).toContain(order)
    expect([await balance(home, ann), await balance(home, bob)]).toEqual([100, 70])
    const { PendingMessages } = await import('../../../index.ts')
    const news = async (id: string) =>
      home.kernel
        .list(PendingMessages)
        .find(({ name }) => name === 'market')!
        .pending(id)
    const messages = await news(ann)
    expect(messages.items[0]!.text).toContain('My poem')
    await home.kernel.use(Store).apply(messages.acknowledgements)
    expect((await news(ann)).items).toEqual([])
    expect(await home.use('deliver_service', { order_id: order, result: 'It rhymes' }, bob)).toContain(
      'you have no order',
    )
    for (let n = 0; n < 2; n++) await home.use('deliver_service', { order_id: order, result: 'It rhymes' }, ann)
    expect([await balance(home, ann), await balance(home, bob)]).toEqual([130, 70])
    expect((await news(bob)).items[0]).toMatchObject({ text: 'Proofreading: It rhymes' })
    expect(await home.use('buy_service', { offer_id: offer, request: 'Another' }, ann)).toContain('your own offer')
    await home.use('offer_service', { withdraw: offer }, ann)
    expect(await home.use('buy_service', { offer_id: offer, request: 'Another' }, bob)).toContain('there is no offer')
  })

  it('refunds the price when the seller is deleted, and refuses a purchase that the buyer cannot pay', async () => {
    await using home = await testHostWithEconomy({ rules: { ...QUIET, rent: 0 }, agents: 2 })
    const [ann, bob] = home.ids as [string, string]
    const offer = async (price: number) =>
      /offer-\w+/.exec(await home.use('offer_service', { title: 'Help', price }, ann))![0]
    expect(await home.use('buy_service', { offer_id: await offer(500), request: 'All of it' }, bob)).toContain(
      'the offer costs 500.00, and you have 100.00',
    )
    await home.use('buy_service', { offer_id: await offer(60), request: 'All of it' }, bob)
    const wakes = async () =>
      (await home.kernel.use(Store).get<{ wakes: number }>('SELECT wakes FROM leases_view WHERE id = ?', [bob]))!.wakes
    const before = await wakes()
    await home.kernel.invoke('agents.delete', { id: ann })
    await home.runBeats(1)
    expect([await balance(home, bob), await wakes()]).toEqual([100, before + 1])
    expect((await ledger(home)).accounts.find(({ account }) => account === 'departed')!.balance).toBe(100)
    expect((await ledger(home)).balanced).toBe(true)
  })

  it('agents can pay each other what they have, and no more', async () => {
    await using home = await testHostWithEconomy({ rules: QUIET, agents: 2 })
    const [ann, bob] = home.ids as [string, string]
    expect(await home.use('pay_agent', { to: bob, amount: 40, note: 'for lunch' }, ann)).toContain('have 60.00')
    expect(await home.use('pay_agent', { to: bob, amount: 61 }, ann)).toContain(
      'the transfer takes 61.00, and you have 60.00',
    )
    expect(await home.use('pay_agent', { to: ann, amount: 1 }, ann)).toContain('you cannot pay yourself')
    expect(await home.use('pay_agent', { to: 'cat', amount: 1 }, ann)).toMatch(/"cat"; other agents are: \S+ \(.*\)\.$/)
    expect(await balance(home, bob)).toBe(140)
  })
})

describe("the economy's ledger", () => {
  let home: World
  beforeAll(async () => {
    home = await testHostWithEconomy({ agents: 3, rules: { rent_every: 3, credit_limit: 100 }, seed: 11 })
  })
  afterAll(() => home.close())

  const action = record({
    who: integer({ min: 0, max: 2 }),
    what: constantFrom('work', 'apply_job', 'quit_job', 'learn', 'gamble', 'pay_agent', 'beat'),
    n: integer({ min: 0, max: 5 }),
  })
  const argsOf = (what: string, n: number, other: string) =>
    ({
      apply_job: { job_id: ['courier', 'clerk', 'analyst', 'architect', 'nobody', 'teacher'][n] },
      learn: { skill_name: ['writing', 'teaching', 'analysis', 'x', 'debugging', 'architecture'][n] },
      gamble: { game: n % 2 ? 'lottery' : 'blackjack', wager: 0.01 + 7.77 * n },
      pay_agent: { to: other, amount: 0.01 + 13 * n },
    })[what] ?? {}

  it('conserves money and keeps every figure within its bounds under concurrent actions', async () => {
    const holds = asyncProperty(array(action, { minLength: 5, maxLength: 25 }), async actions => {
      await Promise.all(
        actions
          .filter(({ what }) => what !== 'beat')
          .map(({ who, what, n }) => home.use(what, argsOf(what, n, home.ids[(who + 1) % 3]!), home.ids[who])),
      )
      await home.runBeats(actions.filter(({ what }) => what === 'beat').length)
      const { balanced, total } = await ledger(home)
      expect([balanced, total]).toEqual([true, 0])
      for (const id of home.ids) {
        const { happiness, health, reputation, energy, skills } = await citizen(home, id)
        for (const value of [happiness, health, reputation, energy, ...Object.values(skills)]) {
          expect(value).toBeGreaterThanOrEqual(0)
          expect(value).toBeLessThanOrEqual(1)
        }
      }
    })
    await assert(holds, { numRuns: 15 })
    expect(home.log.filter(({ level }) => level >= 50)).toEqual([])
  })

  it('has a limited size: old entries are summed up, and all balances stay', async () => {
    await using small = await testHostWithEconomy({
      rules: { ...QUIET, history_beats: 10 },
      agents: 2,
      builtins: [retention],
    })
    const [ann] = small.ids as [string]
    await small.use('apply_job', { job_id: 'clerk' })
    await small.runBeats(100)
    const { accounts, balanced } = await ledger(small)
    expect(balanced).toBe(true)
    expect(await entries(small)).toHaveLength(
      await small.kernel
        .use(Store)
        .get<{ n: number }>('SELECT count(*) AS n FROM world_entries WHERE beat >= 90')
        .then(row => row!.n),
    )
    expect(await small.use('query_world', { query_type: 'finances' })).toContain('- salary: 3,000.00 in, 0.00 out')
    await small.clock.advance(400 * 86_400_000)
    await small.kernel.use(Retention).run()
    expect(await entries(small)).toEqual([])
    expect((await ledger(small)).accounts).toEqual(accounts)
    await small.kernel.invoke('agents.delete', { id: ann })
    const after = await ledger(small)
    expect(after.balanced).toBe(true)
    expect(after.accounts.map(({ account }) => account)).not.toContain(`agent:${ann}`)
  })

  it('is byte-identical for the same seed, whether agents act concurrently or not', async () => {
    const run = async (together: boolean) => {
      await using world = await testHostWithEconomy({ agents: 4, seed: 4711 })
      for (let round = 0; round < 15; round++) {
        const act = async (id: string, n: number) => {
          const call = (name: string) => `${name}-${round}-${n}`
          if (round === n)
            await world.use('apply_job', { job_id: ['clerk', 'courier', 'analyst', 'librarian'][n] }, id, call('job'))
          await world.use('work', {}, id, call('work'))
          await world.use('gamble', { wager: 2 }, id, call('bet'))
        }
        if (together) await Promise.all([...world.ids.entries()].reverse().map(([n, id]) => act(id, n)))
        else for (const [n, id] of world.ids.entries()) await act(id, n)
        await world.runBeats(1)
      }
      const citizens = await Promise.all(world.ids.map(id => citizen(world, id)))
      return JSON.stringify([await entries(world), citizens])
    }
    const alone = await run(false)
    expect(await run(true)).toBe(alone)
    expect(alone.length).toBeGreaterThan(5_000)
  })
})

describe('the economy in other modules', () => {
  it('a checkpoint restores balance, job, skills and stats, and the bank settles the difference', async () => {
    await using home = await testHostWithEconomy({ rules: { ...QUIET, starting_balance: 200 } })
    const [ann] = home.ids as [string]
    const part = home.kernel.list(CheckpointParts).find(({ name }) => name === 'world')!
    await home.use('apply_job', { job_id: 'analyst' })
    await home.use('learn', { skill_name: 'writing' })
    const kept = part.schema.parse(JSON.parse(JSON.stringify(await part.capture(ann))))
    await home.runBeats(12)
    await home.use('quit_job')
    await home.use('learn', { skill_name: 'teaching' })
    await home.kernel.use(Store).apply(await part.restore(ann, kept))
    expect(await part.capture(ann)).toEqual(kept)
    expect(await citizen(home, ann)).toMatchObject({ job: 'Analyst', skills: { writing: 0.25 }, balance: 120 })
    expect((await ledger(home)).balanced).toBe(true)
    expect(centsOf((await ledger(home)).total)).toBe(0)
  })

  it('an agent joins with the first beat, and its detail shows its state', async () => {
    await using home = await testHostWithEconomy({ rules: QUIET })
    const late = await spawn(home)
    expect((await detail(home, late)).world).toBeNull()
    await home.runBeats(1)
    expect((await detail(home, late)).world).toMatchObject({ balance: 100, job: null, energy: 1, cycles_alive: 1 })
  })
})
