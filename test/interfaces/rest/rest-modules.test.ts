import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import agents from '#core/agents/index'
import models from '#core/models/index'
import profiles from '#core/profiles/index'
import pluginsAdmin from '#interfaces/plugins-admin/index'
import metrics from '#observability/metrics/index'
import store from '#platform/store/index'
import { Operations } from '../../../kernel/index.ts'
import { until } from '../../support/index.ts'
import { startServer } from '../start-server.ts'
import { startRestServer } from './rest-server.ts'

const presets = new URL('../../../profiles/', import.meta.url)

it('metrics are in the text format with the six gauges, and require the key when one is set', async () => {
  const { ask, kernel } = await startRestServer({
    plugins: [store, profiles, models, agents, metrics],
    env: { SVC_API_KEY: 'k' },
    before: root => cp(presets, join(root, 'profiles'), { recursive: true }),
  })
  for (const preset of ['coder', 'writer', 'tester']) await kernel.invoke('agents.spawn', { preset })
  await kernel.invoke('agents.pause', { id: 'writer' })
  expect((await ask('/metrics')).status).toBe(401)
  const { headers, text } = await ask('/metrics', { headers: { 'x-svc-key': 'k' } })
  expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8')
  const gauges = [...text.matchAll(/^# HELP (\w+) .+\n# TYPE \1 gauge\n\1 (\d+)\n/gm)]
  expect(Object.fromEntries(gauges.map(([, name, value]) => [name, Number(value)]))).toMatchObject({
    svc_agents_working: 0,
    svc_agents_idle: 2,
    svc_agents_waiting: 0,
    svc_agents_paused: 1,
    svc_agents_dead: 0,
    svc_goals_active: 0,
  })
})

it('health is 200 while the database answers, and 503 once the database is gone', async () => {
  const { ask, kernel } = await startRestServer({ plugins: [store] })
  const good = await ask('/healthz')
  expect([good.status, good.json]).toEqual([200, { status: 'ok', database: true }])
  await rm(kernel.project.database)
  await until(async () => (await ask('/healthz')).status !== 200)
  const bad = await ask('/healthz')
  expect([bad.status, bad.json]).toEqual([503, { status: 'degraded', database: false }])
  expect(bad.headers['retry-after']).toBe('1')
})

it('plugins are listed with what they registered, and a failed one with its full error', async () => {
  const { ask, kernel } = await startRestServer({
    plugins: [pluginsAdmin],
    async before(root) {
      await mkdir(join(root, 'plugins'))
      await writeFile(
        join(root, 'plugins/broken.mjs'),
        'export default {\n  name: "broken",\n  setup() { throw new Error("no tea") },\n}\n',
      )
    },
  })
  const { status, json } = await ask('/plugins')
  expect(status).toBe(200)
  const pluginNamed = (name: string) => json.find((plugin: { name: string }) => plugin.name === name)
  expect(pluginNamed('rest')).toMatchObject({ state: 'live', origin: 'builtin', error: null })
  expect(pluginNamed('rest').registered).toContain('operations: health.check')
  expect(pluginNamed('broken')).toMatchObject({ state: 'failed', error: expect.stringContaining('no tea') })
  const text = kernel.points.find(Operations, 'plugins.list')?.render?.(json as never) ?? ''
  expect(text).toMatch(/^NAME +STATE +VERSION +REGISTERED +ORIGIN$/m)
  expect(text.split(pluginNamed('broken').error)).toHaveLength(2)
  const withSameError = [...json, { ...pluginNamed('broken'), name: 'other' }]
  const shared = kernel.points.find(Operations, 'plugins.list')?.render?.(withSameError as never) ?? ''
  expect(shared.split(pluginNamed('broken').error)).toHaveLength(2)
})

it('a time is accepted in any zone, and the error for anything else shows the format', async () => {
  const { ask, send } = await startServer()
  const grant = (until: string) => send('/approval-rules', { tool_name: 'file_write', until })
  const since = (path: string) => (time: string) => ask(`${path}?${new URLSearchParams({ since: time })}`)
  for (const answer of [since('/spending'), since('/messages/graph'), grant]) {
    for (const time of ['2090-01-31T18:00:00Z', '2090-01-31T18:00:00+01:00']) {
      expect((await answer(time)).status, time).toBeLessThan(300)
    }
    const { status, json } = await answer('yesterday')
    expect({ status, message: json.errors[0].message }).toEqual({
      status: 422,
      message: 'must be a time such as 2026-01-31T18:00:00Z',
    })
  }
})
