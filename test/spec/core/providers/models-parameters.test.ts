import { expect, test } from 'vitest'
import { agentPage } from '#core/agents/page'
import { type ModelParameters, Models } from '#core/models/contract'
import type { ModelsOverview } from '#core/models/overview'
import { dialectOf } from '#core/models/parameters/dialects'
import { wireParameters } from '#core/models/parameters/openai'
import { THINKS } from '#core/models/parameters/thinking'
import { renderModels } from '#core/models/render'
import { project } from '../../../cli/project.ts'
import { modelServer, runHeartbeat, text } from '../../../support/index.ts'
import { httpServer } from '../../../support/model/http.ts'
import { svc } from '../../../support/vitest/warm.ts'
import { finish, goalAnswer } from '../../safety/approvals-host.ts'
import { asksForGoal, detail, spawn, testHostWithModel } from '../models/model-host.ts'
import { PURPOSE, QUICK, testHostForModels } from '../models/models-host.ts'
import { startTaskServer } from '../tasks/tasks-server.ts'

type Body = Record<string, unknown>

test('the most specific parameters win: those of the call, the model, its tier, its provider, then of all models', async () => {
  const { call, server } = await testHostForModels(undefined, {
    files: {
      'models.yaml': [
        'tiers: { openai: { pro: scripted-1 } }',
        'parameters:',
        '  openai:scripted-1: { seed: 2, stop: [END] }',
        '  openai:pro: { seed: 3, stop: [no], top_p: 0.3 }',
      ].join('\n'),
    },
    config: {
      ...QUICK,
      model: {
        ...QUICK.model,
        parameters: { seed: 5, stop: ['no'], top_p: 0.5, verbosity: 'high', temperature: 0.5, extra: { a: 5, b: 5 } },
        providers: { openai: { parameters: { top_p: 0.4, verbosity: 'low', extra: { b: 4 } } } },
      },
    },
  })
  await call({ parameters: { seed: 1 }, temperature: 0.9 })
  expect(server.requests[0]!.body).toMatchObject({
    seed: 1,
    stop: ['END'],
    top_p: 0.3,
    verbosity: 'low',
    temperature: 0.5,
    a: 5,
    b: 4,
  })
})

const FULL: ModelParameters = {
  reasoning_effort: 'xhigh',
  thinking_tokens: 2_000,
  top_p: 0.9,
  stop: ['END'],
  seed: 7,
  verbosity: 'low',
}
test.for<[provider: string, base_url: string, parameters: ModelParameters, wire: Body]>([
  ['openai', 'https://api.openai.com/v1', FULL, { reasoning_effort: 'xhigh', verbosity: 'low', seed: 7, top_p: 0.9 }],
  ['openrouter', 'https://openrouter.ai/api/v1', FULL, { reasoning: { max_tokens: 2_000 }, verbosity: 'low' }],
  ['openrouter', 'https://openrouter.ai/api/v1', { reasoning_effort: 'max' }, { reasoning: { effort: 'xhigh' } }],
  ['openrouter', 'https://openrouter.ai/api/v1', { reasoning_effort: 'none' }, { reasoning: { enabled: false } }],
  [
    ...(['gemini', 'https://generativelanguage.googleapis.com/v1beta/openai', FULL] as const),
    { extra_body: { google: { thinking_config: { thinking_budget: 2_000 } } }, seed: 7 },
  ],
  ['google', 'http://127.0.0.1:1/v1', { reasoning_effort: 'max' }, { reasoning_effort: 'high' }],
  ['mistral', 'https://api.mistral.ai/v1', FULL, { reasoning_effort: 'high', random_seed: 7, stop: ['END'] }],
  ['deepseek', 'https://api.deepseek.com', FULL, { thinking: { type: 'enabled' }, reasoning_effort: 'xhigh' }],
  ['deepseek', 'https://api.deepseek.com', { reasoning_effort: 'none' }, { thinking: { type: 'disabled' } }],
  ['ollama', 'http://localhost:11434/v1', { reasoning_effort: 'minimal' }, { reasoning_effort: 'low' }],
  ['ollama', 'http://localhost:11434/v1', { reasoning_effort: 'none' }, { reasoning_effort: 'none' }],
  [
    ...(['vllm', 'http://localhost:8000/v1', FULL] as const),
    { chat_template_kwargs: { enable_thinking: true }, reasoning_effort: 'high' },
  ],
  [
    ...(['llamacpp', 'http://localhost:8080/v1', { reasoning_effort: 'none' }] as const),
    { chat_template_kwargs: { enable_thinking: false } },
  ],
])('%s at %s gets %o in its own format', ([name, base_url, parameters, wire]) => {
  const request = {
    model: 'm',
    messages: [],
    tools: [],
    temperature: 0.2,
    max_tokens: 100,
    purpose: PURPOSE,
    parameters,
  }
  const sent = wireParameters(request, dialectOf({ name, base_url }))
  expect(sent).toMatchObject({ max_tokens: 100, temperature: 0.2, ...wire })
  const others = ['reasoning', 'reasoning_effort', 'thinking', 'extra_body', 'chat_template_kwargs', 'verbosity']
  for (const key of others) if (!(key in wire)) expect(sent).not.toHaveProperty(key)
})

