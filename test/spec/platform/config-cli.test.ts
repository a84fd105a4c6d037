import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { FAST, project } from '../../cli/project.ts'
import { RunningSvc, svc as svcInOwnProcess, type TempDir, until } from '../../support/index.ts'
import { svc } from '../../support/vitest/warm.ts'

const fileOf = (dir: TempDir) => readFile(join(dir.path, '.svc/config.yaml'), 'utf8')
const runner =
  (dir: TempDir, env: Record<string, string> = {}) =>
  (...words: string[]) =>
    svc(words, { cwd: dir.path, env })

it('svc config shows every key with its value and source, and masks secrets', async () => {
  await using dir = await project({ '.svc/config.yaml': 'server:\n  api_key: hush-hush\ndaemon:\n  heartbeat: 7\n' })
  const run = runner(dir, { SVC_SEED: '42' })
  const { stdout } = await run('config')
  expect(stdout).toMatch(/^daemon\.heartbeat +7 {2}\(file\)$/m)
  expect(stdout).toMatch(/^seed +42 {2}\(env\)$/m)
  expect(stdout).toMatch(/^daemon\.max_concurrent_agents +8$/m)
  expect(stdout).toMatch(/^server\.api_key +\*\*\* {2}\(file\)$/m)
  const json = JSON.parse((await run('config', '--json')).stdout)
  expect(json).toMatchObject({
    effective: { seed: 42 },
    sources: { seed: 'env' },
    persisted: { server: { api_key: '***' } },
  })
  expect((await run('config', 'get', 'server.api_key')).stdout).not.toContain('hush')
})

it('svc config get shows all details of a key', async () => {
  await using dir = await project({ '.svc/config.yaml': 'daemon:\n  heartbeat: 7\n' })
  const { stdout } = await runner(dir)('config', 'get', 'daemon.heartbeat')
  expect(stdout).toBe(
    [
      'daemon.heartbeat  7',
      'source            the file',
      'default           10',
      'variable          SVC_HEARTBEAT',
      'changes           take effect at the next heartbeat',
      "about             Seconds between an agent's cycles",
      '',
    ].join('\n'),
  )
})

