import { monitorEventLoopDelay } from 'node:perf_hooks'
import { describe, expect, it } from 'vitest'
import agents from '#core/agents/index'
import models from '#core/models/index'
import profiles from '#core/profiles/index'
import store from '#platform/store/index'
import { Svc } from '../../../embed/embed.ts'
import { Operations } from '../../../kernel/index.ts'
import { tempDir } from '../../support/index.ts'
import Sqlite from '../../support/sqlite.ts'
import { startRestServer } from './rest-server.ts'

/** Starts a server with this number of agents. */
async function startServerWithAgents(count: number) {
  const home = await startRestServer({ plugins: [store, models, profiles, agents] })
  const sqlite = new Sqlite(home.kernel.project.database)
  const agent = sqlite.prepare(
    "INSERT INTO agents (agent_id, name, role, preset, spawned_at) VALUES (?, 'coder', 'writes code', 'coder', ?)",
  )
  const lease = sqlite.prepare('INSERT INTO leases (id, agent_id, run_at) VALUES (?, ?, 0)')
  sqlite.transaction(() => {
    for (let n = 0; n < count; n++) {
      agent.run(`coder-${n}`, Math.floor(n / 3))
      lease.run(`coder-${n}`, `coder-${n}`)
    }
  })()
  sqlite.close()
  return home
}
const ids = (json: { agent_id: string }[]) => json.map(({ agent_id }) => Number(agent_id.slice('coder-'.length)))

describe('a long list', () => {
  it('is returned whole without a limit, and does not block the event loop', async () => {
    const { ask } = await startServerWithAgents(10_000)
    await ask('/agents?limit=1')
    const delay = monitorEventLoopDelay({ resolution: 5 })
    delay.enable()
    const { json, headers } = await ask('/agents')
    delay.disable()
    expect(ids(json)).toEqual(Array.from({ length: 10_000 }, (_, n) => n))
    expect(headers['x-total-count']).toBeUndefined()
    // It takes 30 ms, several times that on a busy machine; quadratic work would take longer than this.
    expect(delay.max / 1e6).toBeLessThan(1_000)
  })

  it('is returned in pages, each with the total count and a link to the next page', async () => {
    const { ask } = await startServerWithAgents(2_500)
    const seen: number[] = []
    let pages = 0
    for (let path: string | undefined = '/agents?limit=1000'; path; pages++) {
      const { json, headers } = await ask(path)
      expect(headers['x-total-count']).toBe('2500')
      seen.push(...ids(json))
      path = /<(.*)>; rel="next"/.exec(String(headers.link))?.[1]
    }
    expect([pages, seen]).toEqual([3, Array.from({ length: 2_500 }, (_, n) => n)])
    const beyond = await ask('/agents?limit=10&offset=9999')
    expect([beyond.json, beyond.headers['x-total-count'], beyond.headers.link]).toEqual([[], '2500', undefined])
    const rest = await ask('/agents?offset=2498')
    expect([ids(rest.json), rest.headers['x-total-count'], rest.headers.link]).toEqual([
      [2498, 2499],
      '2500',
      undefined,
    ])
  })

  it('always contains what was written before the request', async () => {
    const { ask, kernel } = await startServerWithAgents(3)
    const statuses = async () => (await ask('/agents?limit=3')).json.map(({ status }: { status: string }) => status)
    for (let n = 0; n < 20; n++) {
      expect(await statuses()).toEqual(['idle', 'idle', 'idle'])
      await kernel.invoke('agents.pause', { id: 'coder-1' })
      expect(await statuses()).toEqual(['idle', 'paused', 'idle'])
      await kernel.invoke('agents.resume', { id: 'coder-1' })
    }
    const elsewhere = new Sqlite(kernel.project.database)
    for (let n = 0; n < 20; n++) {
      expect(await statuses()).toEqual(['idle', 'idle', 'idle'])
      elsewhere.exec("UPDATE agents SET paused_at = 1 WHERE agent_id = 'coder-2'")
      expect(await statuses()).toEqual(['idle', 'idle', 'paused'])
      elsewhere.exec('UPDATE agents SET paused_at = NULL')
    }
    elsewhere.close()
  })
})

it('every paginated list has a total count', async () => {
  await using dir = await tempDir()
  await using svc = await Svc.open(dir.path, { create: true, roles: [], log: { level: 'silent' } })
  const windowed = svc.kernel
    .list(Operations)
    .filter(({ http, input }) => http?.method === 'GET' && input.shape.limit && input.shape.offset)
  expect(windowed.length).toBeGreaterThan(5)
  expect(windowed.filter(({ count }) => !count).map(({ name }) => name)).toEqual([])
})
