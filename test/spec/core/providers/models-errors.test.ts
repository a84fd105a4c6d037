import { monitorEventLoopDelay } from 'node:perf_hooks'
import { expect, it, onTestFinished } from 'vitest'
import { fault, HeldClock, modelServer, text, together, toolCall, until } from '../../../support/index.ts'
import { httpServer } from '../../../support/model/http.ts'
import { QUICK, testHostForModels } from '../models/models-host.ts'

/** Starts a server that gives this answer to every completion, and returns the error of a call. */
async function answering(status: number, body: string, type = 'application/json') {
  let asked = 0
  await using server = await httpServer((request, response) => {
    request.resume()
    if (request.method === 'GET') return void response.writeHead(404).end()
    asked++
    response.writeHead(status, { 'content-type': type }).end(body)
  })
  const { failing } = await testHostForModels([], { env: { OPENAI_BASE_URL: `${server.url}/v1` } })
  return { error: await failing(), asked }
}

it.each<[string, number, unknown, RegExp]>([
  [
    'vLLM',
    404,
    { object: 'error', message: 'The model `x` does not exist.', type: 'NotFoundError', code: 404 },
    /HTTP 404: The model `x` does not exist$/,
  ],
  [
    'Mistral',
    422,
    { detail: [{ loc: ['body'], msg: 'Extra inputs are not permitted' }] },
    /Extra inputs are not permitted$/,
  ],
  ['FastAPI', 404, { detail: 'Not Found' }, /HTTP 404: Not Found$/],
  [
    'LiteLLM',
    400,
    { error: { message: 'litellm.BadRequestError: no', type: null, code: '400' } },
    /BadRequestError: no$/,
  ],
  [
    'OpenRouter',
    400,
    { error: { message: 'Provider returned error', code: 400, metadata: { raw: 'context is odd' } } },
    /Provider returned error: context is odd$/,
  ],
  ['Azure', 404, { error: { code: 'DeploymentNotFound', message: 'No such deployment.' } }, /No such deployment$/],
  ['Ollama', 404, { error: "model 'x' not found" }, /HTTP 404: model 'x' not found$/],
  ['a proxy', 404, 'no such route', /no such route$/],
])('an error of %s reaches the operator with its status and message', async (_, status, body, says) => {
  const { error } = await answering(status, typeof body === 'string' ? body : JSON.stringify(body))
  expect(error.problem).toMatch(says)
  expect(error).toMatchObject({ transient: false, billed: false })
})

it.each<[string, string]>([
  ['one long word', 'a'.repeat(1_000_000)],
  ['a phrase again and again', 'input token count '.repeat(60_000)],
  ['a page', `<p>${'no such page '.repeat(80_000)}</p>`],
])('an error of a megabyte is read in bounded time: %s', async (_, message) => {
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  const { error } = await answering(400, JSON.stringify({ error: { message } }))
  // Before, it took a minute.
  expect(delay.max / 1e6).toBeLessThan(5_000)
  expect(error.problem.length).toBeLessThan(400)
})

it.each([
  [404, /HTTP 404: the answer is empty; check the base URL$/],
  [403, /HTTP 403: the answer is empty$/],
])('an error %d without a text says so', async (status, says) => {
  expect((await answering(status, '')).error.problem).toMatch(says)
})

it('an error with HTTP 200 is reported with its message', async () => {
  const { error } = await answering(200, JSON.stringify({ error: { message: 'the model crashed', code: 500 } }))
  expect(error.problem).toMatch(/the model crashed/)
})

it.each([
  ['ollama', 120],
  ['openai', 30],
])('the idle limit of %s is %i s: Ollama sends a tool call in one chunk', async (provider, seconds) => {
  const clock = new HeldClock()
  let goOn = () => {}
  const held = new Promise<void>(resolve => {
    goOn = resolve
  })
  const late = { ...together(text('I write it.'), toolCall('look', { n: 1 })), until: held }
  const server = await modelServer({ script: [late, { ...late, until: new Promise(() => {}) }] })
  onTestFinished(() => server.close())
  const env = { OPENAI_BASE_URL: server.url, OLLAMA_BASE_URL: server.url }
  const { call, failing } = await testHostForModels(undefined, { clock, config: { daemon: { max_retries: 0 } }, env })
  const model = `${provider}:scripted-1`
  const shown: string[] = []
  const answer = call({ model, onText: piece => void shown.push(piece) })
  await until(() => shown.length > 0)
  await clock.advance((seconds - 1) * 1_000)
  goOn()
  expect((await answer).tool_calls).toMatchObject([{ name: 'look' }])
  shown.length = 0
  const failed = failing({ model, onText: piece => void shown.push(piece) })
  await until(() => shown.length > 0)
  await clock.advance((seconds + 1) * 1_000)
  expect((await failed).problem).toBe(`no data arrived within model.idle_timeout (${seconds} s)`)
})

it('a server that is slow to start its answer has a time limit of its own, model.first_byte_timeout', async () => {
  const { call, failing, server } = await testHostForModels([fault('hang'), text('Loaded.')], {
    config: {
      ...QUICK,
      daemon: { max_retries: 0 },
      model: { ...QUICK.model, idle_timeout: 0.1, first_byte_timeout: 1 },
    },
  })
  const began = performance.now()
  const error = await failing()
  expect(performance.now() - began).toBeGreaterThan(900)
  expect(error.problem).toBe('no data arrived within model.first_byte_timeout (1 s)')
  expect((await call()).text).toBe('Loaded.')
  expect(server.requests).toHaveLength(2)
})

it('a kept-alive connection that the server has closed is reopened, which does not count as an attempt', async () => {
  let connections = 0
  await using model = await httpServer((request, response) => {
    request.resume()
    if (request.method === 'GET') return void response.writeHead(404).end()
    request.on('end', () => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({ choices: [{ index: 0, message: { content: 'Here.' }, finish_reason: 'stop' }], usage: null }),
      )
    })
  })
  // Behaves like llama-server: resets the second request on a connection.
  model.server.keepAliveTimeout = 60_000
  model.server.on('connection', socket => {
    connections++
    let requests = 0
    socket.on('data', data => {
      if (/^(GET|POST) /.test(String(data)) && ++requests > 1) socket.resetAndDestroy()
    })
    socket.on('error', () => {})
  })
  const { call } = await testHostForModels([], {
    env: { OPENAI_BASE_URL: `${model.url}/v1` },
    config: { ...QUICK, daemon: { max_retries: 0 } },
  })
  for (let n = 0; n < 5; n++) expect(await call()).toMatchObject({ text: 'Here.', spend: { attempts: 1 } })
  expect(connections).toBeGreaterThan(4)
})
