import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { project } from '../cli/project.ts'
import { svc as inOwnProcess, RunningSvc, type TempDir } from '../support/index.ts'
import { svc } from '../support/vitest/warm.ts'

const fileOf = (dir: TempDir) => readFile(join(dir.path, '.svc/config.yaml'), 'utf8')

/** Configurations that keep the service from starting, each with a key to unset and the reported fault. */
const BROKEN: [string, string, string][] = [
  ['store:\n  url: javascript:alert(1)\n', 'store.url', ':2: store.url: does not name a supported database'],
  ['daemon:\n  heartbeat: soon\n', 'daemon.heartbeat', ':2: daemon.heartbeat: must be a number'],
  ['plugins:\n  disabled: store\n', 'plugins.disabled', ':2: plugins.disabled: must be an array'],
  ['seed: [1]\n', 'seed', ':1: seed: must be'],
  [
    'approval:\n  enabled: true\nplugins:\n  disabled: [approvals]\n',
    'approval.enabled',
    ':4: plugins.disabled: "approvals"',
  ],
  [
    'approval:\n  enabled: true\nplugins:\n  disabled: [approvals]\n',
    'plugins.disabled',
    ':4: plugins.disabled: "approvals"',
  ],
]

describe('a configuration that keeps the service from starting', () => {
  it.each(BROKEN)(
    '%j is reported by validate and doctor, and fixed by svc config unset %s',
    async (text, key, fault) => {
      await using dir = await project({ '.svc/config.yaml': text })
      const run = (...words: string[]) => svc(words, { cwd: dir.path })
      expect((await run('status')).code).toBe(2)
      expect(await run('config', 'validate')).toMatchObject({ code: 2, stderr: expect.stringContaining(fault) })
      const doctor = await run('doctor', '--json')
      expect(doctor.code).toBe(1)
      const { checks } = JSON.parse(doctor.stdout)
      const config = checks.find(({ name }: { name: string }) => name === 'config')
      expect(config).toMatchObject({ level: 'fail', message: expect.stringContaining(fault) })
      expect(await run('config', 'unset', key)).toMatchObject({ code: 0, stderr: '' })
      expect(await fileOf(dir)).not.toContain(key.split('.').at(-1))
      expect((await run('config', 'validate')).code).toBe(0)
      expect(await run('status', '--json')).toMatchObject({ code: 0, stdout: '[]\n' })
    },
  )

  it('is reported with all of its faults at once, and fixed one key at a time', async () => {
    const text = `daemon:
  heartbeat: soon
model:
  max_tokens: -1
store:
  url: javascript:alert(1)
plugins:
  disabled: [guardrails]
guardrails:
  enabled: true
`
    await using dir = await project({ '.svc/config.yaml': text })
    const run = (...words: string[]) => svc(words, { cwd: dir.path, env: { SVC_SEED: 'many' } })
    const faults = [
      '.svc/config.yaml:2: daemon.heartbeat: ',
      '.svc/config.yaml:4: model.max_tokens: ',
      '.svc/config.yaml:6: store.url: ',
      '.svc/config.yaml:8: plugins.disabled: "guardrails" cannot be disabled while guardrails.enabled (.svc/config.yaml:10)',
      'environment variable SVC_SEED: ',
    ]
    const { stderr } = await run('config', 'validate')
    for (const fault of faults) expect(stderr).toContain(fault)
    const { checks } = JSON.parse((await run('doctor', '--json')).stdout)
    for (const fault of faults) expect(checks.at(-1).message).toContain(fault)
    // A change that fixes one fault is accepted, and one that fixes none is refused.
    expect((await run('config', 'set', 'daemon.heartbeat', '3')).code).toBe(0)
    expect(await run('config', 'set', 'daemon.heartbeat', '4')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(':4: model.max_tokens'),
    })
    for (const key of ['daemon.heartbeat', 'guardrails.enabled', 'store.url', 'model.max_tokens'])
      expect(await run('config', 'unset', key)).toMatchObject({ code: 0, stderr: '' })
    const left = await run('config', 'validate')
    expect(left).toMatchObject({ code: 2, stderr: expect.stringContaining('environment variable SVC_SEED') })
    expect(left.stderr).not.toContain('config.yaml')
    expect((await svc(['status'], { cwd: dir.path })).code).toBe(0)
  })

  it('shows its values, and may be changed when only the environment is invalid', async () => {
    await using dir = await project({
      '.svc/config.yaml': 'plugins:\n  disabled: [store]\ndaemon:\n  heartbeat: soon\n',
    })
    const run = (...words: string[]) => svc(words, { cwd: dir.path, env: { SVC_SEED: 'many' } })
    expect((await run('config', 'get', 'plugins.disabled')).stdout).toMatch(/^plugins\.disabled +\["store"\]$/m)
    expect((await run('config')).stdout).toContain('Not valid: ')
    await dir.write({ '.svc/config.yaml': '' })
    expect(await run('config', 'set', 'seed', '3')).toMatchObject({ code: 0, stderr: '' })
    expect(await fileOf(dir)).toBe('seed: 3\n')
  })

  it('is reported with file and line when it is not valid YAML', async () => {
    await using dir = await project({ '.svc/config.yaml': 'daemon: [\n' })
    for (const words of [['config', 'validate'], ['config', 'unset', 'seed'], ['doctor']]) {
      const { code, stdout, stderr } = await svc(words, { cwd: dir.path })
      expect(code).not.toBe(0)
      expect(`${stdout}${stderr}`).toContain('.svc/config.yaml:2: ')
    }
    expect(await fileOf(dir)).toBe('daemon: [\n')
  })

  it('is fixed by svc config unset while a daemon runs that was started with a valid one', async () => {
    await using dir = await project({ '.svc/config.yaml': 'daemon:\n  heartbeat: 1\n' })
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.waitForOutput(/Logs/)
    await dir.write({
      '.svc/config.yaml': 'daemon:\n  heartbeat: soon\nmodel:\n  max_tokens: -1\nstore:\n  url: javascript:x\n',
    })
    for (const key of ['daemon.heartbeat', 'model.max_tokens', 'store.url'])
      expect(await svc(['config', 'unset', key], { cwd: dir.path })).toMatchObject({ code: 0, stderr: '' })
    expect((await fileOf(dir)).trim()).toBe('{}')
  })
})

