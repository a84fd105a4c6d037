import { cp, readFile, symlink, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { RunningSvc } from '../../support/cli.ts'
import { modelServer } from '../../support/model/model-server.ts'
import { tempDir } from '../../support/temp.ts'
import { svc } from '../../support/vitest/warm.ts'
import { FAST, project } from '../project.ts'

const URL_LINE = /^Dashboard: +(http:\/\/127\.0\.0\.1:(\d+))\/$/m

describe('svc serve', () => {
  it('prints the addresses of the page and the API, the log file, and the port that the system chose', async () => {
    await using dir = await project(FAST)
    await using server = new RunningSvc(['serve', '--port', '0'], { cwd: dir.path })
    const [, url, port] = await server.waitForOutput(URL_LINE)
    await server.waitForOutput(/^Daemon: +not in this process/m)
    expect(server.stdout).toMatch(/^Model: +sim\/rules-1 \(simulated, not an AI model\)/m)
    expect(Number(port)).toBeGreaterThan(0)
    expect(server.stdout).toContain(`${url}/openapi.json`)
    expect(server.stdout).toMatch(/^Logs: .*logs\/svc\.log$/m)
    expect(await fetch(`${url}/healthz`).then(answer => answer.status)).toBe(200)
    expect(await fetch(`${url}/`).then(answer => answer.headers.get('content-type'))).toMatch(/^text\/html/)
    expect(await fetch(`${url}/daemon`).then(answer => answer.json())).toMatchObject({ running: false })
    expect(await server.end('SIGTERM')).toBe(0)
  })

  it('names the daemon that runs in another process', async () => {
    await using dir = await project(FAST)
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    const [, pid] = await daemon.waitForOutput(/^Daemon: +PID (\d+)/m)
    await using server = new RunningSvc(['serve', '--port', '0'], { cwd: dir.path })
    await server.waitForOutput(new RegExp(`^Daemon: +PID ${pid}, in another process$`, 'm'))
  })

  it('prints the model that is used, and no key', async () => {
    await using dir = await project(FAST)
    const env = {
      OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
      OPENAI_API_KEY: 'sk-a-key-for-nobody',
      SVC_DEFAULT_MODEL: 'openai:a-model',
    }
    await using real = new RunningSvc(['serve', '--port', '0'], { cwd: dir.path, env })
    await real.waitForOutput(/^Model: +openai:a-model/m)
    expect(real.stdout).not.toContain('simulated')
    expect(real.stdout + real.stderr).not.toContain('sk-a-key-for-nobody')
  })

  it('with --reload restarts when the code changes, reports a failed start, and stops both processes', async () => {
    await using dir = await project(FAST)
    await using installed = await tempDir()
    const at = (name: string) => join(installed.path, name)
    await cp('dist', at('dist'), { recursive: true, filter: name => !name.startsWith('dist/types') })
    for (const name of ['package.json', 'node_modules', 'profiles']) await symlink(join(process.cwd(), name), at(name))
    const program = at('dist/svc.js')
    await using server = new RunningSvc(['serve', '--reload', '--port', '0', '--json'], { cwd: dir.path, program })
    const life = async (n: number) => {
      const [, pid] = await server.waitForOutput(new RegExp(`(?:"event":"ready".*?"pid":(\\d+)[^]*){${n}}`))
      return Number(pid)
    }
    const first = await life(1)
    expect(first).not.toBe(server.pid)

    const later = new Date(Date.now() + 60_000)
    await utimes(at('dist/commands.json'), later, later)
    await life(2)
    expect(server.stderr).toContain('svc: the code has changed: restarting')
    expect(() => process.kill(first, 0)).toThrow('ESRCH')

    const bundle = await readFile(program, 'utf8')
    await writeFile(program, 'this is no JavaScript')
    await server.waitForOutput(/the process has ended with exit code 1; it restarts when the code changes/)
    await writeFile(program, bundle)
    const last = await life(3)
    expect(await server.end('SIGINT')).toBe(0)
    expect(() => process.kill(last, 0)).toThrow('ESRCH')
  })

  it('with a daemon answers requests that need the daemon from the first one on', async () => {
    await using dir = await project(FAST)
    await using server = new RunningSvc(['serve', '--with-daemon', '--port', '0', '--json'], { cwd: dir.path })
    const [, url] = await server.waitForOutput(/"listening".*"url":"([^"]+)"/)
    const [budget, config] = await Promise.all([fetch(`${url}/budget`), fetch(`${url}/config`)])
    expect(budget.status).toBe(200)
    expect(await config.json()).toHaveProperty('live')
  })

  it('refuses a port in use, and a host that others can reach without a key, and says why', async () => {
    await using dir = await project(FAST)
    const taken = createServer().listen(0, '127.0.0.1')
    await new Promise(done => taken.once('listening', done))
    const { port } = taken.address() as { port: number }
    const inUse = await svc(['serve', '-p', String(port)], { cwd: dir.path })
    taken.close()
    expect(inUse).toMatchObject({ code: 1, stdout: '' })
    expect(inUse.stderr).toContain(`svc: The port ${port} is in use`)
    const wide = await svc(['serve', '--host', '0.0.0.0', '--port', '0'], { cwd: dir.path })
    expect(wide).toMatchObject({ code: 1, stdout: '' })
    expect(wide.stderr).toContain('server.api_key')
  })

  it('is back at its address when its daemon is restarted, with the requested heartbeat', async () => {
    await using dir = await project(FAST)
    const cwd = dir.path
    await using server = new RunningSvc(['serve', '--with-daemon', '--port', '0', '-b', '0.7'], { cwd })
    const [, url, port] = await server.waitForOutput(URL_LINE)
    await server.waitForOutput(/^Daemon: +PID \d+, a heartbeat every 0.7 s/m)
    const daemon = () => fetch(`${url}/daemon`).then(answer => answer.json())
    const refused = await svc(['restart', '--heartbeat', 'soon'], { cwd })
    expect(refused.code).toBe(2)
    expect(await daemon()).toMatchObject({ running: true, pid: server.pid })

    await using again = new RunningSvc(['restart', '--heartbeat', '0.5'], { cwd })
    await again.waitForOutput(new RegExp(`^Dashboard: +http://127.0.0.1:${port}/$`, 'm'))
    expect(await server.ended).toBe(0)
    await again.waitForOutput(/^Daemon: +PID/m)
    expect(await daemon()).toMatchObject({ running: true, pid: again.pid, heartbeat_s: 0.5 })

    const left = await svc(['restart', '--detach', '--json'], { cwd })
    expect(left.code).toBe(0)
    try {
      expect(left.stdout).toContain(`"url":"${url}"`)
      expect(await daemon()).toMatchObject({ running: true })
    } finally {
      await svc(['stop'], { cwd })
    }
  })

  it('keeps running when it could not listen again: the restarting process lacks the key in its environment', async () => {
    await using dir = await project(FAST)
    const cwd = dir.path
    const wide = ['serve', '--with-daemon', '--host', '0.0.0.0', '--port', '0']
    await using server = new RunningSvc(wide, { cwd, env: { SVC_API_KEY: 'a-key-of-its-own' } })
    await server.waitForOutput(/^Daemon: +PID/m)
    const refused = await svc(['restart', '--detach'], { cwd })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('SVC_API_KEY')
    const { stdout } = await svc(['daemon', '--json'], { cwd })
    expect(JSON.parse(stdout)).toMatchObject({ running: true, pid: server.pid })
  })

  it.each([
    ['a port in use', ({ port }: { port: string }) => ['--port', port], 'is in use'],
    ['a host that others can reach', () => ['--port', '0', '--host', '0.0.0.0'], 'server.api_key'],
    ['a preset that is not there', () => ['--port', '0', '--profiles', 'nobody'], 'no profile "nobody"'],
  ])('refuses %s before the first heartbeat of its daemon, without a model call', async (_, words, why) => {
    await using dir = await project(FAST)
    await using model = await modelServer()
    const { port } = new URL(model.url)
    const env = { OPENAI_BASE_URL: model.url, SVC_DEFAULT_MODEL: 'openai:a-model' }
    expect((await svc(['spawn', 'coder'], { cwd: dir.path, env })).code).toBe(0)
    const refused = await svc(['serve', '--with-daemon', ...words({ port })], { cwd: dir.path, env })
    expect(refused).toMatchObject({ code: 1, stdout: '' })
    expect(refused.stderr).toContain(why)
    expect(refused.stderr).not.toContain('the daemon runs')
    expect(model.requests).toHaveLength(0)
  })
})
