import { expect, test } from 'vitest'
import { inputTokens } from '#core/models/call/spend'
import { FAULTS, type FaultMode, fault, refuse, text, toolCall } from '../../../support/model/model-server.ts'
import { IMPATIENT, QUICK, testHostForModels } from '../models/models-host.ts'

const FAILS: Partial<Record<FaultMode, { hits: number; says: RegExp; transient?: boolean; costs: boolean }>> = {
  '429': { hits: 3, says: /HTTP 429: Rate limit reached\.$/, costs: false },
  '429long': { hits: 3, says: /HTTP 429/, costs: false },
  '500': { hits: 3, says: /HTTP 500/, costs: false },
  hang: { hits: 3, says: /no data arrived within model\.first_byte_timeout \(0\.5 s\)/, costs: true },
  drip: { hits: 3, says: /no data arrived/, costs: true },
  cleancut: { hits: 3, says: /broke off before its end/, costs: true },
  rst: { hits: 3, says: /was lost/, costs: true },
  stall: { hits: 3, says: /no data arrived/, costs: true },
  badjson: { hits: 3, says: /not JSON/, costs: true },
  html200: { hits: 3, says: /answered with a web page; check the base URL/, costs: false },
  empty: { hits: 3, says: /broke off before its end/, costs: true },
  huge: { hits: 1, says: /longer than 1 MiB/, transient: false, costs: true },
}

/** Estimated tokens of the request in these tests. */
const ASKED = inputTokens({ messages: [{ role: 'user', content: 'Goal: say something' }], tools: [] })

test.for(Object.entries(FAILS))(
  'a call to a server in mode %s ends with a ModelError, in bounded time and with its spend',
  async ([mode, expected]) => {
    const config = expected.says.source.startsWith('no data') ? IMPATIENT : QUICK
    const { server, failing } = await testHostForModels(() => fault(mode as FaultMode), { config })
    const began = performance.now()
    const error = await failing()
    expect(performance.now() - began).toBeLessThan(20_000)
    expect(error.message).toMatch(expected.says)
    expect(error.message).toMatch(/^The model openai:scripted-1 gave no answer: /)
    expect(error.transient).toBe(expected.transient ?? true)
    expect(server.requests).toHaveLength(expected.hits)
    expect(error.spend?.attempts).toBe(expected.hits)
    expect(error.spend!.input_tokens > 0).toBe(expected.costs)
    expect(error.spend!.estimated).toBe(expected.costs)
    expect(error.spend!.input_tokens).toBe(expected.costs ? expected.hits * ASKED : 0)
  },
)

const ANSWERS = FAULTS.filter(mode => !FAILS[mode])

test('every fault mode is either survived or ends with an error', () => {
  expect(ANSWERS).toEqual(['nousage', 'negusage', 'badtool', 'unknowntool', 'dupids'])
})

test.for(['nousage', 'negusage'] as const)('an answer in mode %s is not free: its tokens are estimated', async mode => {
  const { server, call } = await testHostForModels(() => fault(mode))
  const { text: said, spend } = await call()
  expect(said).toBe('As far as I can see')
  expect(spend).toMatchObject({ estimated: true, attempts: 1 })
  expect(spend).toMatchObject({
    input_tokens: ASKED,
    output_tokens: server.bill[0]!.output_tokens,
  })
})

test('malformed arguments and unknown tools are passed on unchanged', async () => {
  const { call } = await testHostForModels([fault('badtool'), fault('unknowntool')])
  expect((await call()).tool_calls).toMatchObject([{ name: 'file_write', arguments: expect.stringMatching(/mid$/) }])
  expect((await call()).tool_calls).toMatchObject([{ name: 'no_such_tool', arguments: '{"any":"thing"}' }])
})

test('tool calls with missing or repeated ids get ids of their own', async () => {
  const { call } = await testHostForModels([fault('dupids'), toolCall('a', {}, ''), toolCall('a', {}, 'seen')])
  const twins = (await call()).tool_calls
  expect(twins.map(({ arguments: args }) => args)).toEqual(['{"path":"a"}', '{"path":"b"}'])
  expect(new Set(twins.map(({ id }) => id)).size).toBe(2)
  expect((await call()).tool_calls[0]!.id).not.toBe('')
  const earlier = { role: 'assistant', content: '', tool_calls: [{ id: 'seen', name: 'a', arguments: {} }] } as const
  const result = { role: 'tool', content: 'ok', tool_call_id: 'seen' } as const
  const again = await call({
    messages: [{ role: 'user', content: 'x' }, { ...earlier, tool_calls: [...earlier.tool_calls] }, result],
  })
  expect(again.tool_calls[0]!.id).not.toBe('seen')
})

