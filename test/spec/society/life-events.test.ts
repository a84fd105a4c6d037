import { access, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { definePlugin } from '#kernel'
import { keyedRandom } from '#lib/keyed-random'
import daemon from '#platform/daemon/index'
import { CATEGORIES, type LifeChoice } from '#society/economy/contract'
import { LifeCatalogue } from '#society/economy/life/catalogue'
import { LUCK, luckOf, scaleChoice } from '#society/economy/life/outcome'
import { choiceIn, lifePrompt } from '#society/economy/life/prompt'
import { roll } from '#society/economy/life/roll'
import type { CitizenRow } from '#society/economy/repository'
import { Agents, Daemon, LifeEvents, Memory, Store, Suffering } from '../../../index.ts'
import { barrier, type ModelServerRequest, type Reply, refuse, text, until } from '../../support/index.ts'
import { spawn, testHostWithModel } from '../core/models/model-host.ts'
import { citizen, ledger, life, testHostWithEconomy, WORLD, waitForLifeEvents } from './economy-host.ts'

/** Returns a plugin with one further life event. */
const only = (event: object) =>
  definePlugin({
    name: 'fate',
    setup: svc => void svc.add(LifeEvents, { category: 'random', ...event } as never),
  })
const LETTER = {
  id: 'letter',
  text: 'A letter arrives.',
  choices: [
    { label: 'Open it', money: -10 },
    { label: 'Burn it', money: 20, happiness: 0.1 },
  ],
}
/** Returns whether a request asks for a life event rather than for a goal. */
const isLife = ({ prompt }: ModelServerRequest) => prompt.includes('Something happens in your life')

/** Opens a world in which only letters arrive, for agents with a scripted model; no cycle runs. */
async function letters(
  answer: (n: number) => Reply,
  more: { rules?: object; daemon?: object; modules?: never[] } = {},
) {
  let asked = 0
  const home = await testHostWithModel(request => (isLife(request) ? answer(++asked) : text('{"goal": ""}')), {
    roles: ['cli'],
    builtins: [...WORLD, daemon, only(LETTER), ...(more.modules ?? [])],
    config: {
      economy: { enabled: true, life_event_chance: 0, ...more.rules },
      daemon: more.daemon ?? {},
      model: { retry_delay: 0 },
    },
  })
  const id = await spawn(home)
  return Object.assign(home, {
    id,
    asked: () => asked,
    async letter(beat: number) {
      await home.kernel.use(Store).all(
        `INSERT INTO life_follow_ups (follow_up_id, agent_id, event, due_beat) SELECT 'f' || ? || agent_id, agent_id, 'letter', 0
         FROM agents WHERE true ON CONFLICT (follow_up_id) DO NOTHING RETURNING 1`,
        [beat],
      )
      await home.kernel.hooks.emit('beat', { beat })
    },
  })
}

const catalogue = async () => {
  let read: LifeCatalogue | undefined
  const reader = definePlugin({
    name: 'reader',
    setup(svc) {
      read = new LifeCatalogue(svc)
    },
  })
  await using _ = await testHostWithEconomy({ agents: 0, builtins: [reader] })
  return read!.all()
}

describe('the catalogue of life events', () => {
  it('has at least eight events in each of five categories, including the eighteen specified ones', async () => {
    const all = await catalogue()
    for (const category of CATEGORIES)
      expect([...all.values()].filter(event => event.category === category).length).toBeGreaterThanOrEqual(8)
    const known =
      'rent_increase negotiation_failed found_cheaper_place job_offer old_boss_grudge reputation_recovers health_scare condition_worsens friend_money friend_pays_back friend_ghosts gambling_opportunity big_loss small_loss skill_workshop missed_promotion windfall burnout'
    expect(known.split(' ').filter(id => !all.has(id))).toEqual([])
    expect(all.get('big_loss')).toMatchObject({
      follow_up_only: true,
      choices: [{ money: -1000, happiness: -0.25, stressor: { name: 'financial_strain', severity: 0.4 } }],
    })
    expect(all.get('job_offer')).toMatchObject({ min_cycles: 10, requires: { reputation: { min: 0.5 } } })
    expect(all.get('burnout')).toMatchObject({ requires: { energy: { max: 0.3 } } })
  })

  it('marks exactly those events as follow-ups that a choice can lead to', async () => {
    const all = await catalogue()
    const next = [...all.values()].flatMap(({ choices }) =>
      choices.flatMap(({ follow_ups = [] }) => follow_ups.map(({ event }) => event)),
    )
    const followers = [...all.values()].filter(({ follow_up_only }) => follow_up_only).map(({ id }) => id)
    expect([...new Set(next)].sort()).toEqual(followers.sort())
  })

  it('yields events at the configured rate over 3,000 heartbeats: all of them, none too often or twice in a row', async () => {
    const all = await catalogue()
    const random = keyedRandom(99)
    const base = {
      agent_id: 'a',
      balance: 20_000,
      job_id: null,
      happiness: 500,
      health: 800,
      reputation: 600,
      energy: 250,
    }
    const recent: string[] = []
    const times: number[] = []
    for (let beat = 1; beat <= 3_000; beat++) {
      const row = { ...base, cycles_alive: beat, energy: beat % 2 ? 250 : 900 } as unknown as CitizenRow
      const found = roll(
        { citizen: row, recent: recent.slice(0, 20), due: [], better_job: beat % 3 === 0 },
        all,
        beat,
        0.3,
        random,
      )
      if (!found) continue
      recent.unshift(found.event.id)
      times.push(beat)
    }
    expect(times.length / 3_000).toBeGreaterThan(0.27)
    expect(times.length / 3_000).toBeLessThan(0.33)
    expect(Math.max(...times.map((beat, n) => beat - (times[n - 1] ?? 0)))).toBeLessThan(40)
    const byItself = [...all.values()].filter(
      ({ follow_up_only, requires }) => !follow_up_only && requires.employed !== true,
    )
    expect(byItself.map(({ id }) => id).filter(id => !recent.includes(id))).toEqual([])
    for (const { id } of byItself) expect(recent.filter(each => each === id).length).toBeLessThan(times.length / 5)
    expect(recent.some((id, n) => id === recent[n + 1])).toBe(false)
  })

  it('luck is normal with mean 1 and deviation 0.25, stays within its bounds and scales outcomes', () => {
    const random = keyedRandom(5)
    const drawn = Array.from({ length: 4_000 }, (_, n) => luckOf(random, 'a', n) / 1000)
    const mean = drawn.reduce((sum, luck) => sum + luck, 0) / drawn.length
    const deviation = Math.sqrt(drawn.reduce((sum, luck) => sum + (luck - mean) ** 2, 0) / drawn.length)
    expect(mean).toBeCloseTo(LUCK.mean, 1)
    expect(Math.abs(mean - 1)).toBeLessThan(4 * (0.25 / Math.sqrt(4_000)))
    expect(deviation).toBeGreaterThan(0.235)
    expect(deviation).toBeLessThan(0.265)
    expect(Math.min(...drawn)).toBeGreaterThanOrEqual(LUCK.least)
    expect(Math.max(...drawn)).toBeLessThanOrEqual(LUCK.most)
    const choice: LifeChoice = { label: 'x', money: -200, happiness: 0.1 }
    expect(scaleChoice(choice, 1250)).toMatchObject({ money: -25_000, stats: { happiness: 125, health: 0 } })
  })
})

describe('the choice in a life event', () => {
  it('is requested as a numbered list with the effects of each choice', () => {
    const situation = { balance: 12_050, happiness: 500, health: 800, reputation: 500, energy: 1000, job: 'Clerk' }
    const event = { ...LETTER, category: 'random' as const, follow_up_only: false, min_cycles: 0, requires: {} }
    expect(lifePrompt(event, situation)).toBe(
      'Something happens in your life:\nA letter arrives.\n\nYou have 120.50 credits and work as Clerk; health 80 %, energy 100 %, contentment 50 %, reputation 50 %.\n\nWhat do you do?\n1. Open it [money -10.00]\n2. Burn it [money +20.00, contentment +10 %]\n\nAnswer with the number of your choice and nothing else.',
    )
  })

  it.each([
    ['2', 2],
    ['I choose 2.', 2],
    ['**Choice 3**', 3],
    ['<think>1 or 2? 1!</think>\n3', 3],
    ['With 40 % of luck: 2', 2],
    ['7, no: 1', 1],
    ['**2.** Burn it; 1 costs money', 2],
    ['Option 2 is reckless, so I choose 3.', undefined],
    ['0.5', undefined],
    ['four', undefined],
    ['-1', undefined],
    ['<think>2', undefined],
  ])('reads the answer %j as choice %j', (answer, choice) => {
    expect(choiceIn(answer, 3)).toBe(choice)
  })

  it('is made by the model within 256 tokens, and recorded once in the ledger, the event log and memory', async () => {
    await using home = await letters(() => text('2'))
    await Promise.all([home.letter(1), home.letter(1)])
    await waitForLifeEvents(home)
    const [moment] = await life(home, home.id)
    expect(moment).toMatchObject({ beat: 1, event: 'letter', choice: 2, chosen_by: 'model', status: 'decided' })
    expect(home.asked()).toBe(1)
    const { body } = home.server.requests[0]!
    expect(body.max_tokens ?? body.max_completion_tokens).toBe(256)
    const gain = moment!.effects!.money!
    expect(gain).toBeCloseTo(20 * moment!.luck!, 1)
    expect((await citizen(home, home.id)).balance).toBeCloseTo(100 + gain)
    expect((await ledger(home, { agent: home.id })).entries[0]).toMatchObject({
      payer: 'fortune',
      reason: 'letter',
      amount: gain,
    })
    const store = home.kernel.use(Store)
    const recorded = (await store.events(0, 1000)).filter(({ type }) => type === 'life_event')
    expect(recorded.map(({ data }) => data.summary)).toEqual([moment!.summary])
    expect(moment!.summary).toMatch(/^A letter arrives\. You chose: Burn it\. \(money \+/)
    const records = await home.kernel.use(Memory).of(home.id).recent(10)
    expect(records.map(({ thought, metadata }) => [thought, metadata.kind])).toEqual([[moment!.summary, 'life_event']])
    expect(await store.all('SELECT kind FROM spend')).toEqual([{ kind: 'life_event' }])
  })

  it('falls back to the first when the answer names none or the model fails three times, and records that', async () => {
    await using home = await letters(n => (n === 1 ? text('Whatever you say.') : refuse(400, 'no')))
    await home.letter(1)
    await waitForLifeEvents(home)
    expect(await life(home, home.id)).toMatchObject([{ choice: 1, chosen_by: 'default' }])
    for (const beat of [2, 3, 4]) {
      await home.letter(beat)
      await until(() => home.asked() === beat)
      await until(
        async () =>
          !(await home.kernel.use(Store).get("SELECT 1 FROM life_events WHERE asked_until > 0 AND status = 'waiting'")),
      )
    }
    await waitForLifeEvents(home)
    expect(await life(home, home.id)).toMatchObject([{ beat: 2, choice: 1, chosen_by: 'default' }, { beat: 1 }])
    expect(home.asked()).toBe(4)
  })

  it('waits without a model call while the daemon is frozen, the budget is used up or the agent is paused', async () => {
    await using home = await letters(() => text('1', { usage: { prompt_tokens: 900, completion_tokens: 200 } }), {
      daemon: { budget_tokens: 1_000, budget_mode: 'record_only' },
    })
    const { kernel } = home
    await home.letter(1)
    await waitForLifeEvents(home)
    await home.letter(2)
    await home.letter(3)
    const waiting = { beat: 2, status: 'waiting', summary: 'A letter arrives.' }
    expect(await life(home, home.id)).toMatchObject([waiting, { beat: 1 }])
    await kernel.invoke('daemon.pause', {})
    await kernel.invoke('budget.reset', {})
    await home.letter(4)
    await kernel.invoke('daemon.resume', {})
    await kernel.invoke('agents.pause', { id: home.id })
    await home.letter(5)
    expect(home.asked()).toBe(1)
    await kernel.invoke('agents.resume', { id: home.id })
    await home.letter(6)
    await waitForLifeEvents(home)
    expect(home.asked()).toBe(2)
    expect(await life(home, home.id)).toMatchObject([{ beat: 2, status: 'decided' }, { beat: 1 }])
  })

  it('is requested for two agents at the same time', async () => {
    await using home = await letters(() => barrier(2, text('2')))
    const other = await spawn(home)
    await home.letter(1)
    await waitForLifeEvents(home)
    expect([...(await life(home, home.id)), ...(await life(home, other))].map(({ choice }) => choice)).toEqual([2, 2])
  })
})

describe('outcomes of life events', () => {
  const fate = (choice: object) =>
    testHostWithEconomy({
      rules: { life_event_chance: 1 },
      builtins: [only({ id: 'a_fate', text: 'It happens.', choices: [{ label: 'Yes', ...choice }] })],
    })
  const eventsOf = async (home: Awaited<ReturnType<typeof testHostWithEconomy>>) => {
    const due =
      "INSERT INTO life_follow_ups (follow_up_id, agent_id, event, due_beat) VALUES ('f', ?, 'a_fate', 0) RETURNING 1"
    await home.kernel.use(Store).all(due, [home.ids[0]])
    await home.runBeats(1)
    return (await life(home, home.ids[0]!))[0]!
  }

  it('can improve the job, take it away or teach a skill', async () => {
    await using better = await fate({ job: 'better' })
    await better.use('apply_job', { job_id: 'clerk' })
    expect((await eventsOf(better)).summary).toContain('now Analyst')
    expect(await citizen(better, better.ids[0]!)).toMatchObject({ job: 'Analyst', salary: 50 })
    await using lost = await fate({ job: 'lose' })
    await lost.use('apply_job', { job_id: 'clerk' })
    const wakes = () => lost.kernel.use(Store).get<{ n: number }>('SELECT sum(wakes) AS n FROM leases')
    const before = (await wakes())!.n
    await eventsOf(lost)
    expect(await citizen(lost, lost.ids[0]!)).toMatchObject({ job: null })
    expect(await wakes()).toEqual({ n: before + 1 })
    await using taught = await fate({ skill: 'any' })
    expect((await eventsOf(taught)).summary).toContain('learnt more of')
    expect(Object.values((await citizen(taught, taught.ids[0]!)).skills)).toEqual([0.25])
  })

  it('raise and ease stressors through the suffering service', async () => {
    const said: unknown[] = []
    const recordCall =
      (verb: string) =>
      (...given: unknown[]) => {
        said.push([verb, ...given])
        return { effect: 'events.append', payload: { type: 'felt', agent_id: null, data: {} } }
      }
    const sufferer = definePlugin({
      name: 'sufferer',
      setup: svc => void svc.provide(Suffering, { add: recordCall('add'), resolve: recordCall('resolve') } as never),
    })
    const choice = { label: 'Yes', stressor: { name: 'burnout', severity: 0.35 }, resolves: 'financial_strain' }
    const plugin = only({ id: 'a_fate', text: 'It happens.', choices: [choice] })
    await using home = await testHostWithEconomy({ rules: { life_event_chance: 0 }, builtins: [plugin, sufferer] })
    await eventsOf(home)
    expect(said).toEqual([
      ['add', home.ids[0], 'burnout', { severity: 0.35 }],
      ['resolve', home.ids[0], 'financial_strain'],
    ])
  })

  it('include follow-up events, which occur once, on their heartbeat, also after a restart', async () => {
    const next = { follow_ups: [{ event: 'the_end', chance: 1, in: 3 }] }
    const fates = definePlugin({
      name: 'fates',
      setup(svc) {
        svc.add(LifeEvents, {
          id: 'the_start',
          category: 'random',
          text: 'It starts.',
          choices: [{ label: 'Yes', ...next }],
        })
        svc.add(LifeEvents, {
          id: 'the_end',
          category: 'random',
          text: 'It ends.',
          follow_up_only: true,
          choices: [{ label: 'Yes' }],
        })
      },
    })
    await using home = await testHostWithEconomy({ rules: { life_event_chance: 0 }, builtins: [fates] })
    const [ann] = home.ids as [string]
    await home.kernel
      .use(Store)
      .all(
        "INSERT INTO life_follow_ups (follow_up_id, agent_id, event, due_beat) VALUES ('f', ?, 'the_start', 1) RETURNING 1",
        [ann],
      )
    await home.runBeats(2)
    await using again = await testHostWithEconomy({
      rules: { life_event_chance: 0 },
      builtins: [fates],
      root: home.root,
      agents: 0,
    })
    const emit = async (beat: number) => {
      await again.kernel.hooks.emit('beat', { beat })
      await waitForLifeEvents(again)
    }
    await emit(3)
    expect(await life(again, ann)).toHaveLength(1)
    await emit(4)
    expect(await life(again, ann)).toMatchObject([
      { event: 'the_end', origin: 'follow_up', beat: 4 },
      { event: 'the_start' },
    ])
    await emit(5)
    expect(await life(again, ann)).toHaveLength(2)
  })
})

describe('the record of a life', () => {
  const read = async (root: string, id: string, file: string) => readFile(join(root, '.svc/lives', id, file), 'utf8')

  it('is written with its figures when the daemon stops, when the agent dies and when it is deleted', async () => {
    await using home = await testHostWithEconomy({ agents: 3, builtins: [daemon], rules: { life_event_chance: 1 } })
    const [ann, bob, cleo] = home.ids as [string, string, string]
    await home.use('apply_job', { job_id: 'analyst' })
    await home.use('gamble')
    await home.runBeats(6)
    await home.kernel.use(Store).apply(home.kernel.use(Agents).markDead(bob))
    await home.runBeats(1)
    await read(home.root, bob, 'biography.md')
    await home.kernel.invoke('agents.delete', { id: cleo })
    expect(JSON.parse(await read(home.root, cleo, 'summary.json'))).toMatchObject({ cycles_lived: 7 })
    await expect(access(join(home.root, '.svc/lives', ann))).rejects.toThrow()
    await home.kernel.use(Daemon).start()
    await home.kernel.use(Daemon).stop()
    const summary = JSON.parse(await read(home.root, ann, 'summary.json')) as Record<string, unknown>
    const now = await citizen(home, ann)
    expect(summary).toMatchObject({
      agent_id: ann,
      name: 'worker',
      role: 'does what the script says',
      cycles_lived: now.cycles_alive,
      died_at: null,
      final_money: now.balance,
      gambling: { bets: 1, wins: now.wins },
      goals_completed: 0,
      goals_abandoned: 0,
    })
    expect(summary.career_path).toContain('Became Analyst.')
    expect(summary.happiest).toBeGreaterThanOrEqual(now.happiness)
    expect(await read(home.root, ann, 'biography.md')).toContain('Became Analyst.')
  })
})
