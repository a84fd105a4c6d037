import { describe, expect, it } from 'vitest'
import { createClient } from '#interfaces/rest/client'
import { InternalError } from '#lib/errors'
import { Store } from '#platform/store/contract'
import { BUILTINS } from '../../../../builtins/index.ts'
import { ConflictError, definePlugin, Operations, z } from '../../../../kernel/index.ts'
import { type Answer, startRestServer } from '../../../interfaces/rest/rest-server.ts'
import { writeDirectly } from '../../../support/direct-access.ts'
import { until } from '../../../support/index.ts'

const OTHERS = BUILTINS.filter(({ name }) => name !== 'rest')
const DAY_MS = 24 * 60 * 60 * 1000

/** Starts a listening service with two agents. */
async function startServer(plugins: readonly ReturnType<typeof definePlugin>[] = []) {
  const home = await startRestServer({ plugins: [...OTHERS, ...plugins], env: { OPENAI_API_KEY: 'k' } })
  const post = (path: string, body: unknown, key?: string, headers: Record<string, string> = {}) =>
    home.ask(path, {
      method: 'POST',
      body,
      headers: { ...headers, ...(key === undefined ? {} : { 'idempotency-key': key }) },
    })
  const [{ json: agent }, { json: other }] = await Promise.all([
    post('/agents', { preset: 'coder' }),
    post('/agents', { preset: 'writer' }),
  ])
  const age = (ms: number) => writeDirectly(home.root, `UPDATE idempotency_keys SET created_at = created_at - ${ms}`)
  return { ...home, post, age, id: agent.agent_id as string, other: other.agent_id as string }
}
type Home = Awaited<ReturnType<typeof startServer>>

/** Returns one column of the stored keys. */
const columnOfKeys = ({ kernel }: Pick<Home, 'kernel'>, column: string) =>
  kernel.use(Store).all(`SELECT ${column} FROM idempotency_keys`)
const replayedHeader = ({ headers }: Answer) => headers['idempotency-replayed']

/** For each route that creates something: a request, and the route that lists the result. */
const CREATING: Record<string, (home: Home) => Promise<{ path: string; body: unknown; list?: string }>> = {
  'agents.spawn': async () => ({ path: '/agents', body: { preset: 'coder' }, list: '/agents' }),
  'agents.nudge': async ({ id }) => ({ path: `/agents/${id}/nudge`, body: { message: 'Look at the test first.' } }),
  'goals.add': async ({ id }) => ({
    path: `/agents/${id}/goals`,
    body: { objective: 'Write a test.' },
    list: `/agents/${id}/goals`,
  }),
  'schedules.add': async ({ id }) => ({
    path: `/agents/${id}/schedules`,
    body: { objective: 'Tidy up.', cron: '0 9 * * *' },
    list: `/agents/${id}/schedules`,
  }),
  'alarms.set': async ({ id }) => ({
    path: `/agents/${id}/alarms`,
    body: { at: '2040-01-01T00:00:00Z', description: 'Look at the clock.' },
    list: `/agents/${id}/alarms`,
  }),
  'checkpoints.take': async ({ id }) => ({
    path: `/agents/${id}/checkpoints`,
    body: { label: 'before' },
    list: `/agents/${id}/checkpoints`,
  }),
  'memory.add': async ({ id }) => ({
    path: `/agents/${id}/memory`,
    body: { thought: 'The staging server is called birch.' },
    list: `/agents/${id}/memory`,
  }),
  'sessions.create': async ({ id }) => ({ path: '/sessions', body: { agent_id: id }, list: '/sessions' }),
  'approvals.grant': async () => ({
    path: '/approval-rules',
    body: { tool_name: 'file_write', uses: 3 },
    list: '/approval-rules',
  }),
  'messages.send': async ({ id }) => ({
    path: `/agents/${id}/messages`,
    body: { body: 'Which draft is newer?' },
    list: `/agents/${id}/messages`,
  }),
  'patterns.start': async ({ id, other }) => ({
    path: '/patterns/review',
    body: { initiator: id, participants: [other], task: 'Say what you know of tests.' },
    list: '/pattern-runs',
  }),
  'bundles.import': async ({ ask, id }) => ({
    path: '/bundles',
    body: { bundle: (await ask(`/agents/${id}/bundle`)).json },
    list: '/agents',
  }),
}