test('a transient failure is retried, and each attempt is counted', async () => {
  const { server, call, host } = await testHostForModels([fault('429'), fault('500'), text('Here I am.')])
  const answer = await call()
  expect(answer).toMatchObject({ text: 'Here I am.', finish_reason: 'stop', spend: { attempts: 3, estimated: false } })
  expect(server.requests).toHaveLength(3)
  expect(host.logged('Trying again')).toHaveLength(2)
  expect(host.logged('Trying again')[0]).toMatchObject({ agent_id: 'coder-1', code: 'model_retry', level: 40 })
})

test.for([400, 401, 403, 404])('a refusal with status %s is not retried', async status => {
  const { server, failing } = await testHostForModels(() => refuse(status, 'That is not for you'))
  const error = await failing()
  expect(error.message).toMatch(new RegExp(`HTTP ${status}: That is not for you[.;]`))
  expect(error).toMatchObject({ transient: false, spend: { attempts: 1, input_tokens: 0, cost_micros: 0 } })
  expect(server.requests).toHaveLength(1)
})

test('a refusal with the type of an event stream is still read as a refusal', async () => {
  const headers = { 'content-type': 'text/event-stream', 'retry-after': '30' }
  const { server, failing } = await testHostForModels([
    refuse(401, 'That is not for you', { headers }),
    ...Array.from({ length: 3 }, () => refuse(429, 'Later', { headers })),
  ])
  const error = await failing()
  expect(error.message).toContain(
    'HTTP 401: That is not for you; check the key in OPENAI_API_KEY, and restart the service',
  )
  expect(error).toMatchObject({ kind: 'auth', spend: { attempts: 1, input_tokens: 0 } })
  expect(await failing()).toMatchObject({ kind: 'rate_limited', retryAfter: 30, spend: { input_tokens: 0 } })
  expect(server.requests).toHaveLength(4)
})

test('an exhausted quota is not retried, although its status is 429', async () => {
  const { server, failing } = await testHostForModels(() =>
    refuse(429, 'You exceeded your quota', { code: 'insufficient_quota' }),
  )
  expect((await failing()).transient).toBe(false)
  expect(server.requests).toHaveLength(1)
})

test('a Retry-After is waited for up to model.retry_cap, and passed to the caller', async () => {
  const { failing } = await testHostForModels(() => fault('429long'))
  const began = performance.now()
  const error = await failing()
  expect(performance.now() - began).toBeGreaterThan(95)
  expect(error.retryAfter).toBe(3600)
})

