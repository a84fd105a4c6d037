import { readFile, stat, writeFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import rest from '#interfaces/rest/index'
import { definePlugin, Operations, z } from '#kernel'
import settings from '#platform/settings/index'
import { listen, startRestServer } from '../../interfaces/rest/rest-server.ts'
import { memoryScheduler, runHeartbeat, testHost, until } from '../../support/index.ts'

const shop = definePlugin({
  name: 'shop',
  section: 'shop',
  config: z.object({
    ...Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`item${n}`, z.number().default(0)])),
    token: z.string().default('').meta({ secret: true, env: 'SHOP_TOKEN' }),
  }),
  setup() {},
})

/** Starts a server without a daemon. */
const stateless = (options: Parameters<typeof startRestServer>[0] = {}) =>
  startRestServer({ ...options, plugins: [settings, shop, ...(options.plugins ?? [])] })
type StatelessServer = Awaited<ReturnType<typeof stateless>>
const patch = ({ ask }: Pick<StatelessServer, 'ask'>, body: unknown) => ask('/config', { method: 'PATCH', body })
const fileOf = ({ kernel }: StatelessServer) => readFile(kernel.config.file, 'utf8')

/** Starts a server whose process runs the heartbeat, on a held clock. */
async function withDaemon(config: string) {
  const leases = memoryScheduler()
  const home = await testHost({
    builtins: [rest, settings, shop, leases.plugin],
    roles: ['server', 'daemon'],
    config,
  })
  return Object.assign(home, await listen(home.kernel))
}

it("GET /config shows persisted and effective values, and live ones only in the daemon's process", async () => {
  const yaml = 'daemon:\n  heartbeat: 7\n'
  const without = await stateless({ yaml, env: { SHOP_TOKEN: 'from-outside' } })
  const { status, json } = await without.ask('/config')
  expect(status).toBe(200)
  expect(json).not.toHaveProperty('live')
  expect(json.persisted).toEqual({ daemon: { heartbeat: 7 } })
  expect(json.effective).toMatchObject({ daemon: { heartbeat: 7 }, shop: { item0: 0, token: '***' } })
  expect(json.sources).toMatchObject({ 'daemon.heartbeat': 'file', 'shop.token': 'env', 'shop.item0': 'default' })
  await using home = await withDaemon(yaml)
  expect((await home.ask('/config')).json.live).toMatchObject({ daemon: { heartbeat: 7 } })
})

it('GET /config lists exactly the keys that need a restart', async () => {
  const { ask, kernel } = await stateless()
  const { restart_required_fields: fields } = (await ask('/config')).json
  const keys = kernel.config.keys()
  expect(fields).toEqual([...fields].sort())
  expect(fields).toEqual(keys.filter(({ reload }) => reload === 'restart_required').map(({ path }) => path))
  expect(fields).toEqual(expect.arrayContaining(['server.api_key', 'plugins.enabled', 'daemon.guards_fail_closed']))
  expect(fields).not.toContain('daemon.heartbeat')
})

it('GET /config shows a manual edit at once, and the problem of an invalid one', async () => {
  const home = await stateless({ yaml: 'daemon:\n  heartbeat: 7\n' })
  const write = async (text: string) => writeFile(home.kernel.config.file, text)
  await write('daemon:\n  heartbeat: 8\n')
  expect((await home.ask('/config')).json).toMatchObject({ persisted: { daemon: { heartbeat: 8 } } })
  await write('daemon:\n  heartbeat: soon\n')
  const { json } = await home.ask('/config')
  expect(json.persisted).toEqual({ daemon: { heartbeat: 8 } })
  expect(json.problem).toMatch(/\.svc\/config\.yaml:2: daemon\.heartbeat/)
})