it('svc config set parses plain values, and says when they take effect', async () => {
  await using dir = await project({ '.svc/config.yaml': '# mine\ndaemon:\n  heartbeat: 7 # s\n' })
  const run = runner(dir, { SVC_SEED: '42' })
  const stdoutOf = async (...words: string[]) => (await run('config', ...words)).stdout.trim()
  expect(await stdoutOf('set', 'daemon.heartbeat', '2.5')).toBe(
    'daemon.heartbeat is 2.5, effective at the next heartbeat',
  )
  expect(await stdoutOf('set', 'daemon.heartbeat', '2.5')).toBe('daemon.heartbeat is 2.5 already')
  expect(await stdoutOf('set', 'plugins.allowlist', '[a, b]')).toBe(
    'plugins.allowlist is ["a","b"], effective after a restart',
  )
  const rates = () => stdoutOf('set', 'suffering.escalation_rates', '{ futility: 2 }')
  expect(await rates()).toBe('suffering.escalation_rates is {"futility":2}, effective after a restart')
  expect(await rates()).toBe('suffering.escalation_rates is {"futility":2} already')
  expect(await stdoutOf('unset', 'suffering.escalation_rates')).toMatch(/ is unset, effective after a restart$/)
  expect(await stdoutOf('set', 'server.api_key', '12345')).toBe('server.api_key is ***, effective after a restart')
  expect(await stdoutOf('set', 'seed', '7')).toBe(
    'seed is 7 in the file, but the environment variable SVC_SEED overrides it',
  )
  expect(parse(await fileOf(dir))).toEqual({
    daemon: { heartbeat: 2.5 },
    plugins: { allowlist: ['a', 'b'] },
    server: { api_key: '12345' },
    seed: 7,
  })
  expect(await fileOf(dir)).toMatch(/^# mine\ndaemon:\n {2}heartbeat: 2\.5 # s\n/)
  expect(await stdoutOf('unset', 'daemon.heartbeat')).toBe('daemon.heartbeat is unset, effective at the next heartbeat')
  expect(await fileOf(dir)).not.toContain('heartbeat')
})

it('svc config set replaces whole mappings, and can set single entries and their fields', async () => {
  await using dir = await project({ '.svc/config.yaml': '# mine\n' })
  const run = runner(dir)
  const set = async (...words: string[]) => {
    const { code, stderr } = await run('config', 'set', ...words)
    expect([code, stderr]).toEqual([0, ''])
    return parse(await fileOf(dir)).model.providers
  }
  const [office, lab] = [{ base_url: 'http://127.0.0.1:1/v1' }, { base_url: 'http://127.0.0.1:2/v1', model: 'm' }]
  expect(await set('model.providers.office.base_url', office.base_url)).toEqual({ office })
  expect(await set('model.providers.office.model', '7')).toEqual({ office: { ...office, model: '7' } })
  expect(await set('model.providers.office.free', 'yes')).toEqual({ office: { ...office, model: '7', free: true } })
  expect(await set('model.providers.office', JSON.stringify(lab))).toEqual({ office: lab })
  expect(await set('model.providers', JSON.stringify({ lab }))).toEqual({ lab })
  expect((await run('config', 'get', 'model.providers.lab.base_url')).stdout).toMatch(/^model\S+ +http:.*:2\/v1$/m)
  const missing = (await run('config', 'get', 'model.providers.nowhere')).stdout
  expect(missing).toMatch(/^model\S+ +null\nsource +the default\ndefault +null$/m)
  expect((await run('config', 'unset', 'model.providers.lab.base_url')).stderr).toContain('needs a base_url')
  expect((await run('config', 'set', 'model.providers.lab.url', 'x')).stderr).toContain('lab.url: is not a known field')
  expect((await run('config', 'set', 'model.providers', '{ lab: { __proto__: 1 } }')).code).toBe(2)
  expect(await set('model.providers', '{}')).toEqual({})
  expect(await set('model.providers.office.base_url', office.base_url)).toEqual({ office })
  expect(await fileOf(dir)).toMatch(/^# mine\n+model:\n {2}providers:\n {4}office:\n {6}base_url: http/)
})

it.each([
  [['set', 'daemon.heartbeat', 'soon'], 2, 'daemon.heartbeat: must be a number, not a string'],
  [['set', 'daemon.heartbeat', '0'], 2, 'daemon.heartbeat: must be at least 0.05'],
  [['set', 'daemon.hartbeat', '1'], 2, 'did you mean "daemon.heartbeat"?'],
  [['get', 'daemon'], 2, '"daemon" is not a key of the configuration'],
  [['get', 'heartbeat'], 2, '"heartbeat" is not a key of the configuration; did you mean "daemon.heartbeat"?'],
  [['set', 'colour', 'red'], 2, '"colour" is not a key of the configuration; svc config lists them\n'],
  [['set', 'model.providers.office', 'x'], 2, 'office: must be a mapping, such as { base_url: http'],
  [['set', 'mcp.servers.files', 'x'], 2, 'files: must be a mapping, such as { command: npx'],
  [['set', 'daemon.heartbeat'], 2, '<value> is missing'],
  [['set', 'seed', '-5'], 2, 'to pass it as a value, put -- before it: -- -5'],
])('an error names a valid alternative: svc config %j', async (words, code, sentence) => {
  await using dir = await project({ '.svc/config.yaml': 'daemon:\n  heartbeat: 7\n' })
  const ran = await runner(dir)('config', ...words)
  expect([ran.code, ran.stdout]).toEqual([code, ''])
  expect(ran.stderr).toContain(sentence)
  expect(await fileOf(dir)).toBe('daemon:\n  heartbeat: 7\n')
})

it('concurrent svc config set commands all take effect, and a running daemon applies them at its next heartbeat', async () => {
  await using dir = await project(FAST)
  await using daemon = new RunningSvc(['start'], { cwd: dir.path })
  await daemon.waitForOutput(/Logs/)
  const run = runner(dir)
  const values = { min_rest: 0.1, tool_timeout: 31, cycle_timeout: 32, max_concurrent_agents: 3, max_failures: 9 }
  const ran = await Promise.all(
    Object.entries(values).map(([key, n]) =>
      svcInOwnProcess(['config', 'set', `daemon.${key}`, String(n)], { cwd: dir.path }),
    ),
  )
  expect(ran.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0])
  expect(parse(await fileOf(dir)).daemon).toEqual({ heartbeat: 0.2, ...values })
  const live = async () => JSON.parse((await run('config', '--json')).stdout).live
  await until(async () => (await live()).daemon.tool_timeout === 31)
  // This key needs a restart.
  expect((await live()).daemon.max_failures).toBe(5)
  expect((await run('config')).stdout).toMatch(/^daemon\.max_failures +9 {2}\(file, 5 until the restart\)$/m)
  expect((await run('config', 'get', 'daemon.max_failures')).stdout).toMatch(/^daemon\.max_failures +9\nin force +5$/m)
  expect((await run('config', 'get', 'daemon.tool_timeout')).stdout).not.toContain('in force')
  expect((await run('doctor')).stdout).toMatch(
    /^warn {2}restart +1 key changed since the start and not in force: daemon\.max_failures\n +→ .*svc restart$/m,
  )
})