test('tokens for thinking come on top of the answer, and count towards the window', async () => {
  const { call, server, models } = await testHostForModels(() => text('Done.'), {
    files: { 'models.yaml': 'models: { "openai:scripted-1": { context_window: 40000, max_output_tokens: 9000 } }\n' },
  })
  await call({ max_tokens: 4_000, parameters: { thinking_tokens: 3_000 } })
  await call({ max_tokens: 4_000, parameters: { thinking_tokens: 8_000 } })
  await call({ max_tokens: 4_000, parameters: { thinking_tokens: 8_000, reasoning_effort: 'none' } })
  expect(server.requests.map(({ body }) => body.max_tokens)).toEqual([7_000, 9_000, 4_000])
  const report = await models.measure!({
    model: 'openai:scripted-1',
    messages: [{ role: 'user', content: 'Go.' }],
    tools: [],
    purpose: PURPOSE,
    max_tokens: 4_000,
    parameters: { thinking_tokens: 3_000 },
  })
  expect(report.sections.answer).toBe(7_000)
})

test.each([
  'openai:o3',
  'openrouter:anthropic/claude-sonnet-5.5',
  'anthropic:claude-haiku-5-5',
  'gemini:gemini-3.6-flash',
  'google:models/gemini-2.5-pro',
  'deepseek:deepseek-v4.1-flash',
  'xai:grok-4.5',
  'fireworks:accounts/fireworks/models/kimi-k2p6',
  'fireworks:accounts/fireworks/models/minimax-m2p7',
  'zai:glm-5.1',
])('%s thinks unless it is asked not to', id => expect(id).toMatch(THINKS))

test.each([
  'openai:gpt-4o',
  'openai:gpt-5.4-mini',
  'anthropic:claude-3-7-sonnet-20250219',
  'anthropic:claude-sonnet-4-20250514',
  'anthropic:claude-opus-4-6',
  'gemini:gemini-2.5-flash-lite',
  'xai:grok-4.1-fast-non-reasoning',
  'groq:openai/gpt-oss-120b',
  'ollama:deepseek-r1:8b',
  'sim/rules-1',
])('%s gets no tokens for thinking unless it is asked to think', id => expect(id).not.toMatch(THINKS))

test.for([
  ['models.yaml', 'parameters: { "openai:m": { reasoning_effort: huge } }', /models\.yaml:1.*reasoning_effort/],
  ['models.yaml', 'parameters: { "openai:m": { extra: { messages: [] } } }', /extra\.messages: cannot be set here/],
  ['models.yaml', 'parameters: { "openai:m": { top_k: 4 } }', /top_k/],
  ['profiles/odd.yaml', 'name: odd\nparameters: { temperature: 3 }', /odd\.yaml:2.*parameters\.temperature/],
  ['profiles/odd.yaml', 'name: odd\nparameters: { thinking: yes }', /odd\.yaml.*thinking/],
  ['.svc/config.yaml', 'model: { parameters: { seed: -1 } }', /model\.parameters\.seed/],
  ['.svc/config.yaml', 'model: { providers: { openai: { parameters: { stop: [] } } } }', /openai\.parameters\.stop/],
] as const)('svc config validate names the mistake in %s: %s', async ([file, content, problem]) => {
  await using dir = await project({ [file]: `${content}\n` })
  const { code, stdout, stderr } = await svc(['config', 'validate'], { cwd: dir.path })
  expect(stdout + stderr).toMatch(problem)
  expect(code).not.toBe(0)
})