it('a patch is merged into the file, which keeps its comments and order and gains nothing else', async () => {
  const yaml = '# by hand\nserver:\n  request_timeout: 5 # s\n\ndaemon:\n  # not too fast\n  heartbeat: 7\n'
  const home = await stateless({ yaml, env: { SHOP_TOKEN: 'from-outside' } })
  const { status, json } = await patch(home, {
    daemon: { heartbeat: 3, cycle_timeout: 60 },
    server: { cors_origins: ['https://example.org'] },
  })
  expect(status).toBe(200)
  expect(json.reload).toEqual({
    'daemon.heartbeat': 'applied',
    'daemon.cycle_timeout': 'applied',
    'server.cors_origins': 'restart_required',
  })
  expect(json.config).toEqual({
    server: { request_timeout: 5, cors_origins: ['https://example.org'] },
    daemon: { heartbeat: 3, cycle_timeout: 60 },
  })
  expect(await fileOf(home)).toBe(
    '# by hand\nserver:\n  request_timeout: 5 # s\n  cors_origins:\n    - https://example.org\n\ndaemon:\n  # not too fast\n  heartbeat: 3\n  cycle_timeout: 60\n',
  )
})

it('a patch takes effect at the next heartbeat and not before; keys that need a restart take effect after one', async () => {
  await using home = await withDaemon('daemon:\n  heartbeat: 7\n')
  const { json } = await patch(home as never, { daemon: { heartbeat: 3, guards_fail_closed: false } })
  expect(json.reload).toEqual({ 'daemon.heartbeat': 'applied', 'daemon.guards_fail_closed': 'restart_required' })
  const views = async () => (await home.ask('/config')).json
  expect(await views()).toMatchObject({ persisted: { daemon: { heartbeat: 3 } }, live: { daemon: { heartbeat: 7 } } })
  const changed = until(home, 'config_changed')
  await runHeartbeat(home)
  expect(await changed).toEqual({ keys: ['daemon.heartbeat'] })
  expect(await views()).toMatchObject({
    effective: { daemon: { heartbeat: 3, guards_fail_closed: false } },
    live: { daemon: { heartbeat: 3, guards_fail_closed: true } },
  })
})

it('a patch without changes does not write the file: an empty one, the same value, a masked secret', async () => {
  const home = await stateless({ yaml: 'daemon:\n  heartbeat: 7\nserver:\n  api_key: hush-hush\n' })
  const key = { 'x-svc-key': 'hush-hush' }
  const before = await stat(home.kernel.config.file)
  for (const body of [{}, { daemon: {} }, { daemon: { heartbeat: 7 } }, { server: { api_key: '***' } }]) {
    const { status, json } = await home.ask('/config', { method: 'PATCH', body, headers: key })
    expect([status, json.reload]).toEqual([200, {}])
  }
  const after = await stat(home.kernel.config.file)
  expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs])
})

it('patching with the shown configuration loses no secrets and writes no environment values to the file', async () => {
  const yaml = 'server:\n  api_key: hush-hush\nold_key_of_ours: 7\n'
  const home = await stateless({ yaml, env: { SHOP_TOKEN: 'from-outside', SVC_HEARTBEAT: '4' } })
  const key = { 'x-svc-key': 'hush-hush' }
  const { persisted, effective } = (await home.ask('/config', { headers: key })).json
  expect(JSON.stringify([persisted, effective])).not.toMatch(/hush-hush|from-outside/)
  const back = await home.ask('/config', { method: 'PATCH', body: persisted, headers: key })
  expect([back.status, back.json.reload]).toEqual([200, {}])
  expect(await fileOf(home)).toBe(yaml)
  expect((await home.ask('/config', { method: 'PATCH', body: effective, headers: key })).status).toBe(200)
  const file = parse(await fileOf(home))
  expect(file.server.api_key).toBe('hush-hush')
  expect(file.daemon?.heartbeat).toBeUndefined()
  expect(await fileOf(home)).not.toContain('from-outside')
  expect((await home.ask('/config', { headers: key })).status).toBe(200)
})

