import { mkdir, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { RunningSvc, tempDir, until } from '../support/index.ts'
import { svc } from '../support/vitest/warm.ts'

const MARK = `import { appendFileSync } from 'node:fs'
import { definePlugin } from 'svc'
appendFileSync(new URL('../ran', import.meta.url), 'ran\\n')
export default definePlugin({ name: 'mark', setup() {} })
`

/** A project with a plugin that writes a mark file, a folder in it, and a user who has trusted nothing yet. */
async function untrustedProject() {
  const dir = await tempDir({
    'project/.svc/config.yaml': 'daemon:\n  heartbeat: 0.2\nmodel:\n  sim_delay: 0\n',
    'project/plugins/mark.ts': MARK,
    'project/below/.keep': '',
    'user/.keep': '',
  })
  const root = join(dir.path, 'project')
  const env = { XDG_CONFIG_HOME: join(dir.path, 'user'), SVC_TRUST_PROJECT: '' }
  const hasRun = async () => (await readdir(root)).includes('ran')
  return {
    dir,
    root,
    env,
    below: join(root, 'below'),
    hasRun,
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  }
}

describe('trust in the plugins of a project', () => {
  it('is not mentioned in a project without plugins', async () => {
    await using project = await untrustedProject()
    const { root, env } = project
    await rm(join(root, 'plugins'), { recursive: true })
    for (const words of [['status'], ['spawn', 'coder'], ['budget', 'reset']])
      expect(await svc(words, { cwd: root, env })).toMatchObject({ code: 0, stderr: '' })
  })

  it('is needed to run them, also for commands in a folder below', async () => {
    await using project = await untrustedProject()
    const { below, env, hasRun } = project
    const commands = [['status'], ['plugins'], ['config', 'get', 'daemon.heartbeat'], ['spawn', 'coder'], ['greet']]
    for (const words of commands) {
      const { stderr } = await svc(words, { cwd: below, env })
      expect(stderr.match(/svc plugins trust/g), words.join(' ')).toHaveLength(1)
    }
    await using daemon = new RunningSvc(['start'], { cwd: below, env })
    await daemon.waitForOutput(/heartbeat every/)
    expect(daemon.stderr).toContain('svc plugins trust')
    expect(await hasRun()).toBe(false)
  })

  it.each(['start', 'serve', 'init', 'trust'])('is given once and for all by %s', async how => {
    await using project = await untrustedProject()
    const { root, below, env, hasRun } = project
    if (how === 'init') await svc(['init', '--quiet'], { cwd: root, env })
    else if (how === 'trust') await svc(['plugins', 'trust', '--root', root], { cwd: '/', env })
    else {
      const words = how === 'serve' ? ['serve', '--port', '0', '--root', root] : ['start']
      await using running = new RunningSvc(words, { cwd: how === 'serve' ? below : root, env })
      await running.waitForOutput(/Logs:/)
      expect(await hasRun()).toBe(true)
    }
    const { stdout } = await svc(['plugins', 'trust', '--list', '--json'], { cwd: '/', env })
    expect(JSON.parse(stdout)).toMatchObject([{ root: await realpath(root) }])
    // The same project by another path, from a folder below it.
    await symlink(root, join(project.dir.path, 'other'))
    const { stderr } = await svc(['spawn', 'coder'], { cwd: join(project.dir.path, 'other', 'below'), env })
    expect(stderr).not.toContain('svc plugins trust')
    expect(await hasRun()).toBe(true)
  })

  it('ends when it is revoked, and a variable gives it to one process only', async () => {
    await using project = await untrustedProject()
    const { root, env, hasRun } = project
    await svc(['plugins', 'trust'], { cwd: root, env })
    expect((await svc(['plugins', 'trust', '--revoke'], { cwd: root, env })).stdout).toContain('no longer trusted')
    expect((await svc(['spawn', 'coder'], { cwd: root, env })).stderr).toContain('svc plugins trust')
    expect(await hasRun()).toBe(false)
    await svc(['spawn', 'coder'], { cwd: root, env: { ...env, SVC_TRUST_PROJECT: 'true' } })
    expect(await hasRun()).toBe(true)
  })

  it('holds for the process that a person started even if it cannot be saved', async () => {
    await using project = await untrustedProject()
    const { root, env, hasRun, dir } = project
    await writeFile(join(dir.path, 'user', 'svc'), 'in the way')
    await using daemon = new RunningSvc(['start'], { cwd: root, env })
    await daemon.waitForOutput(/SVC_TRUST_PROJECT=true/)
    await until(hasRun)
  })

  it('is also needed to run a program that the configuration names for MCP', async () => {
    await using project = await untrustedProject()
    const { root, below, env, hasRun } = project
    await writeFile(
      join(root, '.svc/config.yaml'),
      `mcp:\n  servers:\n    odd:\n      command: touch\n      args: ['${join(root, 'ran')}']\n`,
    )
    await mkdir(join(root, 'logs'))
    await using daemon = new RunningSvc(['start'], { cwd: below, env })
    await daemon.waitForOutput(/its program was not started/)
    expect(await hasRun()).toBe(false)
  })
})
