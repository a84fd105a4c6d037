import { Agent } from 'node:http'
import { describe, expect, it } from 'vitest'
import { createClient } from '#interfaces/rest/client'
import { FAST, project } from '../cli/project.ts'
import { type Sse, sse } from '../interfaces/sse.ts'
import { source } from '../reload/sources.ts'
import { modelServer, RunningSvc, text, until } from '../support/index.ts'
import { sendJson } from '../support/model/http.ts'
import { manyCallsModel, WIRES } from './many-calls-model.ts'

const URL_LINE = /^Dashboard: +(http:\/\/127\.0\.0\.1:\d+)\/$/m
const LOOK = source(
  'looker',
  `svc.toolkit({ name: 'looker', tools: [tool({
    name: 'look', description: 'Look at one.', parameters: z.object({ n: z.number() }), execute: ({ n }) => 'saw ' + n,
  })] })`,
)

/** Asks for the health of the service until `work` is done. @returns the longest wait for an answer, in milliseconds */
async function longestWait(url: string, work: Promise<unknown>): Promise<number> {
  let longest = 0
  let over = false
  const ended = work.finally(() => {
    over = true
  })
  while (!over) {
    const began = performance.now()
    expect((await fetch(`${url}/healthz`)).status).toBe(200)
    longest = Math.max(longest, performance.now() - began)
    await new Promise(resolve => setTimeout(resolve, 10))
  }
  await ended
  return longest
}

describe('an answer with 12,000 tool calls', () => {
  it.each(WIRES)('is cut at the limit before any call is processed: %s', async wire => {
    await using model = await manyCallsModel(wire, 12_000, 'look')
    await using dir = await project({ ...FAST, 'plugins/looker.ts': LOOK })
    await using server = new RunningSvc(['serve', '--with-daemon', '--port', '0', '--profiles', 'coder'], {
      cwd: dir.path,
      env: model.env,
    })
    const [, url = ''] = await server.waitForOutput(URL_LINE)
    // Without the limit the process blocks for 30 s.
    expect(await longestWait(url, model.shown)).toBeLessThan(5_000)
    const shown = await model.shown
    expect(shown).toContain('saw 31')
    expect(shown).not.toContain('saw 32')
    expect(shown).toContain('the last 11968 were dropped')
    const client = createClient({ baseUrl: url })
    const [goal] = await client.goals.list({ id: 'coder' })
    const said = await client.goals.transcript({ goal_id: goal!.goal_id })
    expect(said.find(({ role }) => role === 'assistant')).toMatchObject({
      dropped_calls: 11_968,
      tool_calls: { length: 32 },
    })
    expect(said.filter(({ role }) => role === 'tool')).toHaveLength(32)
  })
})

describe('more clients than the process has file descriptors', () => {
  it('get 503 with Retry-After, while agents keep running and other clients are served', async () => {
    await using dir = await project(FAST)
    await using server = new RunningSvc(['serve', '--with-daemon', '--port', '0', '--profiles', 'coder'], {
      cwd: dir.path,
      within: ['sh', '-c', 'ulimit -n 128; exec "$@"', 'sh'],
    })
    const [, url = ''] = await server.waitForOutput(URL_LINE)
    const client = createClient({ baseUrl: url })
    const agent = new Agent({ keepAlive: true })
    const streams: Sse[] = []
    for (let n = 0; n < 150; n++) streams.push(await sse(`${url}/events`, { agent }))
    const open = streams.filter(({ status }) => status === 200)
    const refused = streams.filter(({ status }) => status === 503)
    // Half of what a limit of 128 leaves after the reserve of 64.
    expect([open.length, refused.length]).toEqual([32, 118])
    for (const { response } of refused) {
      expect(response.headers).toMatchObject({ 'retry-after': '5', connection: 'close' })
    }
    expect(refused[0]!.text).toContain('32 streams are open, the maximum that the limit of 128 open files allows')
    const cycles = async () => (await client.agents.get({ id: 'coder' })).cycle_count
    const begun = await cycles()
    await until(async () => (await cycles()) >= begun + 5)
    expect(`${server.stdout}${server.stderr}`).not.toMatch(/EMFILE|too many open files|CANTOPEN/i)
    open[0]!.cut()
    await until(async () => {
      const again = await sse(`${url}/events`)
      return again.status === 200
    })
    expect(await server.end('SIGTERM')).toBe(0)
  })
})

describe('JSON Schemas of clients', () => {
  const object = (a: object, more: object = {}) => ({ type: 'object', properties: { a }, required: ['a'], ...more })
  /** Both options are tried at each level of a nested list: 2^60 ways that all fail at the innermost value. */
  const nest = { oneOf: [{ items: { $ref: '#/$defs/nest' } }, { items: { $ref: '#/$defs/nest' } }] }
  const nested = `${'['.repeat(60)}1${']'.repeat(60)}`

  it.each([
    ['a pattern that backtracks', object({ type: 'string', pattern: '^(a+)+$' }), JSON.stringify(`${'a'.repeat(60)}!`)],
    ['options in options', object({ $ref: '#/$defs/nest' }, { $defs: { nest } }), nested],
  ])('do not block the service, even in 40 tasks at once: %s', async (_, response_schema, said) => {
    await using model = await modelServer({ script: () => text(`{"a": ${said}}`) })
    await using dir = await project(FAST)
    await using server = new RunningSvc(['serve', '--port', '0', '--profiles', 'coder'], {
      cwd: dir.path,
      env: {
        OPENAI_BASE_URL: model.url,
        OPENAI_API_KEY: 'none',
        SVC_DEFAULT_MODEL: 'openai:scripted-1',
        SVC_TASKS_PARSE_REPAIRS: '0',
      },
    })
    const [, url = ''] = await server.waitForOutput(URL_LINE)
    const client = createClient({ baseUrl: url })
    const run = (schema: object) =>
      client.tasks.run({ id: 'coder', instruction: 'Say a.', response_schema: schema as Record<string, unknown> })
    // Their checks go on for half a minute; the next task does not wait for them.
    const tasks = Array.from({ length: 40 }, () => run(response_schema).catch(() => undefined))
    let ended = 0
    for (const task of tasks) void task.then(() => ended++)
    await until(() => model.requests.length >= 40)
    const honest = run(object({}))
    // On the main thread the checks block for 20 s.
    expect(await longestWait(url, honest)).toBeLessThan(5_000)
    expect(await honest).toMatchObject({ status: 'completed' })
    expect(ended).toBeLessThan(40)
  })

  it('are refused with the pattern when it is not a valid regular expression', async () => {
    await using dir = await project(FAST)
    await using server = new RunningSvc(['serve', '--port', '0', '--profiles', 'coder'], { cwd: dir.path })
    const [, url = ''] = await server.waitForOutput(URL_LINE)
    const task = { instruction: 'Say a.', response_schema: object({ type: 'string', pattern: '(a' }) }
    const answer = await fetch(`${url}/agents/coder/tasks`, sendJson(task))
    expect(answer.status).toBe(422)
    expect(await answer.text()).toContain('Invalid regular expression: /(a/')
  })
})