it.each([
  ['heartbeat 0', { daemon: { heartbeat: 0 } }, 'daemon.heartbeat'],
  ['heartbeat -1', { daemon: { heartbeat: -1 } }, 'daemon.heartbeat'],
  ['heartbeat "10"', { daemon: { heartbeat: '10' } }, 'daemon.heartbeat'],
  ['heartbeat 1e400', '{"daemon":{"heartbeat":1e400}}', 'daemon.heartbeat'],
  ['heartbeat null', { daemon: { heartbeat: null } }, 'daemon.heartbeat'],
  ['a mapping for a number', { daemon: { heartbeat: {} } }, 'daemon.heartbeat'],
  ['a number for a section', { daemon: 7 }, 'daemon'],
  ['a list for a section', { daemon: [] }, 'daemon'],
  ['a dotted name', { 'daemon.heartbeat': 1 }, 'daemon.heartbeat'],
  ['an unknown key', { daemon: { hartbeat: 1 } }, 'daemon.hartbeat'],
  ['an unknown section', { nonsense: {} }, 'nonsense'],
  ['a nest of 17 levels', nested(17), 'daemon.a.a'],
  ['good and bad together', { daemon: { cycle_timeout: 5, heartbeat: 0 } }, 'daemon.heartbeat'],
])('a patch with %s is rejected with 400 and the path, and the file stays unchanged', async (_, body, path) => {
  const yaml = '# mine\ndaemon: {heartbeat:   7}\n'
  const home = await stateless({ yaml })
  const headers = typeof body === 'string' ? { 'content-type': 'application/json' } : {}
  const { status, json } = await home.ask('/config', { method: 'PATCH', body, headers })
  expect(status).toBe(400)
  expect(json).toMatchObject({ code: 'invalid_config', errors: [{ path: expect.stringMatching(`^${path}`) }] })
  expect(json.detail).toContain(path)
  expect(await fileOf(home)).toBe(yaml)
})

it('the error for a misspelled key names the closest match', async () => {
  const { json } = await patch(await stateless(), { daemon: { hartbeat: 1 } })
  expect(json.errors).toEqual([
    { path: 'daemon.hartbeat', message: 'is not a known key; did you mean "daemon.heartbeat"?' },
  ])
})

it.each([
  '{"__proto__":{"admin":true}}',
  '{"constructor":{"prototype":{"admin":true}}}',
  '{"daemon":{"__proto__":{"admin":true}}}',
  '{"server":{"cors_origins":[{"__proto__":{"admin":true}}]}}',
])('a patch that tries to change a prototype is rejected: %s', async text => {
  const yaml = 'daemon:\n  heartbeat: 7\n'
  const home = await stateless({ yaml })
  const body = { method: 'PATCH', body: text, headers: { 'content-type': 'application/json' } }
  expect((await home.ask('/config', body)).status).toBe(400)
  // The operation and the kernel reject it too.
  await home.kernel.invoke('config.patch', JSON.parse(text)).catch(error => expect(error.status).toBe(400))
  await home.kernel.config.patch(JSON.parse(text)).then(
    () => expect.unreachable(),
    error => expect(error.status).toBe(400),
  )
  expect(await fileOf(home)).toBe(yaml)
  expect(({} as { admin?: boolean }).admin).toBeUndefined()
})

it('a patch with 1,000 unknown keys is rejected with the first 20 errors', async () => {
  const body = Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`k${n}`, n]))
  const { status, json } = await patch(await stateless(), body)
  expect([status, json.errors.length]).toEqual([400, 20])
})

it.each([
  ['broken YAML', 'daemon:\n  heartbeat: [7\n', /\.svc\/config\.yaml:\d/],
  ['a bad value elsewhere', 'daemon:\n  cycle_timeout: none\n', /\.svc\/config\.yaml:2: daemon\.cycle_timeout/],
  ['nothing any more', '', /\.svc\/config\.yaml: is gone or empty/],
])(
  'a patch while the file holds %s answers 409 with the position, and the file stays unchanged',
  async (_, text, where) => {
    const home = await stateless({ yaml: 'daemon:\n  heartbeat: 7\n' })
    await writeFile(home.kernel.config.file, text)
    const { status, json } = await patch(home, { daemon: { heartbeat: 3 } })
    expect([status, json.code]).toEqual([409, 'bad_file'])
    expect(json.detail).toMatch(where)
    expect(json.detail).not.toContain(home.root)
    expect(await fileOf(home)).toBe(text)
  },
)

it('a patch can correct an invalid file', async () => {
  const home = await stateless({ yaml: 'daemon:\n  heartbeat: 7\n' })
  await writeFile(home.kernel.config.file, 'daemon:\n  heartbeat: soon\n')
  expect((await patch(home, { daemon: { heartbeat: 3 } })).status).toBe(200)
  expect(await fileOf(home)).toBe('daemon:\n  heartbeat: 3\n')
})

it('20 concurrent patches of different keys are all written', async () => {
  const home = await stateless({ yaml: '# ours\nshop:\n  item3: 1\n' })
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => patch(home, { shop: { [`item${n}`]: n + 100 } })),
  )
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
  const text = await fileOf(home)
  expect(text).toMatch(/^# ours\n/)
  expect(parse(text).shop).toEqual(Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`item${n}`, n + 100])))
})