describe('an Idempotency-Key', () => {
  it('is accepted by every route that creates something', async () => {
    const { kernel } = await startServer()
    const takes = kernel.list(Operations).filter(({ http }) => http?.idempotent === true)
    expect(takes.map(({ name }) => name).sort()).toEqual(Object.keys(CREATING).sort())
    const creates = kernel.list(Operations).filter(({ http }) => http?.method === 'POST' && http.status === 201)
    expect(creates.filter(({ http }) => !http?.idempotent)).toEqual([])
  })

  it.each(Object.keys(CREATING))('makes %s create one thing, however often it is sent', async name => {
    const home = await startServer()
    const { path, body, list } = await CREATING[name]!(home)
    const count = async () => (list ? (await home.ask(list)).json.length : undefined)
    const before = await count()
    const first = await home.post(path, body, 'once')
    expect([first.status, replayedHeader(first)], first.text).toEqual([name === 'agents.nudge' ? 202 : 201, undefined])
    const again = await home.post(path, body, 'once')
    expect([again.status, again.json, again.headers.location]).toEqual([
      first.status,
      first.json,
      first.headers.location,
    ])
    expect(replayedHeader(again)).toBe('true')
    if (list) expect(await count()).toBe(before + 1)
    const rows = await columnOfKeys(home, 'written')
    expect(rows).toEqual([{ written: 1 }])
  })

  it('is rejected with another request, and is separate for each user and address', async () => {
    const { post, ask, id, other } = await startServer()
    const goals = `/agents/${id}/goals`
    const first = await post(goals, { objective: 'One.' }, 'k')
    const changed = await post(goals, { objective: 'Two.' }, 'k')
    expect([changed.status, changed.json.code, replayedHeader(changed)]).toEqual([
      422,
      'idempotency_key_reused',
      undefined,
    ])
    expect(changed.json.detail).toContain(first.headers['x-request-id'])
    const same = await post(goals, { priority: 4, objective: 'One.' }, 'k')
    expect(same.json).toEqual(first.json)
    for (const answer of [
      await post(goals, { objective: 'Two.' }, 'k', { 'x-svc-user': 'bob' }),
      await post(`/agents/${other}/goals`, { objective: 'Two.' }, 'k'),
      await post(goals, { objective: 'One.' }, 'k-2'),
      await post(goals, { objective: 'One.' }),
    ])
      expect([answer.status, replayedHeader(answer)]).toEqual([201, undefined])
    expect((await ask(goals)).json).toHaveLength(4)
  })

  it('gets a 409 with Retry-After while the first request still runs', async () => {
    let open: (() => void) | undefined
    const home = await startServer([
      making('slow', () => {
        return new Promise<void>(resolve => {
          open = resolve
        })
      }),
    ])
    const first = home.post('/things', { name: 'slow' }, 'k')
    await until(() => open)
    const second = await home.post('/things', { name: 'slow' }, 'k')
    expect([second.status, second.json.code, second.headers['retry-after']]).toEqual([409, 'request_under_way', '1'])
    const another = await home.post('/things', { name: 'other' }, 'k')
    expect([another.status, another.json.code]).toEqual([422, 'idempotency_key_reused'])
    open?.()
    const answer = await first
    expect([answer.status, (await home.post('/things', { name: 'slow' }, 'k')).json]).toEqual([201, answer.json])
  })

  it.each([
    ['InternalError', 500],
    ['ConflictError', 409],
  ])('can be used again after a request that failed with %s', async (_, status) => {
    let fails = true
    const home = await startServer([
      making('thing', () => {
        if (fails) throw status === 500 ? new InternalError() : new ConflictError({ message: 'Not now.' })
      }),
    ])
    expect((await home.post('/things', { name: 'thing' }, 'k')).status).toBe(status)
    fails = false
    const answer = await home.post('/things', { name: 'thing' }, 'k')
    expect([answer.status, replayedHeader(answer)]).toEqual([201, undefined])
  })

  it('can be used again, with valid fields, after a request with invalid ones', async () => {
    const { post, id } = await startServer()
    expect((await post(`/agents/${id}/goals`, { objective: '' }, 'k')).status).toBe(422)
    expect((await post(`/agents/${id}/goals`, { objective: 'Two.' }, 'k')).status).toBe(201)
  })

  it('is kept for a day', async () => {
    const { post, id, age, kernel } = await startServer()
    const send = () => post(`/agents/${id}/goals`, { objective: 'One.' }, 'k')
    const first = await send()
    await age(DAY_MS - 60_000)
    expect((await send()).json).toEqual(first.json)
    await age(60_001)
    const later = await send()
    expect([later.status, replayedHeader(later), later.json.goal_id === first.json.goal_id]).toEqual([
      201,
      undefined,
      false,
    ])
    expect(await columnOfKeys({ kernel }, 'key')).toHaveLength(1)
  })

  it('is sent by the client, and described in the OpenAPI document', async () => {
    const { url, id, ask } = await startServer()
    const client = createClient({ baseUrl: url })
    const add = () => client.goals.add({ id, objective: 'One.' }, { idempotencyKey: 'k' })
    expect(await add()).toEqual(await add())
    const { paths } = (await ask('/openapi.json')).json
    const entry = paths['/agents/{id}/goals'].post
    expect(entry.parameters).toContainEqual({ $ref: '#/components/parameters/again' })
    expect(entry.responses['201'].headers['Idempotency-Replayed']).toBeDefined()
    expect(entry.responses['409'].$ref).toContain('request_under_way')
    expect(entry.responses['422'].$ref).toContain('idempotency_key_reused')
  })

  it('also marks the repeated answer of a task as replayed', async () => {
    const { post, id } = await startServer()
    const send = (way = '') => post(`/agents/${id}/tasks${way}`, { instruction: 'Do it.' }, 'k')
    const first = await send()
    const again = await send()
    expect([replayedHeader(first), replayedHeader(again), again.json]).toEqual([undefined, 'true', first.json])
    expect(replayedHeader(await send('/stream'))).toBe('true')
  })
})

/** Returns a plugin whose operation creates things, after it has run `before`. */
function making(what: string, before: () => void | Promise<void>) {
  let made = 0
  return definePlugin({
    name: 'things',
    setup(svc) {
      svc.operation({
        name: 'things.make',
        summary: 'Make a thing',
        input: z.object({ name: z.string() }),
        output: z.object({ name: z.string(), number: z.number() }),
        http: { method: 'POST', path: '/things', status: 201, idempotent: true },
        async run({ name }) {
          if (name === what) await before()
          return { name, number: ++made }
        },
      })
    },
  })
}