it('svc config unset removes a key that no plugin declares', async () => {
  await using dir = await project({
    '.svc/config.yaml': 'seed: 3 # mine\ncolour: red\nplugins:\n  config:\n    gone: { size: 3 }\n',
  })
  const unset = (key: string) => svc(['config', 'unset', key], { cwd: dir.path })
  expect(await unset('colour')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('colour is unset'),
  })
  expect((await unset('plugins.config.gone.size')).code).toBe(0)
  expect((await fileOf(dir)).trim()).toBe('seed: 3 # mine')
  expect(await unset('colour')).toMatchObject({ code: 2, stderr: expect.stringContaining('"colour" is not a key') })
})

describe('a plugin and the configuration', () => {
  it('is not run in a project that is not trusted', async () => {
    await using dir = await project({ 'plugins/bad.ts': `for (;;) {}\nexport default { name: 'bad', setup() {} }` })
    const run = (...words: string[]) => inOwnProcess(words, { cwd: dir.path, env: { SVC_TRUST_PROJECT: '' } })
    expect(await run('config', 'validate')).toMatchObject({ code: 0, stderr: expect.stringContaining('not trusted') })
    expect((await run('config', 'set', 'seed', '3')).code).toBe(0)
    expect((await run('config', 'unset', 'seed')).code).toBe(0)
  })

  it('is distinguished from a good plugin, whose configuration is validated', async () => {
    const source = `import { definePlugin, z } from 'svc'
export default definePlugin({ name: 'good', config: z.object({ size: z.number().default(1) }), setup() {} })`
    await using dir = await project({ 'plugins/good.ts': source })
    const run = (...words: string[]) => inOwnProcess(words, { cwd: dir.path })
    expect((await run('config', 'set', 'plugins.config.good.size', '3')).stdout).toBe(
      'plugins.config.good.size is 3, effective after a restart\n',
    )
    expect((await run('config', 'set', 'plugins.config.good.size', 'big')).stderr).toContain(
      'plugins.config.good.size: must be a number',
    )
    await dir.write({ '.svc/config.yaml': 'plugins:\n  config:\n    good: { size: big }\n' })
    expect((await run('config', 'validate')).stderr).toContain(
      '.svc/config.yaml:3: plugins.config.good.size: must be a number',
    )
    expect((await run('config', 'unset', 'plugins.config.good.size')).code).toBe(0)
    expect(await run('config', 'validate')).toMatchObject({ code: 0 })
  })

  it('does not keep other keys from being set while its own are missing, and the error says how to set them', async () => {
    const source = `import { definePlugin, z } from 'svc'
const config = z.object({ url: z.string(), token: z.string().meta({ secret: true, env: 'POST_TOKEN' }) })
export default definePlugin({ name: 'post', config, setup() {} })`
    await using dir = await project({ 'plugins/post.ts': source })
    const run = (...words: string[]) => inOwnProcess(words, { cwd: dir.path })
    expect(await run('config', 'set', 'approval.enabled', 'true')).toMatchObject({ code: 0 })
    const { stderr } = await run('plugins', 'check', 'plugins/post.ts')
    expect(stderr).toContain('post.url: is missing; set it with: svc config set plugins.config.post.url <value>')
    expect(stderr).toContain('svc config set plugins.config.post.token <value>, or in POST_TOKEN')
    for (const key of ['url', 'token'])
      expect(await run('config', 'set', `plugins.config.post.${key}`, 'abc')).toMatchObject({ code: 0 })
    expect(await run('plugins', 'check', 'plugins/post.ts')).toMatchObject({ code: 0 })
  })
})