it('a value that the environment overrides is still validated', async () => {
  const home = await stateless({ env: { SVC_HEARTBEAT: '4' } })
  expect((await patch(home, { daemon: { heartbeat: -1 } })).status).toBe(400)
  const { json } = await patch(home, { daemon: { heartbeat: 9 } })
  expect(json.reload).toEqual({ 'daemon.heartbeat': 'applied' })
  expect(json.note).toBe('overridden by the environment: SVC_HEARTBEAT')
  expect(Object.keys((await patch(home, { daemon: { min_rest: 2 } })).json)).toEqual(['config', 'reload'])
  expect((await home.ask('/config')).json).toMatchObject({
    persisted: { daemon: { heartbeat: 9 } },
    effective: { daemon: { heartbeat: 4 } },
  })
})

it('GET and DELETE /config/{key} show one key and remove it from the file', async () => {
  const home = await stateless({ yaml: '# ours\ndaemon:\n  heartbeat: 7 # s\n' })
  expect((await home.ask('/config/daemon.heartbeat')).json).toMatchObject({
    key: 'daemon.heartbeat',
    value: 7,
    source: 'file',
    default: 10,
    env: 'SVC_HEARTBEAT',
    reload: 'applied',
  })
  const missing = await home.ask('/config/daemon.hartbeat')
  expect([missing.status, missing.json.detail]).toEqual([
    404,
    expect.stringContaining('did you mean "daemon.heartbeat"?'),
  ])
  const gone = await home.ask('/config/daemon.heartbeat', { method: 'DELETE' })
  expect([gone.status, gone.json]).toEqual([
    200,
    { key: 'daemon.heartbeat', value: null, reload: 'applied', overridden_by: null, note: null },
  ])
  expect((await home.ask('/config/daemon.heartbeat')).json).toMatchObject({ value: 10, source: 'default' })
})

it('every operation of the module masks secrets', async () => {
  const home = await stateless({ yaml: 'shop:\n  token: hush-hush\n' })
  const shown = [
    await home.kernel.invoke('config.get'),
    await home.kernel.invoke('config.value', { key: 'shop.token' }),
    await home.kernel.invoke('config.set', { key: 'shop.token', value: 'hush-again' }),
    await home.kernel.invoke('config.patch', { shop: { item0: 1 } }),
  ]
  expect(JSON.stringify(shown)).not.toContain('hush')
  for (const name of ['config.get', 'config.value', 'config.set']) {
    const { render } = home.kernel.points.find(Operations, name)!
    expect(render?.(shown[['config.get', 'config.value', 'config.set'].indexOf(name)] as never)).toContain('***')
  }
})

function nested(levels: number): unknown {
  let value: unknown = 1
  for (let left = levels - 1; left > 0; left--) value = { a: value }
  return { daemon: value }
}

it('PATCH /config sets the key that a plugin file waits for, and checks it by its schema', async () => {
  const source = `import { definePlugin, z } from 'svc'
export default definePlugin({ name: 'waits', config: z.object({ city: z.string().min(2), n: z.number().default(1) }), setup() {} })`
  await using home = await testHost({ builtins: [rest, settings], roles: ['server'], plugins: { 'waits.ts': source } })
  const { ask } = await listen(home.kernel)
  const set = (values: unknown) => ask('/config', { method: 'PATCH', body: { plugins: { config: { waits: values } } } })
  const state = () => home.kernel.host.list().find(({ name }) => name === 'waits')?.state
  expect(state()).toBe('failed')
  expect((await set({ citi: 'Oslo' })).json.detail).toMatch(
    /waits\.citi: is not a known key; did you mean .*waits\.city/,
  )
  expect((await set({ city: 'O' })).json.detail).toMatch(/waits\.city: must have at least 2 characters/)
  expect((await set({ city: 'Oslo' })).json.reload).toEqual({ 'plugins.config.waits.city': 'applied' })
  await home.kernel.host.apply()
  expect(state()).toBe('live')
  expect((await ask('/config')).json.effective.plugins.config.waits).toEqual({
    city: 'Oslo',
    n: 1,
  })
})
