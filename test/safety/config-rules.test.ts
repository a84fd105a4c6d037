import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { project } from '../cli/project.ts'
import { type Ask, ask as send } from '../interfaces/rest/rest-server.ts'
import { RunningSvc } from '../support/cli.ts'
import { svc } from '../support/vitest/warm.ts'

/** Starts a server in its own process. */
async function startServer(config = '', env: Record<string, string> = {}) {
  const dir = await project({ '.svc/config.yaml': config })
  const server = new RunningSvc(['serve', '--port', '0'], { cwd: dir.path, env })
  const [, port] = await server.waitForOutput(/^Dashboard: http:\/\/127\.0\.0\.1:(\d+)/m)
  const ask = (path: string, asked: Ask) => send({ hostname: '127.0.0.1', port: Number(port), path, ...asked })
  return {
    patch: (body: unknown) => ask('/config', { method: 'PATCH', body }),
    file: () => readFile(join(dir.path, '.svc/config.yaml'), 'utf8'),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await dir[Symbol.asyncDispose]()
    },
  }
}

describe('a safety module', () => {
  it.each([
    ['approvals', 'approval:\n  enabled: true\n', 'approval.enabled (.svc/config.yaml:4) is true; set that to false'],
    ['guardrails', 'guardrails:\n  enabled: true\n', 'guardrails.enabled (.svc/config.yaml:4) is true'],
    ['budget', 'daemon:\n  budget_usd: 5\n', 'daemon.budget_usd (.svc/config.yaml:4) is 5; set that to 0'],
    ['budget', 'daemon:\n  budget_tokens: 9\n', 'daemon.budget_tokens (.svc/config.yaml:4) is 9'],
  ])('cannot be disabled while the configuration enables it: %s, %j', async (name, asking, key) => {
    await using dir = await project({ '.svc/config.yaml': `plugins:\n  disabled: [${name}]\n${asking}` })
    for (const words of [['start'], ['status'], ['config', 'validate']]) {
      const { code, stderr } = await svc(words, { cwd: dir.path })
      expect({ words, code }).toEqual({ words, code: 2 })
      expect(stderr).toContain(`.svc/config.yaml:2: plugins.disabled: "${name}" cannot be disabled while ${key}`)
    }
  })

  it('cannot be disabled while the environment enables it, and the error names the variable', async () => {
    const disabled = 'plugins:\n  disabled: [budget]\n'
    await using dir = await project({ '.svc/config.yaml': disabled })
    const ran = await svc(['status'], { cwd: dir.path, env: { SVC_BUDGET_USD: '5' } })
    expect(ran.stderr).toContain(
      '"budget" cannot be disabled while daemon.budget_usd (environment variable SVC_BUDGET_USD) is 5',
    )
  })

  it('cannot be disabled through a module that it needs while the configuration enables it', async () => {
    const config = 'plugins:\n  disabled: [models]\ndaemon:\n  budget_usd: 5\n'
    await using dir = await project({ '.svc/config.yaml': config })
    const { code, stderr } = await svc(['start'], { cwd: dir.path })
    expect(code).toBe(2)
    expect(stderr).toContain('"budget" cannot be disabled while daemon.budget_usd (.svc/config.yaml:4) is 5')
    expect(stderr).toContain('or keep "models", which it needs')
  })

  it('may be disabled while nothing enables it', async () => {
    await using dir = await project({ '.svc/config.yaml': 'plugins:\n  disabled: [approvals, guardrails]\n' })
    expect(await svc(['status', '--json'], { cwd: dir.path })).toMatchObject({ code: 0, stdout: '[]\n' })
  })

  it('cannot be enabled by its setting while it is disabled', async () => {
    const config = 'plugins:\n  disabled: [approvals]\n'
    await using dir = await project({ '.svc/config.yaml': config })
    const { code, stderr } = await svc(['config', 'set', 'approval.enabled', 'true'], { cwd: dir.path })
    expect(code).toBe(2)
    expect(stderr).toContain('"approvals" cannot be disabled while approval.enabled is true')
    expect(await readFile(join(dir.path, '.svc/config.yaml'), 'utf8')).toBe(config)
  })
})

