import { execFileSync } from 'node:child_process'
import { symlink, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { RunningSvc, tempDir, testHost } from '../support/index.ts'
import { svc } from '../support/vitest/warm.ts'

const FAST = { '.svc/config.yaml': 'daemon:\n  heartbeat: 0.2\nwatchdog:\n  limit: 10\nmodel:\n  sim_delay: 0\n' }

it('a command that needs a service that a plugin replaces fails with the name of that plugin', async () => {
  const source = `import { Daemon, definePlugin } from 'svc'
export default definePlugin({ name: 'thrift', setup(svc) { svc.provide(Daemon, svc.use(Daemon)) } })`
  await using dir = await tempDir({ '.svc/config.yaml': 'daemon:\n  heartbeat: 0.2\n', 'plugins/thrift.ts': source })
  // A process must have run the plugin before.
  await svc(['spawn', 'coder'], { cwd: dir.path })
  const { code, stderr } = await svc(['config'], { cwd: dir.path })
  expect(code).toBe(1)
  expect(stderr).toMatch(/plugin "thrift" \(.*thrift\.ts\)/)
  await unlink(join(dir.path, 'plugins/thrift.ts'))
  expect((await svc(['config'], { cwd: dir.path })).code).toBe(0)
})

it('a damaged commands.json does not keep commands from reading', async () => {
  await using dir = await tempDir({ ...FAST, '.svc/commands.json': '{' })
  expect(await svc(['status', '--json'], { cwd: dir.path })).toMatchObject({ code: 0, stdout: '[]\n', stderr: '' })
})

it('a plugin or configuration file that is a named pipe or a device is refused at once', async () => {
  await using dir = await tempDir({
    ...FAST,
    'profiles/.keep': '',
    'plugins/good.ts': `export default { name: 'good', setup() {} }`,
  })
  for (const path of ['plugins/pipe.ts', 'profiles/pipe.yaml']) execFileSync('mkfifo', [join(dir.path, path)])
  await symlink(join(dir.path, 'plugins/pipe.ts'), join(dir.path, 'plugins/link.ts'))
  await symlink('/dev/zero', join(dir.path, 'plugins/zero.ts'))
  await using daemon = new RunningSvc(['start'], { cwd: dir.path })
  await daemon.waitForOutput(/Logs:/)
  const { stdout } = await svc(['plugins', '--json'], { cwd: dir.path })
  const errors = Object.fromEntries(
    (JSON.parse(stdout) as { name: string; error: string | null }[]).map(({ name, error }) => [name, error]),
  )
  expect(errors.good ?? '').toBe('')
  expect(errors.pipe).toContain('is a named pipe, not a regular file')
  expect(errors.link).toContain('is a named pipe, not a regular file')
  expect(errors.zero).toContain('is a device, not a regular file')
  await daemon.end('SIGTERM')
  await unlink(join(dir.path, '.svc/config.yaml'))
  execFileSync('mkfifo', [join(dir.path, '.svc/config.yaml')])
  const refused = await svc(['status'], { cwd: dir.path })
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('config.yaml: is a named pipe') })
})

it('an exception of a tool is logged with its place, and suspends its plugin; a ToolError does not', async () => {
  const source = `import { definePlugin, ToolError, tool, z } from 'svc'
export default definePlugin({ name: 'tools', setup(svc) {
  const parameters = z.object({})
  svc.toolkit({ name: 'tools', tools: [
    tool({ name: 'declared', description: 'd', parameters, execute() { throw new ToolError({ problem: 'not today' }) } }),
    tool({ name: 'broken', description: 'b', parameters, execute() {
      return (undefined as never as { x: string }).x
    } }),
  ] })
} })`
  await using home = await testHost({ plugins: { 'tools.ts': source } })
  const { Toolkits } = await import('#tools/toolkits/contract')
  const tools = home.kernel.list(Toolkits).flatMap(kit => kit.tools)
  const call = { signal: new AbortController().signal } as never
  const run = (name: string) => tools.find(each => each.name === name)!.execute({} as never, call)
  const state = () => home.kernel.host.list().find(({ name }) => name === 'tools')!
  for (let n = 0; n < 10; n++) await expect(run('declared')).rejects.toThrow('not today')
  expect(state()).toMatchObject({ state: 'live', failures: 0 })
  for (let n = 0; n < 5; n++) await expect(run('broken')).rejects.toThrow('undefined')
  expect(state()).toMatchObject({ state: 'suspended', failures: 5 })
  const [line] = home.logged('tool broken')
  expect(line).toMatchObject({ level: 50, plugin: 'tools', tool: 'broken', stack: expect.stringContaining('tools.ts') })
  expect(line!.msg).toMatch(/tools\.ts:7: tool broken: /)
})
