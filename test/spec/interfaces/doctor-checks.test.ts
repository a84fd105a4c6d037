import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type AgentRow, BlockReasons, type StatusEntry } from '#core/agents/contract'
import { statusPage } from '#core/agents/page'
import { DoctorChecks, type DoctorReport } from '#interfaces/doctor/contract'
import doctor from '#interfaces/doctor/index'
import daemon from '#platform/daemon/index'
import { refuse, runHeartbeat, type TestHost, testHost, text, until } from '../../support/index.ts'
import { spawn, testHostWithModel } from '../core/models/model-host.ts'

it("a plugin's check that throws, rejects or returns an invalid result fails, and the others are shown", async () => {
  await using home = await testHost({ builtins: [doctor] })
  const { points } = home.kernel
  const luckless = () => {
    throw new Error('no luck')
  }
  points.add(DoctorChecks, { name: 'throws', run: luckless }, 'careless')
  points.add(DoctorChecks, { name: 'rejects', run: async () => luckless() }, 'careless')
  points.add(DoctorChecks, { name: 'odd', run: async () => ({ level: 'fine' }) as never }, 'careless')
  points.add(DoctorChecks, { name: 'well', run: async () => ({ level: 'ok', message: 'x', remedy: null }) }, 'careful')
  const reports = (await home.kernel.invoke('doctor.checks')) as { name: string; level: string; message: string }[]
  const by = Object.fromEntries(reports.map(({ name, level, message }) => [name, `${level}: ${message}`]))
  expect(by).toMatchObject({ throws: 'fail: no luck', rejects: 'fail: no luck', well: 'ok: x' })
  expect(by.odd).toMatch(/^fail: The check "odd" is not valid: level: /)
})

const runCheck = async ({ kernel }: TestHost, check: string) => {
  const reports = (await kernel.invoke('doctor.checks')) as DoctorReport[]
  return reports.find(({ name }) => name === check)
}

it('an agent whose cycles fail is reported with the reason', async () => {
  await using home = await testHostWithModel(() => refuse(401, 'Incorrect API key provided'), { builtins: [doctor] })
  const id = await spawn(home)
  expect(await runCheck(home, 'agents')).toMatchObject({ level: 'ok', message: 'no agents are failing' })
  home.kernel.heartbeat.start()
  await until(home, 'cycle_end')
  expect(await runCheck(home, 'agents')).toEqual({
    name: 'agents',
    level: 'warn',
    remedy: `see when it tries again: svc why ${id}`,
    message: expect.stringMatching(
      new RegExp(
        `^${id} failed once: .*HTTP 401: Incorrect API key provided; check the key in OPENAI_API_KEY, and restart the service after you change it\\.$`,
      ),
    ),
  })
  const other = await spawn(home)
  await until(home, 'cycle_end', ({ agent_id }) => agent_id === other)
  expect((await runCheck(home, 'agents'))!.message).toMatch(/^2 agents fail; worker-\w+ failed \w+.*: The model /)
  for (const each of [id, other]) await home.kernel.invoke('agents.pause', { id: each })
  expect(await runCheck(home, 'agents')).toMatchObject({ level: 'ok' })
})

it('agents that wait for the operator are reported, with the reason that svc why gives', async () => {
  await using home = await testHostWithModel(() => undefined, { builtins: [doctor, daemon] })
  const [first, second] = [await spawn(home), await spawn(home)]
  const waiting = () => runCheck(home, 'waiting_agents')
  const why = async (id: string | undefined) =>
    ((await home.kernel.invoke('agents.why', { id })) as { reason: string }).reason
  const remedy = expect.stringContaining(`svc why ${first}`)
  expect(await waiting()).toMatchObject({ level: 'ok' })
  await home.kernel.invoke('daemon.pause')
  await until(async () => (await why(first)) !== 'Its cycle runs now.')
  await until(async () => (await why(second)) !== 'Its cycle runs now.')
  expect(await why(first)).toMatch(/^The daemon has been frozen since /)
  expect(await waiting()).toMatchObject({
    level: 'warn',
    message: `2 agents, such as ${first}: ${await why(first)}`,
    remedy,
  })
  await home.kernel.invoke('daemon.resume')
  expect(await waiting()).toMatchObject({ level: 'ok' })

  const asked = {
    name: 'asks',
    stage: 20,
    why: async () => ({ reason: 'It asks you.', at: null, needsOperator: true }),
  }
  const onlySecond = async ({ agent_id }: AgentRow) => (agent_id === second ? asked.why() : undefined)
  home.kernel.points.add(BlockReasons, { ...asked, why: onlySecond }, 'asks')
  expect(await waiting()).toMatchObject({ level: 'warn', message: `${second}: It asks you.` })
  await home.kernel.invoke('agents.pause', { id: second })
  expect(await waiting()).toMatchObject({ level: 'ok', message: 'no agent waits for you' })
})