/** Values that keep the service from starting, or have no effect: section, key, value and part of the message. */
const REFUSED: [string, string, unknown, string][] = [
  ['store', 'url', 'javascript:alert(1)', "leave it empty to use the project's own file, or begin it with postgres://"],
  ['plugins', 'disabled', ['aprovals'], 'there is no plugin of that name; did you mean "approvals"?'],
  ['model', 'default_model', 'nosuch:thing', '"nosuch:thing" is not a model name; use provider:model'],
  ['model', 'planning_model', 'nosuch', '"nosuch" is not a model name'],
  ['model', 'default_model', 'openai:a\0b', 'is not a model name'],
  [
    'model',
    'default_model',
    'openai:',
    '"openai:" is not a model name; use provider:model or provider:lite|standard|pro',
  ],
  ['model', 'summary_model', 'openai: ', 'is not a model name'],
]

describe('a value that the service cannot work with', () => {
  it('is refused by PATCH /config, which leaves the file unchanged', async () => {
    await using host = await startServer('seed: 3\n')
    for (const [section, key, value, said] of REFUSED) {
      const { status, json } = await host.patch({ [section]: { [key]: value } })
      expect({ value, status, code: json.code }).toEqual({ value, status: 400, code: 'invalid_config' })
      expect(json.errors[0].path).toBe(`${section}.${key}`)
      expect(json.detail).toContain(said)
    }
    expect(await host.file()).toBe('seed: 3\n')
  })

  it('is refused by svc config set, and reported by svc config validate', async () => {
    await using dir = await project()
    for (const [section, key, value, said] of REFUSED.filter(([, , value]) => !String(value).includes('\0'))) {
      await dir.write({ '.svc/config.yaml': '' })
      const words = ['config', 'set', `${section}.${key}`, typeof value === 'string' ? value : JSON.stringify(value)]
      const { code, stderr } = await svc(words, { cwd: dir.path })
      expect({ words, code }).toEqual({ words, code: 2 })
      expect(stderr).toContain(said)
      expect(await readFile(join(dir.path, '.svc/config.yaml'), 'utf8')).toBe('')
      await dir.write({ '.svc/config.yaml': `${section}:\n  ${key}: ${JSON.stringify(value)}\n` })
      const found = await svc(['config', 'validate'], { cwd: dir.path })
      expect(found.code).not.toBe(0)
      expect(`${found.stdout}${found.stderr}`).toContain(`.svc/config.yaml:2: ${section}.${key}: `)
      expect(`${found.stdout}${found.stderr}`).toContain(said)
    }
  })

  it('is accepted together with what makes it valid: a provider with its model, a database with its module', async () => {
    await using host = await startServer()
    const office = { providers: { office: { base_url: 'http://127.0.0.1:1/v1' } }, default_model: 'office:m' }
    expect((await host.patch({ model: office })).status).toBe(200)
    expect((await host.patch({ plugins: { disabled: ['cluster'] }, store: { url: 'postgres://db/svc' } })).status).toBe(
      400,
    )
    expect((await host.patch({ store: { url: 'postgres://db/svc' } })).status).toBe(200)
  })

  it('is refused at the start with the name of the environment variable that sets it', async () => {
    await using dir = await project()
    const env = { SVC_STORE_URL: 'javascript:alert(1)' }
    for (const words of [['status'], ['config', 'validate']]) {
      const { code, stderr } = await svc(words, { cwd: dir.path, env })
      expect(code).toBe(2)
      expect(stderr).toContain('environment variable SVC_STORE_URL: store.url: does not name a supported database')
      expect(stderr).not.toContain('config.yaml')
    }
  })

  it('is refused even if the environment overrides it, because it must be valid without the variable', async () => {
    await using dir = await project()
    const env = { SVC_STORE_URL: 'postgres://db/svc' }
    const ran = await svc(['config', 'set', 'store.url', 'javascript:alert(1)'], { cwd: dir.path, env })
    expect(ran).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('store.url: does not name a supported database'),
    })
    expect((await svc(['config', 'set', 'seed', '3'], { cwd: dir.path, env })).code).toBe(0)
  })

  it('does not prevent setting other keys when it was written by hand and the service starts with it', async () => {
    await using dir = await project({ '.svc/config.yaml': 'seed: 3\nplugins:\n  disabled: [nosuch]\n' })
    expect(await svc(['config', 'set', 'seed', '4'], { cwd: dir.path })).toMatchObject({ code: 0, stderr: '' })
    expect((await svc(['config', 'unset', 'seed'], { cwd: dir.path })).code).toBe(0)
    expect((await svc(['status'], { cwd: dir.path })).code).toBe(0)
    const { checks } = JSON.parse((await svc(['doctor', '--json'], { cwd: dir.path })).stdout)
    const found = checks.find(({ name }: { name: string }) => name === 'settings')
    expect(found).toMatchObject({ level: 'warn', message: expect.stringContaining('lists the plugin "nosuch"') })
  })
})