test('the parameters of the profile and the model are sent, and svc agent and svc models show them', async () => {
  await using home = await testHostWithModel(request => (asksForGoal(request) ? goalAnswer('Try') : finish('Done.')), {
    files: {
      'models.yaml': 'parameters: { "openai:scripted": { temperature: 1, seed: 1, top_p: 0.5 } }\n',
      'profiles/worker.yaml': 'name: worker\nrole: works\nparameters: { reasoning_effort: low, seed: 2 }\n',
      'profiles/cold.yaml': 'name: cold\nrole: works\ntemperature: 0.1\n',
    },
  })
  const id = await spawn(home)
  home.kernel.heartbeat.start()
  for (let n = 0; n < 8 && home.server.requests.length < 2; n++) await runHeartbeat(home)
  const { parameters } = await detail(home, id)
  expect(parameters).toEqual({ reasoning_effort: 'low', temperature: 1, max_tokens: 4096, seed: 2, top_p: 0.5 })
  expect(agentPage(await detail(home, id))).toMatch(/parameters +reasoning_effort=low .*seed=2/)
  expect(renderModels((await home.kernel.invoke('models.list', {})) as ModelsOverview)).toContain(
    'openai:scripted, with temperature=1 top_p=0.5 seed=1',
  )
  expect(home.server.requests.length).toBeGreaterThan(1)
  for (const { body } of home.server.requests) expect(body).toMatchObject({ ...parameters })
  // A temperature in the profile overrides that of the model.
  expect((await detail(home, await spawn(home, 'cold'))).parameters).toMatchObject({ temperature: 0.1, seed: 1 })
})

test('reading an agent asks no model server: parameters are null until the server has named its model', async () => {
  let asked = 0
  await using ollama = await httpServer((_, answer) => {
    asked++
    answer.setHeader('content-type', 'application/json').end('{"data":[{"id":"llama3"}]}')
  })
  await using home = await testHostWithModel(() => goalAnswer(''), {
    config: { model: { ollama_base_url: ollama.url, parameters: { seed: 7 } } },
    files: { 'profiles/worker.yaml': 'name: worker\nrole: works\nmodel: ollama\n' },
  })
  const id = await spawn(home)
  expect((await detail(home, id)).parameters).toBeNull()
  expect(asked).toBe(0)
  await home.kernel.use(Models).resolve('ollama')
  const before = asked
  expect(before).toBeGreaterThan(0)
  expect((await detail(home, id)).parameters).toMatchObject({ seed: 7 })
  expect(asked).toBe(before)
})

test('a task over HTTP overrides the profile, stores its parameters, and is rejected for bad ones', async () => {
  const home = await startTaskServer(() => text('Done.'))
  const parameters = { reasoning_effort: 'high', temperature: 0.7, extra: { top_k: 4 } }
  const { json } = await home.post(`/agents/${home.id}/tasks`, { instruction: 'Say done.', parameters })
  expect(json).toMatchObject({ status: 'completed', output: 'Done.' })
  expect(home.model.requests[0]!.body).toMatchObject({ reasoning_effort: 'high', temperature: 0.7, top_k: 4 })
  expect((await home.ask(`/tasks/${json.task_id}`)).json).toMatchObject({ parameters })
  const bad = await home.post(`/agents/${home.id}/tasks`, { instruction: 'x', parameters: { extra: { model: 'y' } } })
  expect(bad.status).toBe(422)
  expect(JSON.stringify(bad.json)).toContain('cannot be set here: svc sets model itself')
})