it('a budget too small for one more call is reported before its limit is reached', async () => {
  const config = { daemon: { budget_tokens: 50 } }
  await using home = await testHostWithModel(() => undefined, { builtins: [doctor], config })
  expect(await runCheck(home, 'budget')).toMatchObject({
    level: 'warn',
    message: expect.stringMatching(/^Tight: /),
    remedy: expect.stringContaining('svc budget reset'),
  })
})

it('a limit in tokens is advised where no model in use costs anything', async () => {
  await using home = await testHostWithModel(() => undefined, { builtins: [doctor] })
  expect(await runCheck(home, 'budget')).toMatchObject({
    level: 'warn',
    remedy: 'set a limit: svc config set daemon.budget_tokens 1000000',
  })
})

it('a model that its server does not have is reported, with those that it has', async () => {
  const serving = { models: ['qwen3:8b', 'scripted:latest'] }
  await using home = await testHostWithModel(() => undefined, { builtins: [doctor], serving })
  expect(await runCheck(home, 'default_model')).toMatchObject({ level: 'ok' })
  await using other = await testHostWithModel(() => undefined, {
    builtins: [doctor],
    serving: { models: ['qwen3:8b'] },
  })
  expect(await runCheck(other, 'default_model')).toMatchObject({
    level: 'warn',
    message: `openai:scripted: ${other.server.url} does not list the model scripted; it has qwen3:8b`,
    remedy: expect.stringMatching(/^load it there, or choose a model from svc models/),
  })
})

it('a small context window is reported with the way to a larger one, also by svc why', async () => {
  const files = { 'models.yaml': 'models: { "openai:scripted": { context_window: 4096 } }\n' }
  await using home = await testHostWithModel(() => undefined, { builtins: [doctor], files })
  const problem = 'the context window of openai:scripted has 4096 tokens, and most agents need 8000 or more'
  const remedy =
    'start its server with a larger context window, or choose another model (Context windows in docs/models.md)'
  expect(await runCheck(home, 'context_window')).toMatchObject({ level: 'warn', message: problem, remedy })
  const id = await spawn(home)
  expect(await home.kernel.invoke('agents.why', { id })).toMatchObject({ warning: `${problem}; ${remedy}` })
})

it('a system prompt that its model cannot take whole is reported to the operator, until it is shortened', async () => {
  const profile = (system_prompt: string) => `name: worker\nrole: works\nsystem_prompt: ${system_prompt}\n`
  const files = {
    'models.yaml': 'models: { "openai:scripted": { context_window: 9000 } }\n',
    'profiles/worker.yaml': profile('Mind what is written here. '.repeat(1_000)),
  }
  await using home = await testHostWithModel(() => text('{"goal":""}'), { builtins: [doctor, daemon], files })
  const id = await spawn(home)
  expect(await runCheck(home, 'context_window')).toMatchObject({ level: 'ok' })
  let cycles = 0
  home.kernel.hooks.on('cycle_end', () => void cycles++)
  home.kernel.heartbeat.start()
  // A call that is tried again, such as on a busy machine, waits on the clock.
  await until(async () => cycles > 0 || void (await home.clock.advance(1_000)))
  const problem = new RegExp(
    `system prompt of ${id} has about \\d+ tokens and was cut to \\d+, because the context window of openai:scripted has 9000$`,
  )
  const remedy = expect.stringMatching(
    /^shorten its profile or skills, or start its server with a larger context window/,
  )
  expect(await runCheck(home, 'context_window')).toMatchObject({
    level: 'warn',
    message: expect.stringMatching(problem),
    remedy,
  })
  const sentence = expect.stringMatching(/^The system prompt of worker-.* has 9000; shorten its profile or skills, or/)
  expect(await home.kernel.invoke('daemon.status')).toMatchObject({ problems: [sentence] })
  expect(await home.kernel.invoke('agents.why', { id })).toMatchObject({
    warning: expect.stringMatching(/^the system prompt of worker-/),
  })
  await writeFile(join(home.root, 'profiles/worker.yaml'), profile('Be brief.'))
  await until(async () => {
    await runHeartbeat(home)
    return (await runCheck(home, 'context_window'))!.level === 'ok'
  })
})

it('agents whose cycles fail are shown so by svc status', async () => {
  await using home = await testHostWithModel(() => refuse(401, 'Incorrect API key provided'))
  const id = await spawn(home)
  home.kernel.heartbeat.start()
  await until(home, 'cycle_end')
  const entries = (await home.kernel.invoke('agents.status')) as StatusEntry[]
  expect(entries).toMatchObject([{ agent_id: id, failures: 1 }])
  expect(statusPage(entries)).toContain(`! its last cycle failed; see why with: svc why ${id}`)
})

it('plugins that fail are counted, and the first is named with its error', async () => {
  const broken = "export default { name: 'Broken', setup() {} }"
  const files = { 'plugins/a.ts': broken, 'plugins/b.ts': broken }
  await using home = await testHost({ builtins: [doctor], files })
  const { level, message } = (await runCheck(home, 'plugins'))!
  expect({ level, message }).toEqual({
    level: 'warn',
    message: expect.stringMatching(/^2 plugins fail; a is failed: Plugin "a" \(.*a\.ts\): its name must be/),
  })
})
