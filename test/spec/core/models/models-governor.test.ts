import { expect, test } from 'vitest'
import { ModelError } from '#core/models/contract'
import models from '#core/models/index'
import metrics from '#observability/metrics/index'
import store from '#platform/store/index'
import { HeldClock, turnEventLoop } from '../../../support/clock.ts'
import { fault, type Reply, refuse, text } from '../../../support/model/model-server.ts'
import { until } from '../../../support/until.ts'
import { QUICK, testHostForModels } from './models-host.ts'

/** Returns a script whose replies the test gives one by one. */
function heldReplies() {
  const waiting: ((reply: Reply) => void)[] = []
  return {
    script: () => new Promise<Reply>(resolve => waiting.push(resolve)),
    get waiting() {
      return waiting.length
    },
    /** Answers the oldest waiting request. */
    reply: (reply: Reply = text('Done.')) => waiting.shift()!(reply),
  }
}

/** Opens a test host with a held clock, so that waiting times are exact. */
async function testHostWithGovernor(
  script: Parameters<typeof testHostForModels>[0],
  model: object = {},
  max_retries = 0,
) {
  const clock = new HeldClock()
  const config = {
    daemon: { max_retries },
    model: { ...QUICK.model, retry_cap: 60, total_timeout: 240, idle_timeout: 600, ...model },
  }
  const made = await testHostForModels(script, { clock, config, builtins: [store, models, metrics] })
  const traffic = async () => {
    const { providers } = (await made.host.kernel.invoke('models.list')) as {
      providers: { name: string; traffic: { in_flight: number; waiting: number } }[]
    }
    return providers.find(({ name }) => name === 'openai')!.traffic
  }
  return { ...made, clock, traffic }
}

/** Lets network input arrive where nothing is expected: there is no event to wait for. */
const nothingComes = () => turnEventLoop(40)

test('a rate limit of a provider holds for all calls: they wait, and then one of them tries first', async () => {
  const held = heldReplies()
  const { call, failing, server, clock, traffic } = await testHostWithGovernor(held.script)
  const first = failing()
  await until(() => held.waiting === 1)
  held.reply(refuse(429, 'Slow down', { headers: { 'retry-after': '20' } }))
  expect(await first).toMatchObject({ kind: 'rate_limited', retryAfter: 20 })
  expect(await traffic()).toMatchObject({ breaker: 'closed', failures: 0, backing_off_ms: 20_000 })

  const others = Array.from({ length: 5 }, () => call())
  await clock.advance(19_900)
  await nothingComes()
  expect(server.requests).toHaveLength(1)
  expect(await traffic()).toMatchObject({ waiting: 5, in_flight: 0 })

  await clock.advance(200)
  await until(() => held.waiting === 1)
  await nothingComes()
  expect(server.requests).toHaveLength(2)
  held.reply()
  await until(() => held.waiting === 4)
  for (let n = 0; n < 4; n++) held.reply()
  expect((await Promise.all(others)).map(({ spend }) => spend.attempts)).toEqual([1, 1, 1, 1, 1])
  expect(server.requests).toHaveLength(6)
})

test('a wait that the provider asks for is capped at model.retry_cap', async () => {
  const { failing, traffic } = await testHostWithGovernor([fault('429long')])
  await failing()
  expect(await traffic()).toMatchObject({ backing_off_ms: 60_000 })
})