test('the most specific output limit is sent: that of the task, the profile, the model, its tier, then of all', async () => {
  const home = await startTaskServer(() => text('Done.'), {
    'models.yaml': [
      'tiers: { openai: { pro: pro-1, lite: lite-1 } }',
      'parameters: { "openai:pro": { max_tokens: 700 }, "openai:lite-1": { max_tokens: 600 } }',
    ].join('\n'),
    'profiles/short.yaml': 'name: short\nrole: works\nmax_tokens: 500\n',
  })
  const limitOf = async (profile: string, model: string, more: object = {}) => {
    const { json } = await home.post('/agents', { preset: profile, model })
    const task = await home.post(`/agents/${json.agent_id}/tasks`, { instruction: 'Say done.', ...more })
    expect(task.json).toMatchObject({ status: 'completed' })
    return home.model.requests.at(-1)!.body.max_tokens
  }
  expect(await limitOf('worker', 'openai:scripted')).toBe(4096)
  expect(await limitOf('worker', 'openai:pro-1')).toBe(700)
  expect(await limitOf('worker', 'openai:lite-1')).toBe(600)
  expect(await limitOf('short', 'openai:lite-1')).toBe(500)
  expect(await limitOf('short', 'openai:lite-1', { max_tokens: 400 })).toBe(400)
  expect(await limitOf('short', 'openai:lite-1', { parameters: { max_tokens: 300 } })).toBe(300)
})

test('a task stores its output limit, is another request with another limit, and fails with an error naming it', async () => {
  const home = await startTaskServer(() => text('Do', { finish_reason: 'length' }))
  const asked = { instruction: 'Say done.', max_tokens: 20 }
  const headers = { 'idempotency-key': 'one' }
  const { json } = await home.post(`/agents/${home.id}/tasks`, asked, headers)
  expect(json.error).toMatchObject({ code: 'answer_cut', detail: expect.stringContaining('max_tokens (20)') })
  expect((await home.ask(`/tasks/${json.task_id}`)).json).toMatchObject({ parameters: { max_tokens: 20 } })
  const other = await home.post(`/agents/${home.id}/tasks`, { ...asked, max_tokens: 21 }, headers)
  expect([other.status, other.json.code]).toEqual([422, 'idempotency_key_reused'])
  for (const max_tokens of [0, 1.5, 'many']) {
    const bad = await home.post(`/agents/${home.id}/tasks`, { ...asked, max_tokens })
    expect([bad.status, JSON.stringify(bad.json)]).toEqual([422, expect.stringContaining('max_tokens')])
  }
})

test('svc run --max-tokens limits the answer', async () => {
  await using server = await modelServer({ script: () => text('Done.') })
  await using dir = await project({ 'profiles/worker.yaml': 'name: worker\nrole: works\n' })
  const env = { OPENAI_BASE_URL: server.url }
  const run = (...args: string[]) => svc(args, { cwd: dir.path, env })
  await run('spawn', 'worker')
  expect(await run('run', 'worker', 'Say done.', '--max-tokens', '33')).toMatchObject({ code: 0, stdout: 'Done.\n' })
  expect(server.requests.at(-1)!.body).toMatchObject({ max_tokens: 33 })
  const bad = await run('run', 'worker', 'Say done.', '--max-tokens', 'many')
  expect([bad.code, bad.stderr]).toEqual([2, expect.stringContaining('--max-tokens')])
})

test('a summary is requested without the parameters that make answers random, short or thoughtful', async () => {
  const wild = { temperature: 0.9, max_tokens: 50, top_p: 0.5, stop: ['x'], verbosity: 'low', reasoning_effort: 'high' }
  const parameters = { ...wild, thinking_tokens: 2000, seed: 7, extra: { top_k: 3 } }
  const config = { ...QUICK, model: { ...QUICK.model, parameters } }
  const { call, server } = await testHostForModels(undefined, { config })
  await call()
  await call({ purpose: { ...PURPOSE, kind: 'summary' } })
  const [step, summary] = server.requests.map(({ body }) => body)
  expect(step).toMatchObject({ temperature: 0.9, max_tokens: 2050, top_p: 0.5, seed: 7, top_k: 3 })
  expect(summary).toMatchObject({ temperature: 0, seed: 7, top_k: 3, reasoning_effort: 'none' })
  for (const key of ['top_p', 'stop', 'verbosity']) expect(summary).not.toHaveProperty(key)
})
