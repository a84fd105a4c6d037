import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Toolkits } from '#tools/toolkits/contract'
import { type ModelServerRequest, runHeartbeat, text, toolCall, until, waitUntilIdle } from '../../support/index.ts'
import { asksForGoal, spawn, testHostWithModel } from '../core/models/model-host.ts'
import { citizen, testHostWithEconomy, WORLD } from './economy-host.ts'

describe('the world toolkit', () => {
  let home: Awaited<ReturnType<typeof testHostWithEconomy>>
  beforeAll(async () => {
    home = await testHostWithEconomy({ rules: { life_events: false } })
  })
  afterAll(() => home.close())

  it('has the specified tools and parameters, each idempotent and described', () => {
    const { tools } = home.kernel.list(Toolkits).find(({ name }) => name === 'world')!
    const shape = ({ name, parameters }: (typeof tools)[number]) =>
      `${name}(${Object.keys((parameters as unknown as { shape: object }).shape)})`
    expect(tools.map(shape)).toEqual([
      'query_world(query_type)',
      'work()',
      'apply_job(job_id)',
      'quit_job()',
      'learn(skill_name)',
      'gamble(game,wager)',
      'pay_agent(to,amount,note)',
      'offer_service(title,price,withdraw)',
      'buy_service(offer_id,request)',
      'deliver_service(order_id,result)',
    ])
    for (const { name, description, idempotent, read_only } of tools) {
      expect(idempotent || read_only, name).toBe(true)
      expect(description.length, name).toBeGreaterThan(40)
      expect(description.length, name).toBeLessThan(200)
    }
  })

  it.each([
    [
      'status',
      /^You have 100\.00 credits\. You have no job[\s\S]+ Rent is 200\.00, due in 10 heartbeats, then every 10\.\nHealth 80 %, energy 100 %, contentment 50 %/,
    ],
    [
      'jobs',
      /- researcher: Researcher, 40\.00 at each heartbeat, free\n[\s\S]+- teacher: .+, needs teaching at 50 %, free/,
    ],
    ['skills', /- writing: your level is 0 %; a course costs 80\.00 and adds 25 %/],
    ['finances', /- starting balance: 100\.00 in, 0\.00 out/],
    ['market', /\[There are no offers\.\]/],
  ])('answers query_world with query type %s', async (query_type, answer) => {
    expect(await home.use('query_world', { query_type })).toMatch(answer)
  })

  it('refuses invalid calls and says what to do instead', async () => {
    expect(await home.use('apply_job', { job_id: 'king' })).toContain('look at them with query_world, query_type jobs')
    expect(await home.use('quit_job')).toContain('you have no job to quit')
    expect(await home.use('offer_service', {})).toContain('say in `title` what you offer')
    expect(await home.use('gamble', { wager: -5 })).toContain('wager')
    expect(await home.use('gamble', { type: 'lottery' })).toContain('has an unknown key: type')
    expect(await home.use('buy_service', { offer_id: 'offer-x', request: 'Do it' })).toContain('query_type market')
    expect(await home.use('offer_service', { withdraw: 'offer-x' })).toContain('you have no offer "offer-x"')
    expect(await home.use('pay_agent', { to: 'nobody', amount: 1 })).toContain('No agent has the id or name "nobody"')
  })
})

it('an agent learns its situation, takes a job, works in its own pursuit, and is paid on later heartbeats', async () => {
  const prompts: string[] = []
  const pursuits: string[][] = []
  const tools: string[] = []
  let goals = 0
  const script = (request: ModelServerRequest) => {
    prompts.push(request.prompt)
    if (!asksForGoal(request) && pursuits.length === 0)
      tools.push(...request.body.tools!.map(each => each.function.name))
    if (!asksForGoal(request)) pursuits.push(request.body.messages.map(({ content }) => content ?? ''))
    if (asksForGoal(request)) return text(goals++ ? '{"goal": ""}' : '{"goal": "Find work and do some of it"}')
    const steps = [
      toolCall('apply_job', { job_id: 'analyst' }),
      toolCall('work'),
      toolCall('query_world'),
      toolCall('finish_goal', { summary: 'I have work.' }),
    ]
    return steps[request.body.messages.filter(({ role }) => role === 'tool').length]!
  }
  await using home = await testHostWithModel(script, {
    builtins: WORLD,
    files: { 'profiles/worker.yaml': 'name: worker\nrole: works\nmax_steps: 2\ncore: [file]\ninner_life: [economy]\n' },
    config: { economy: { enabled: true, life_events: false }, daemon: { heartbeat: 20 } },
  })
  const id = await spawn(home)
  home.kernel.heartbeat.start()
  await waitUntilIdle(home)
  await until(async () => (await citizen(home, id)).job === 'Analyst')
  const { balance } = await citizen(home, id)
  for (let n = 0; n < 2; n++) await runHeartbeat(home)
  expect(await citizen(home, id)).toMatchObject({ job: 'Analyst', salary: 50 })
  expect((await citizen(home, id)).balance).toBeGreaterThanOrEqual(balance + 100)
  expect(prompts.at(-1)).toContain('Economic status: You have')
  expect(prompts.at(-1)).toContain('You are Analyst and are paid 50.00 at each heartbeat; `work` pays extra.')
  // Tools that its state names are offered.
  expect(tools).toEqual(expect.arrayContaining(['query_world', 'apply_job', 'work']))
  expect(tools).not.toContain('gamble')
  // The system prompt stays the same for the provider's cache; a later cycle is sent the state that has changed.
  expect(new Set(pursuits.map(([system]) => system)).size).toBe(1)
  const states = pursuits.map(contents => contents.join('\n').split('Your state:').slice(1))
  expect(states.map(({ length }) => length)).toEqual([1, 1, 2, 2])
  expect(states.at(-1)).toEqual([
    expect.stringContaining('You have no job'),
    expect.stringContaining('You are Analyst'),
  ])
  expect(prompts.at(-1)).toMatch(/Condition: Health \d+ %, energy \d+ %/)
})