test('a call that waits too long for a provider that asked to wait names the reason', async () => {
  const { failing, clock, traffic } = await testHostWithGovernor([fault('429long')], { total_timeout: 30 })
  await failing()
  const waiting = failing()
  await until(async () => (await traffic()).waiting === 1)
  await clock.advance(30_000)
  expect((await waiting).message).toMatch(/model\.total_timeout \(30 s\), because openai asked to wait \(HTTP 429/)
})

test('a provider that asks to wait does not hold up calls to others', async () => {
  const { failing, call } = await testHostWithGovernor([fault('429long')])
  await failing()
  expect((await call({ model: 'sim' })).spend.model).toBe('sim/rules-1')
})

test('at most model.providers.<name>.max_concurrent attempts run at once, in the order of arrival', async () => {
  const held = heldReplies()
  const { call, traffic, server } = await testHostWithGovernor(held.script, {
    providers: { openai: { max_concurrent: 2 } },
  })
  let answered = 0
  const calls: Promise<unknown>[] = []
  for (const n of [0, 1, 2, 3, 4]) {
    calls.push(call({ messages: [{ role: 'user', content: `${n}` }] }).then(() => answered++))
    // Waits for each call to arrive: all of them read files first, which would mix up their order.
    await until(async () => {
      const { in_flight, waiting } = await traffic()
      return in_flight + waiting === n + 1
    })
  }
  for (let left = 5; left > 0; left--) {
    await until(() => held.waiting === Math.min(2, left))
    await nothingComes()
    expect(held.waiting).toBe(Math.min(2, left))
    if (left === 5) expect(await traffic()).toMatchObject({ in_flight: 2, waiting: 3, max_concurrent: 2 })
    held.reply()
    await until(() => answered === 6 - left)
  }
  await Promise.all(calls)
  const order = server.requests.map(({ prompt }) => prompt)
  expect(order.slice(0, 2).sort()).toEqual(['0', '1'])
  expect(order.slice(2)).toEqual(['2', '3', '4'])
})

test('a call that got no data while others ran names the setting for servers that answer few at a time', async () => {
  const held = heldReplies()
  const { failing, clock } = await testHostWithGovernor(held.script, { first_byte_timeout: 20 })
  const calls = [failing(), failing()]
  await until(() => held.waiting === 2)
  await clock.advance(20_000)
  const problem = 'no data arrived within model.first_byte_timeout (20 s)'
  const [first, second] = await Promise.all(calls)
  expect(first!.problem).toBe(
    `${problem} while other calls to it ran; a server that answers few at a time needs model.providers.openai.max_concurrent`,
  )
  expect(second!.problem).toContain(problem)
})

test('a call stopped while queued leaves the queue without a request', async () => {
  const held = heldReplies()
  const { call, failing, server, traffic } = await testHostWithGovernor(held.script, { max_concurrent: 1 })
  const running = call()
  await until(() => held.waiting === 1)
  const stop = new AbortController()
  const stopped = failing({ signal: stop.signal })
  stop.abort(new Error('enough'))
  expect(await stopped).toMatchObject({ kind: 'stopped', spend: null })
  expect(await traffic()).toMatchObject({ waiting: 0, in_flight: 1 })
  held.reply()
  await running
  expect(server.requests).toHaveLength(1)
})

test('waiting in the queue takes nothing of model.total_timeout, of a fallback model either', async () => {
  const held = heldReplies()
  const { call, failing, clock, traffic } = await testHostWithGovernor(held.script, {
    max_concurrent: 1,
    total_timeout: 90,
    first_byte_timeout: 0,
  })
  const first = call()
  await until(() => held.waiting === 1)
  await clock.advance(60_000)
  const second = call()
  const third = failing({ fallback: ['openai:scripted-2'] })
  await until(async () => (await traffic()).waiting === 2)
  await clock.advance(29_000)
  held.reply()
  await first
  await until(() => held.waiting === 1)
  await clock.advance(80_000)
  held.reply()
  expect((await second).text).toBe('Done.')
  await until(() => held.waiting === 1)
  held.reply(fault('500'))
  await until(() => held.waiting === 1)
  await clock.advance(89_000)
  await nothingComes()
  expect(await traffic()).toMatchObject({ in_flight: 1 })
  await clock.advance(1_000)
  expect((await third).problem).toMatch(/HTTP 500.*scripted-2 gave no answer either: it took longer than .* \(90 s\)/)
})

test('a queued call runs when the one before it reaches model.total_timeout, which is no failure of the provider', async () => {
  const held = heldReplies()
  const { call, failing, clock, traffic } = await testHostWithGovernor(held.script, {
    max_concurrent: 1,
    total_timeout: 90,
  })
  const running = call().catch(error => error)
  await until(() => held.waiting === 1)
  await clock.advance(60_000)
  const late = failing()
  await clock.advance(30_000)
  expect(await running).toBeInstanceOf(ModelError)
  await until(() => held.waiting === 2)
  held.reply()
  held.reply()
  await expect(late).rejects.toThrow('was answered')
  expect(await traffic()).toMatchObject({ failures: 0 })
})

test('a provider that fails again and again is suspended for a while, and then tried by one call', async () => {
  const held = heldReplies()
  const model = { breaker_failures: 3, breaker_cooldown: 10 }
  const { call, failing, server, clock, traffic, host } = await testHostWithGovernor(held.script, model)
  for (let n = 1; n <= 3; n++) {
    const failed = failing()
    await until(() => held.waiting === 1)
    held.reply(fault('500'))
    expect(await failed).toMatchObject({ kind: 'server_error' })
  }
  expect(await traffic()).toMatchObject({
    breaker: 'open',
    failures: 3,
    retry_in_ms: 10_000,
    last_failure: expect.stringContaining('HTTP 500'),
  })
  expect(host.logged('it is suspended for 10 s')).toMatchObject([{ level: 40, code: 'model_breaker_open' }])

  const refused = await failing()
  expect(refused).toMatchObject({ kind: 'resting', transient: false, retryAfter: 10, spend: null })
  expect(refused.message).toMatch(
    /openai is suspended after repeated failures \(the last: HTTP 500: .*\); svc models shows when it is tried again\.$/,
  )
  expect(server.requests).toHaveLength(3)

  await clock.advance(10_000)
  expect(await traffic()).toMatchObject({ breaker: 'half_open', retry_in_ms: null })
  const trial = failing()
  await until(() => held.waiting === 1)
  expect((await failing()).message).toContain('is suspended after repeated failures')
  held.reply(fault('500'))
  expect(await trial).toMatchObject({ kind: 'server_error' })
  expect(await traffic()).toMatchObject({ breaker: 'open', failures: 4, retry_in_ms: 10_000 })

  await clock.advance(10_000)
  const answered = call()
  await until(() => held.waiting === 1)
  held.reply()
  await answered
  expect(await traffic()).toMatchObject({ breaker: 'closed', failures: 0, last_failure: null })
  expect(host.logged('openai answers again')).toHaveLength(1)
  const metered = (await host.kernel.invoke('metrics.get')) as string
  expect(metered).toContain('svc_model_attempts_total{provider="openai",outcome="server_error"} 4')
  expect(metered).toContain('svc_model_attempts_total{provider="openai",outcome="answered"} 1')
  expect(metered).toContain('svc_model_attempt_duration_seconds_count{provider="openai"} 5')
  expect(metered).toContain('svc_model_breaker{provider="openai",state="closed"} 1')
  expect(metered).toContain('svc_model_breaker{provider="openai",state="open"} 0')
  expect(metered).toContain('svc_model_in_flight{provider="openai"} 0')
  expect(metered).toContain('svc_model_backoff_seconds{provider="openai"} 0')
})

test('a trial that was stopped lets the next call try', async () => {
  const held = heldReplies()
  const { call, failing, clock, traffic } = await testHostWithGovernor(held.script, { breaker_failures: 1 })
  const failed = failing()
  await until(() => held.waiting === 1)
  held.reply(fault('500'))
  await failed
  await clock.advance(10_000)
  const stop = new AbortController()
  const trial = failing({ signal: stop.signal })
  await until(() => held.waiting === 1)
  stop.abort(new Error('enough'))
  expect(await trial).toMatchObject({ kind: 'stopped' })
  expect(await traffic()).toMatchObject({ breaker: 'half_open' })
  const next = call()
  await until(() => held.waiting === 2)
  held.reply()
  held.reply()
  expect((await next).text).toBe('Done.')
})

test('refusals do not open the breaker, because the server can be reached', async () => {
  const replies = [refuse(401, 'No'), fault('500'), refuse(400, 'No'), fault('500'), refuse(404, 'No'), fault('500')]
  const { failing, traffic } = await testHostWithGovernor(replies, { breaker_failures: 2 })
  for (const _ of replies) await failing()
  expect(await traffic()).toMatchObject({ breaker: 'closed', failures: 1 })
})

const LOADING = refuse(503, 'Loading model', { code: '503' })

test('a server that loads its model is asked until it has loaded it, which takes no retries', async () => {
  let loads = true
  const { call, server, clock, traffic, host } = await testHostWithGovernor(() => (loads ? LOADING : text('Done.')), {
    breaker_failures: 1,
  })
  const answer = call()
  await until(async () => {
    await clock.advance(500)
    return server.received === 12
  })
  expect(await traffic()).toMatchObject({
    breaker: 'closed',
    failures: 0,
    last_failure: expect.stringMatching(/Loading/),
  })
  loads = false
  await until(async () => {
    await clock.advance(500)
    return server.received === 13
  })
  expect(await answer).toMatchObject({ text: 'Done.', spend: { attempts: 1 } })
  expect(host.logged('its server is loading the model').map(({ code, msg }) => [code, msg])).toEqual([
    [
      'model_loading',
      expect.stringMatching(/\(HTTP 503: Loading model\)\. Asking again every 2 s, for 240 s at most\.$/),
    ],
  ])
  expect(await traffic()).toMatchObject({ last_failure: null })
})

test('a server that does not finish loading is given up at model.first_byte_timeout', async () => {
  const { failing, server, clock, traffic } = await testHostWithGovernor(() => LOADING, { first_byte_timeout: 20 })
  let over = false
  const failed = failing().finally(() => (over = true))
  await until(async () => {
    await clock.advance(500)
    return over
  })
  expect(await failed).toMatchObject({ kind: 'loading', spend: null })
  expect(server.received).toBe(10)
  expect(await traffic()).toMatchObject({ breaker: 'closed', failures: 0, in_flight: 0 })
})

test('breaker_failures: 0 never suspends a provider', async () => {
  const { failing, traffic, server } = await testHostWithGovernor(() => fault('500'), { breaker_failures: 0 })
  for (let n = 0; n < 12; n++) expect(await failing()).toMatchObject({ kind: 'server_error' })
  expect(server.requests).toHaveLength(12)
  expect(await traffic()).toMatchObject({ breaker: 'closed', failures: 12 })
})

test('when a provider is suspended in the middle of a call, the call ends with its last error', async () => {
  const { failing, server, clock } = await testHostWithGovernor(() => fault('500'), { breaker_failures: 2 }, 5)
  const failed = failing()
  await until(async () => {
    await clock.advance(1)
    return server.requests.length === 2
  })
  expect(await failed).toMatchObject({ kind: 'server_error', spend: { attempts: 2 } })
  expect(server.requests).toHaveLength(2)
})
