import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import sessions from '#core/sessions/index'
import tasks from '#core/tasks/index'
import rest from '#interfaces/rest/index'
import approvals from '#safety/approvals/index'
import { listen } from '../interfaces/rest/rest-server.ts'
import { goalsOf, spawn, testHostWithModel } from '../spec/core/models/model-host.ts'
import { finish, recordingTools, steps } from '../spec/safety/approvals-host.ts'
import { type ModelServerRequest, text, toolCall, until } from '../support/index.ts'
import { cluster, postgresOr, type TestDatabase, testDatabase } from '../support/postgres.ts'

const server = await postgresOr(reason => console.warn(`PostgreSQL is left out: ${reason}`))
const TALE = 'The red key opens the shed behind the house. '.repeat(20).trim()

/** Starts a test host with a server on this database; a task asks for the tale, and an agent wants to message Ann. */
async function serving(url: string, seed: number) {
  const { runs, plugin } = recordingTools()
  const lives = steps(toolCall('send', { to: 'ann' }), finish())
  let tell = () => {}
  const received = new Promise<void>(resolve => {
    tell = resolve
  })
  const script = (request: ModelServerRequest) => {
    if (request.prompt.includes('Tell me slowly')) return received.then(() => text(TALE))
    return request.prompt.includes('Tell me') ? text(TALE) : lives(request)
  }
  const home = await testHostWithModel(script, {
    seed,
    clock: 'system',
    roles: ['server'],
    builtins: [cluster, approvals, sessions, tasks, rest, plugin],
    env: { SVC_STORE_URL: url },
    config: { daemon: { heartbeat: 0.1, min_rest: 0 }, approval: { enabled: true } },
  })
  const { ask: request, url: address } = await listen(home.kernel)
  const ask = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    request(path, { method, body, headers })
  return Object.assign(home, { runs, ask, tell, url: address })
}

describe.skipIf(!server)('two servers of one database', () => {
  let database: TestDatabase
  let here: Awaited<ReturnType<typeof serving>>
  let there: typeof here
  let id: string

  beforeAll(async () => {
    database = await testDatabase(server!)
    here = await serving(database.url, 1)
    there = await serving(database.url, 2)
    id = await spawn(here)
  })
  afterAll(async () => {
    for (const home of [here, there]) await home?.close()
    await database?.drop()
  })

  it('accept one decision for an approval at either server, and run the call where its agent is driven', async () => {
    here.kernel.heartbeat.start()
    const waiting = async () => (await there.ask('GET', '/approvals')).json
    await until(async () => (await waiting()).length > 0)
    const path = `/agents/${id}/approvals/${(await waiting())[0].approval_id}`
    const alice = there.ask('POST', path, { decision: 'approve' }, { 'x-svc-user': 'alice' })
    const bob = here.ask('POST', path, { decision: 'approve' }, { 'x-svc-user': 'bob' })
    expect([(await alice).status, (await bob).status].sort()).toEqual([200, 409])
    await until(async () => (await goalsOf(there, id))[0]?.status === 'completed')
    await here.kernel.heartbeat.stop()
    expect([here.runs, there.runs]).toEqual([[{ tool: 'send', args: { to: 'ann' } }], []])
    expect([(await here.ask('GET', path)).json, (await there.ask('GET', path)).json]).toMatchObject([
      { status: 'consumed' },
      { status: 'consumed' },
    ])
  })

  it('share sessions: one that was opened at one server is used and closed at the other', async () => {
    const wanted = { agent_id: id, session_key: 'shed' }
    const opened = await here.ask('POST', '/sessions', wanted)
    const { session_id } = opened.json
    const found = await there.ask('POST', '/sessions', wanted)
    expect([opened.status, found.status, found.json.session_id]).toEqual([201, 200, session_id])
    const task = { instruction: 'Tell me of the shed.', session_id }
    expect((await there.ask('POST', `/agents/${id}/tasks`, task)).json).toMatchObject({
      status: 'completed',
      session_id,
    })
    const { json } = await here.ask('GET', `/sessions/${session_id}/transcript`)
    const said = (json as { role: string; is_notice?: boolean }[]).filter(({ is_notice }) => !is_notice)
    expect(said.map(({ role }) => role)).toEqual(['user', 'assistant'])
    expect((await there.ask('DELETE', `/sessions/${session_id}`)).status).toBe(204)
    expect((await here.ask('GET', `/sessions/${session_id}`)).json.status).toBe('closed')
    expect((await here.ask('POST', `/agents/${id}/tasks`, task)).json.code).toBe('session_closed')
  })

  it('share idempotency keys: a request that is repeated at the other server gets its answer and runs once', async () => {
    const requestCount = () => here.server.requests.length + there.server.requests.length
    const before = requestCount()
    const post = (home: typeof here) =>
      home.ask('POST', `/agents/${id}/tasks`, { instruction: 'Tell me once.' }, { 'idempotency-key': 'once' })
    // The second request arrives while the first is in progress.
    const both = await Promise.all([post(here), post(there)])
    const later = await post(there)
    expect(both[0].json).toMatchObject({ status: 'completed', output: TALE })
    expect([both[1].json, later.json]).toEqual([both[0].json, both[0].json])
    expect(requestCount()).toBe(before + 1)
    const add = (home: typeof here) =>
      home.ask('POST', `/agents/${id}/goals`, { objective: 'Count the keys.' }, { 'idempotency-key': 'goal' })
    const added = await add(here)
    expect([added.status, (await add(there)).json]).toEqual([201, added.json])
  })

  it('continue the stream of a task at the other server after a disconnect, with nothing left out', async () => {
    const left = new AbortController()
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'all' }
    const before = here.server.requests.length
    const body = JSON.stringify({ instruction: 'Tell me slowly.' })
    const path = `/agents/${id}/tasks`
    const begun = fetch(`${here.url}${path}/stream`, { method: 'POST', headers, body, signal: left.signal })
    await until(() => here.server.requests.length > before)
    left.abort()
    await begun.then(answer => answer.text()).catch(() => {})
    const { task_id } = (await there.ask('GET', `${path}?limit=1`)).json[0] as { task_id: string }
    const following = there.ask('GET', `/tasks/${task_id}/stream`)
    here.tell()
    const whole = blocks((await following).text)
    const tokens = whole.filter(({ event }) => event === 'token').map(({ data }) => JSON.parse(data).text)
    expect([tokens.join(''), whole.at(-1)?.event]).toEqual([TALE, 'done'])
    const rest = await there.ask('GET', `/tasks/${task_id}/stream`, undefined, { 'last-event-id': whole[0]!.id })
    expect(blocks(rest.text)).toEqual(whole.slice(1))
  })
})

/** Parses the events of a stream that was read to its end. */
function blocks(said: string) {
  return said.split('\n\n').flatMap(block => {
    const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(block)?.[1] ?? ''
    return field('event') === '' ? [] : [{ id: field('id'), event: field('event'), data: field('data') }]
  })
}