test.for([
  [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT', date: 'Wed, 21 Oct 2026 07:27:30 GMT' }, 30],
  // A time that has passed on the server's clock needs no wait.
  [{ 'retry-after': 'Wed, 21 Oct 2026 07:28:00 GMT', date: 'Wed, 21 Oct 2026 07:29:00 GMT' }, 0],
  [{ 'retry-after': '7', 'retry-after-ms': '1500' }, 1.5],
  [{ 'retry-after': 'soon' }, undefined],
  [{ 'retry-after': '-3' }, undefined],
] as const)('Retry-After may be seconds, or a date on the clock of the server: %j', async ([headers, seconds]) => {
  const { failing } = await testHostForModels(() => refuse(429, 'Later', { headers }), {
    config: { ...QUICK, daemon: { max_retries: 0 } },
  })
  expect((await failing()).retryAfter).toBe(seconds)
})

test('with max_retries: 0 the server is asked once', async () => {
  const { server, failing } = await testHostForModels(() => fault('500'), {
    config: { ...QUICK, daemon: { max_retries: 0 } },
  })
  await failing()
  expect(server.requests).toHaveLength(1)
})

test('one call with all its retries never exceeds model.total_timeout', async () => {
  const limits = { ...QUICK.model, idle_timeout: 10, total_timeout: 0.4 }
  const { failing } = await testHostForModels(() => fault('hang'), { config: { ...QUICK, model: limits } })
  const error = await failing()
  expect(error.message).toContain('it took longer than model.total_timeout (0.4 s)')
})

/** Records what a caller shows and can take back. */
function screen() {
  const shown = { text: '', resets: 0 }
  const onText = (piece: string) => {
    shown.text += piece
  }
  const onReset = () => {
    shown.text = ''
    shown.resets++
  }
  return { shown, onText, onReset }
}

test('a stream that broke off is requested once more without streaming, and its text replaces what was shown', async () => {
  const { server, call } = await testHostForModels([fault('cleancut'), text('The whole of it.')])
  const { shown, ...shows } = screen()
  const answer = await call(shows)
  expect(answer).toMatchObject({ text: 'The whole of it.', finish_reason: 'stop', spend: { attempts: 2 } })
  expect(server.requests.map(({ body }) => body.stream)).toEqual([true, false])
  expect(shown).toEqual({ text: 'The whole of it.', resets: 1 })
})

test('a caller without onReset is shown the first attempt only', async () => {
  const { call } = await testHostForModels([fault('cleancut'), text('The whole of it.')])
  const shown: string[] = []
  const answer = await call({ onText: piece => shown.push(piece) })
  expect(answer.text).toBe('The whole of it.')
  expect(shown.join('')).toBe('As far as I can see')
})

test('when all attempts fail, the error carries the text that was shown last', async () => {
  const { server, failing } = await testHostForModels(() => fault('rst'))
  const { shown, ...shows } = screen()
  const error = await failing(shows)
  expect(error.text).toBe('As far as I can see')
  expect(shown.text).toBe(error.text)
  expect(server.requests.map(({ body }) => body.stream)).toEqual([true, false, true])
  expect(error.spend).toMatchObject({ attempts: 3, estimated: true })
})

test('an error object in a stream is an error, not an answer', async () => {
  // Proxies fail in this way after they have answered 200.
  const { server, failing, host } = await testHostForModels(undefined, {
    ports: {
      fetch: async (input, init) => {
        if (!String(input).endsWith('/chat/completions')) return fetch(input, init)
        const answer = 'data: {"error":{"message":"Provider disconnected","code":502}}\n\n'
        await (await fetch(input, init)).text()
        return new Response(answer, { headers: { 'content-type': 'text/event-stream' } })
      },
    },
  })
  expect((await failing()).message).toMatch(
    /reported: Provider disconnected|sent an answer that does not match its protocol/,
  )
  expect(server.requests).toHaveLength(3)
  expect(host.logged('Provider disconnected').length).toBeGreaterThan(0)
})

test('an answer that lacks only its usage is accepted when the server then falls silent', async () => {
  const { call, server } = await testHostForModels(undefined, {
    config: IMPATIENT,
    ports: {
      fetch: async (input, init) => {
        const { body } = await fetch(input, init)
        const reader = body!.getReader()
        const whole = new TextDecoder().decode((await reader.read()).value)
        void reader.cancel()
        const chunk = { choices: [{ delta: { content: 'Whole.' }, finish_reason: 'stop' }] }
        const stream = new ReadableStream({
          start: controller => controller.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(chunk)}\n\n`)),
        })
        expect(whole).toContain('data:')
        return new Response(stream, { headers: { 'content-type': 'text/event-stream' } })
      },
    },
  })
  expect(await call()).toMatchObject({ text: 'Whole.', finish_reason: 'stop', spend: { attempts: 1, estimated: true } })
  expect(server.requests).toHaveLength(1)
})

test.for(['hang', 'stall', 'drip'] as const)(
  'an abort ends a call in mode %s and closes its connection',
  async mode => {
    const { server, failing } = await testHostForModels(() => fault(mode), { config: { model: { idle_timeout: 60 } } })
    const stop = new AbortController()
    const failed = failing({ signal: stop.signal })
    const request = await server.request(1)
    stop.abort(new Error('The operator said so.'))
    const error = await failed
    expect(await request.ended).toBe('dropped')
    expect(error).toMatchObject({ transient: false, spend: { attempts: 1, estimated: true } })
    expect(error.message).toContain('the call was stopped (The operator said so)')
    expect((error.cause as Error).message).toBe('The operator said so.')
  },
)

test('an abort before the call sends no request and costs nothing', async () => {
  const { server, failing } = await testHostForModels()
  expect((await failing({ signal: AbortSignal.abort() })).spend).toBeNull()
  expect(server.requests).toHaveLength(0)
})

test('a server that is not running is named with a hint, and nothing is spent', async () => {
  const { failing, server } = await testHostForModels()
  await server.close()
  const error = await failing()
  expect(error.message).toContain(`${server.url} cannot be reached (ECONNREFUSED); is the server running?`)
  expect(error.message).toMatch(/\?$/)
  expect(error).toMatchObject({ transient: true, spend: { attempts: 3, input_tokens: 0 } })
  const local = await testHostForModels(undefined, { env: { OLLAMA_BASE_URL: server.url } })
  expect((await local.failing({ model: 'ollama:m' })).problem).toMatch(
    /\(ECONNREFUSED\); start it with "ollama serve"$/,
  )
})

test('a key never appears in an error', async () => {
  const key = 'sk-canary-1234567890'
  const { failing, host } = await testHostForModels(() => refuse(401, `Incorrect API key provided: ${key}`), {
    env: { OPENAI_API_KEY: key },
  })
  expect((await failing()).message).toContain('HTTP 401: Incorrect API key provided: ***;')
  expect(JSON.stringify(host.log)).not.toContain(key)
})

test('a secret never appears in an error, not in part and not that of another provider', async () => {
  const key = 'sk-canary-1234567890'
  const other = 'gsk-raven-0987654321'
  const long = `${'x'.repeat(290)} ${key}`
  const { failing } = await testHostForModels([refuse(400, `${other} is no key`), refuse(400, long)], {
    env: { OPENAI_API_KEY: `${key}\n`, GROQ_API_KEY: other },
  })
  expect((await failing()).message).toContain('HTTP 400: *** is no key')
  expect((await failing()).message).toMatch(/x \*\*\*\.$/)
})
