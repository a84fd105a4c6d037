import { expect, onTestFinished, test } from 'vitest'
import { type CallLimit, CallLimits, type ModelProvider, ModelProviders } from '#core/models/contract'
import models from '#core/models/index'
import { definePlugin } from '#kernel'
import metrics from '#observability/metrics/index'
import { type EventEnvelope, Store } from '#platform/store/contract'
import { fault, modelServer, refuse, text, toolCall } from '../../../support/model/model-server.ts'
import { strictModel } from '../../../support/model/strict-model.ts'
import { until } from '../../../support/until.ts'
import { asksForGoal, goalsOf, spawn, testHostWithModel } from './model-host.ts'
import { PURPOSE, QUICK, testHostForModels } from './models-host.ts'

/** Starts a scripted server as a further provider called `spare`. */
async function spare(script?: Parameters<typeof modelServer>[0]) {
  const server = await modelServer(script)
  onTestFinished(() => server.close())
  return { server, providers: { spare: { base_url: server.url, model: 'spare-1' } } }
}

const config = (model: object) => ({ ...QUICK, daemon: { max_retries: 1 }, model: { ...QUICK.model, ...model } })

test('a model without an answer is replaced by its first fallback that answers, and the spend says so', async () => {
  const { server: second, providers } = await spare({ script: [text('I stand in.')] })
  const { call, server, host } = await testHostForModels(() => fault('500'), { config: config({ providers }) })
  const reported: unknown[] = []
  host.kernel.hooks.on('model_failover', payload => void reported.push(payload))
  const answer = await call({ fallback: ['groq:lite', 'spare'] })
  expect(answer).toMatchObject({
    text: 'I stand in.',
    spend: { model: 'spare:spare-1', attempts: 1, failover_from: 'openai:scripted-1' },
  })
  expect(server.requests).toHaveLength(2)
  expect(second.requests).toHaveLength(1)
  expect(reported).toMatchObject([
    { from: 'openai:scripted-1', to: 'groq:lite', kind: 'server_error', reason: expect.stringContaining('HTTP 500') },
    { from: 'groq:openai/gpt-oss-20b', to: 'spare', kind: 'auth', reason: expect.stringContaining('GROQ_API_KEY') },
  ])
  expect(host.logged('Asking spare instead')).toMatchObject([{ code: 'model_failover', agent_id: 'coder-1' }])
})

test('only named fallbacks are used, never the simulation or the default model', async () => {
  const { failing, call, server } = await testHostForModels(() => refuse(401, 'No'), { config: config({}) })
  expect((await failing()).message).toContain('HTTP 401')
  expect((await failing({ fallback: [] })).kind).toBe('auth')
  expect(server.requests).toHaveLength(2)
  const answer = await call({ fallback: ['sim'] })
  expect(answer.spend).toMatchObject({ model: 'sim/rules-1', priced: 'free', failover_from: 'openai:scripted-1' })
})

test('when no model answers, the error names all models that were asked', async () => {
  const { failing } = await testHostForModels(() => refuse(400, 'Too long'), { config: config({}) })
  const error = await failing({ fallback: ['groq:lite', 'nobody:at-all', 'openai:scripted-2'] })
  expect(error.message).toMatch(
    /^The model openai:scripted-1 gave no answer: HTTP 400: Too long; groq:openai\/gpt-oss-20b gave no answer either: GROQ_API_KEY is not set.*; nobody:at-all gave no answer either: "nobody:at-all" is not a model name.*; openai:scripted-2 gave no answer either: HTTP 400: Too long\.$/,
  )
  expect(error).toMatchObject({ kind: 'refused', transient: false })
})

test('no summary is due while the model cannot be called, so that its fallback is asked', async () => {
  const { providers } = await spare({ script: [text('I stand in.')] })
  const env = { LLAMACPP_BASE_URL: 'http://127.0.0.1:9' }
  const { call, models: service } = await testHostForModels(undefined, { config: config({ providers }), env })
  const messages = Array.from(
    { length: 8 },
    (_, n) => ({ role: n % 2 ? 'assistant' : 'user', content: `${n}` }) as const,
  )
  const asked = { model: 'llamacpp', messages, tools: [], max_tokens: 100, purpose: PURPOSE }
  expect(await service.summaries!.findDue(asked, 2)).toBeNull()
  expect((await call({ ...asked, fallback: ['spare'] })).text).toBe('I stand in.')
})

test('a wrong model name is reported at once, without trying fallbacks', async () => {
  const { call, server } = await testHostForModels()
  const named = call({ model: 'nobody:at-all', fallback: ['openai:scripted-1'] })
  await expect(named).rejects.toMatchObject({ code: 'unknown_model' })
  expect(server.requests).toHaveLength(0)
})

test('a model that breaks off after its first tokens is replaced by a fallback, whose text replaces the one shown', async () => {
  const { server: second, providers } = await spare()
  const { call } = await testHostForModels(() => fault('cleancut', 'So it'), { config: config({ providers }) })
  let shown = ''
  const onReset = () => {
    shown = ''
  }
  const onText = (said: string) => {
    shown += said
  }
  const answer = await call({ fallback: ['spare'], onText, onReset })
  expect(second.requests).toHaveLength(1)
  expect(shown).toBe(answer.text)
})

