import { describe, expect, it } from 'vitest'
import { FAST, project } from '../../cli/project.ts'
import { startServer } from '../../interfaces/start-server.ts'
import { svc } from '../../support/vitest/warm.ts'

type Home = Awaited<ReturnType<typeof startServer>>

const SIMULATED = { config: { model: { sim_delay: 0 } } }

const spawn = async ({ ask }: Home) =>
  (await ask('/agents', { method: 'POST', body: { preset: 'worker' } })).json.agent_id as string
const post = async ({ ask }: Home, path: string, body: object = {}) => (await ask(path, { method: 'POST', body })).json
/** Returns one field of all rows of a list, and the total that the server reports. */
async function listField({ ask }: Home, path: string, field: string): Promise<{ rows: unknown[]; total: number }> {
  const { json, headers } = await ask(path.includes('limit=') ? path : `${path}&limit=50`)
  return { rows: json.map((row: Record<string, unknown>) => row[field]), total: Number(headers['x-total-count']) }
}

describe('a list over REST', () => {
  it('of goals can be filtered by status and dates, and shown oldest first', async () => {
    const home = await startServer(SIMULATED)
    const id = await spawn(home)
    const objectives = ['Count the sheep', 'Paint a fence', 'Sweep the yard']
    const goals = []
    for (const objective of objectives) goals.push(await post(home, `/agents/${id}/goals`, { objective }))
    await post(home, `/goals/${goals[1].goal_id}/abandon`)
    const of = (query: string) => listField(home, `/agents/${id}/history?${query}`, 'objective')
    expect(await of('order=oldest')).toEqual({ rows: objectives, total: 3 })
    expect(await of('status=abandoned')).toEqual({ rows: ['Paint a fence'], total: 1 })
    expect((await of('status=active&limit=1')).total).toBe(2)
    expect(await of(`before=${goals[0].created_at}`)).toEqual({ rows: [], total: 0 })
    expect((await of(`since=${goals[0].created_at}`)).total).toBe(3)
    expect((await home.ask(`/agents/${id}/history?status=lost`)).status).toBe(422)
  })

  it('of goals, recordings and journals has pages', async () => {
    const home = await startServer(SIMULATED)
    const id = await spawn(home)
    for (const objective of ['one', 'two', 'three']) await post(home, `/agents/${id}/goals`, { objective })
    const page = await home.ask(`/agents/${id}/goals?limit=1&offset=1`)
    expect(page.json.map(({ objective }: { objective: string }) => objective)).toEqual(['two'])
    expect([page.headers['x-total-count'], page.headers.link]).toEqual([
      '3',
      `</agents/${id}/goals?limit=1&offset=2>; rel="next"`,
    ])
    for (const path of ['/recordings', '/journals']) {
      const { status, headers } = await home.ask(`${path}?limit=1&offset=1`)
      expect([path, status, headers['x-total-count']]).toEqual([path, 200, '0'])
    }
  })

  it('of sessions can be filtered by status and dates', async () => {
    const home = await startServer(SIMULATED)
    const agent_id = await spawn(home)
    const keys = ['one', 'two', 'three']
    const sessions = []
    for (const session_key of keys) sessions.push(await post(home, '/sessions', { agent_id, session_key }))
    await home.ask(`/sessions/${sessions[1].session_id}`, { method: 'DELETE' })
    const of = (query: string) => listField(home, `/sessions?${query}`, 'session_key')
    expect((await of('order=oldest')).rows).toEqual(keys)
    expect(await of('status=closed')).toEqual({ rows: ['two'], total: 1 })
    expect((await of('status=running&limit=1')).total).toBe(2)
    expect((await of(`before=${sessions[0].started_at}`)).total).toBe(0)
  })

  it('of messages can be filtered by dates, and shown oldest first', async () => {
    const home = await startServer(SIMULATED)
    const id = await spawn(home)
    for (const body of ['first', 'second']) await post(home, `/agents/${id}/messages`, { body })
    const of = (query: string) => listField(home, `/agents/${id}/messages?box=inbox&${query}`, 'body')
    expect((await of('order=oldest')).rows).toEqual(['first', 'second'])
    expect((await of('order=newest')).rows).toEqual(['second', 'first'])
    expect((await of('before=2020-01-01T00:00:00Z')).total).toBe(0)
  })

  it('of runs can be filtered by kind, status and agent', async () => {
    const home = await startServer(SIMULATED)
    const [first, second] = [await spawn(home), await spawn(home)]
    for (const id of [first, second, first]) await post(home, `/agents/${id}/tasks`, { instruction: 'Say hello.' })
    const of = (query: string) => listField(home, `/runs?${query}`, 'started_at')
    const all = await of('order=newest')
    expect(all.total).toBe(3)
    expect((await of('order=oldest')).rows).toEqual([...all.rows].reverse())
    expect((await of('kind=daemon')).total).toBe(0)
    expect((await of('kind=task&status=ended')).total).toBe(3)
    expect((await of('status=running')).total).toBe(0)
    expect((await of(`agent=${first}`)).total).toBe(2)
    expect((await home.ask('/runs?agent=nobody')).status).toBe(404)
  })
})

it('spending can be listed for the top spenders, with all others in one row', async () => {
  const home = await startServer(SIMULATED)
  const ids = [await spawn(home), await spawn(home), await spawn(home)]
  for (const [n, id] of ids.entries())
    for (let times = 0; times <= n; times++) await post(home, `/agents/${id}/tasks`, { instruction: 'Say hello.' })
  type Row = { by: string; tokens: number; calls: number }
  const of = async (query: string): Promise<Row[]> => (await home.ask(`/spending?bucket=day&by=agent${query}`)).json
  const tokensOf = (rows: Row[]) => rows.reduce((sum, { tokens }) => sum + tokens, 0)
  const [all, top] = [await of(''), await of('&top=1')]
  expect(new Set(all.map(({ by }) => by))).toEqual(new Set(ids))
  expect(new Set(top.map(({ by }) => by))).toEqual(new Set([ids[2], 'others']))
  expect(tokensOf(top)).toBe(tokensOf(all))
})

it('svc runs accepts the same filters as the API', async () => {
  await using dir = await project(FAST)
  const cwd = dir.path
  await svc(['spawn', 'coder'], { cwd })
  await svc(['run', 'coder', 'say hello'], { cwd })
  const of = async (...words: string[]) => JSON.parse((await svc(['runs', ...words, '--json'], { cwd })).stdout)
  expect(await of('--kind', 'task', '--agent', 'coder', '--order', 'oldest')).toHaveLength(1)
  expect(await of('--kind', 'daemon')).toEqual([])
  expect((await svc(['runs', '--kind', 'none'], { cwd })).code).toBe(2)
})