test('a stopped call asks no further model', async () => {
  const { server: second, providers } = await spare()
  const { failing, server } = await testHostForModels(() => fault('hang'), { config: config({ providers }) })
  const stop = new AbortController()
  const stopped = failing({ fallback: ['spare'], signal: stop.signal })
  await server.request(1)
  stop.abort(new Error('enough'))
  expect(await stopped).toMatchObject({ kind: 'stopped' })
  expect(second.requests).toHaveLength(0)
})

test('a model that hangs leaves half of the time to its fallback', async () => {
  const { providers } = await spare({ script: [text('Quickly now.')] })
  const settings = config({ providers, total_timeout: 1.2, idle_timeout: 5 })
  const { call, host } = await testHostForModels(() => fault('hang'), { config: settings })
  expect((await call({ fallback: ['spare'] })).text).toBe('Quickly now.')
  expect(host.logged('its share of model.total_timeout (1.2 s)')).toHaveLength(1)
})

test('budget is held and settled for each model on its own, and a fallback cannot bypass a limit', async () => {
  const { server: second, providers } = await spare()
  const log: string[] = []
  let full = false
  const till: CallLimit = {
    name: 'till',
    async hold({ model }) {
      if (full) throw new Error('the till is full')
      log.push(`hold ${model}`)
    },
    async settle({ spend, answered }) {
      log.push(`settle ${spend?.model ?? 'nothing'} ${answered ? 'answered' : 'failed'}`)
    },
  }
  const limits = definePlugin({ name: 'till', setup: svc => void svc.add(CallLimits, till) })
  const { call } = await testHostForModels([refuse(400, 'No')], {
    builtins: [models, limits],
    config: config({ providers }),
  })
  await call({ fallback: ['spare'] })
  expect(log).toEqual([
    'hold openai:scripted-1',
    'settle openai:scripted-1 failed',
    'hold spare:spare-1',
    'settle spare:spare-1 answered',
  ])
  full = true
  await expect(call({ fallback: ['spare'] })).rejects.toThrow('the till is full')
  expect(second.requests).toHaveLength(1)
})

test('a suspended provider is skipped at once', async () => {
  const { providers } = await spare({ script: () => text('Here.') })
  const settings = config({ providers, breaker_failures: 2, breaker_cooldown: 600 })
  const { call, server } = await testHostForModels(() => fault('500'), { config: settings })
  await call({ fallback: ['spare'] })
  for (let n = 0; n < 3; n++) expect((await call({ fallback: ['spare'] })).text).toBe('Here.')
  expect(server.requests).toHaveLength(2)
})

test("an agent goes on with its profile's fallback, and events, spend and metrics show it", async () => {
  const { server: second, providers } = await spare({
    script: request =>
      asksForGoal(request)
        ? text('{"goal": "write a note"}')
        : toolCall('finish_goal', { summary: 'It is written.', evidence: [] }),
  })
  const home = await testHostWithModel(() => refuse(401, 'Bad key'), {
    builtins: [metrics],
    config: { model: { providers } },
    files: { 'profiles/worker.yaml': 'name: worker\nrole: works\nmax_steps: 5\nfallback: [spare]\n' },
  })
  onTestFinished(() => home.close())
  const agent_id = await spawn(home)
  home.kernel.heartbeat.start()
  await until(home, 'goal_completed')
  expect(await goalsOf(home, agent_id)).toMatchObject([{ status: 'completed', result: 'It is written.' }])
  expect(second.requests.length).toBeGreaterThanOrEqual(2)
  const events: EventEnvelope[] = await home.kernel.use(Store).events(0, 1_000)
  const failovers = events.filter(({ type }) => type === 'model_failover')
  expect(failovers[0]).toMatchObject({
    agent_id,
    data: { from: 'openai:scripted', to: 'spare', kind: 'auth', goal_id: null },
  })
  const called = events.filter(({ type, data }) => type === 'model_called' && data.failed === false)
  expect(called[0]!.data).toMatchObject({ model: 'spare:spare-1', failover_from: 'openai:scripted' })
  const metered = (await home.kernel.invoke('metrics.get')) as string
  expect(metered).toContain(`svc_events_total{type="model_failover"} ${failovers.length}`)
})

test('goals are chosen by model.planning_model when it is set; all else stays with the model of the agent', async () => {
  const asked: [string, string][] = []
  const spy: ModelProvider = strictModel({
    name: 'spy',
    free: true,
    availability: async () => ({ available: true, reason: null }),
    async *stream({ model, purpose }) {
      asked.push([model, purpose.kind])
      yield { type: 'text', text: 'Yes.' }
      yield { type: 'done', finish_reason: 'stop' }
    },
  })
  const spies = definePlugin({ name: 'spies', setup: svc => void svc.add(ModelProviders, spy) })
  const settings = config({ planning_model: 'spy:planner' })
  const { call } = await testHostForModels([], { builtins: [models, spies], config: settings })
  const purpose = { agent_id: null, goal_id: null, cycle_num: 1 }
  await call({ model: 'spy:own', purpose: { ...purpose, kind: 'goal_generation' } })
  await call({ model: 'spy:own', purpose: { ...purpose, kind: 'goal_pursuit' } })
  await call({ model: 'spy:own', purpose: { ...purpose, kind: 'task' } })
  expect(asked).toEqual([
    ['planner', 'goal_generation'],
    ['own', 'goal_pursuit'],
    ['own', 'task'],
  ])
})
