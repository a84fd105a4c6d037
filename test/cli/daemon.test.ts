import { spawn } from 'node:child_process'
import { access, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { RunningSvc, svc } from '../support/cli.ts'
import { tempDir } from '../support/temp.ts'
import { until } from '../support/until.ts'
import { FAST, project } from './project.ts'

const UP = /^Logs: /m

describe('one daemon for a project', () => {
  it('runs until SIGTERM, leaves nothing behind, and exits with 0 within 2 s', async () => {
    await using dir = await project(FAST)
    await using daemon = new RunningSvc(['start', '-p', 'coder,writer'], { cwd: dir.path })
    await daemon.says(UP)
    expect(await readFile(join(dir.path, '.svc/daemon.pid'), 'utf8')).toBe(`${daemon.pid}\n`)
    expect(((await stat(join(dir.path, '.svc/daemon.pid'))).mode & 0o777).toString(8)).toBe('600')
    expect(((await stat(join(dir.path, '.svc/daemon.sock'))).mode & 0o777).toString(8)).toBe('600')
    const began = performance.now()
    expect(await daemon.end('SIGTERM')).toBe(0)
    expect(performance.now() - began).toBeLessThan(2_000)
    expect((await readdir(join(dir.path, '.svc'))).filter(name => name.startsWith('daemon'))).toEqual([])
    const status = JSON.parse((await svc(['daemon', '--json'], { cwd: dir.path })).stdout)
    expect(status).toMatchObject({ running: false, health: 'stopped', pid: null })
  })

  it('spawns a preset once, however often it is named or started', async () => {
    await using dir = await project(FAST)
    for (let round = 0; round < 2; round++) {
      await using daemon = new RunningSvc(['start', '-p', 'coder,coder'], { cwd: dir.path })
      await daemon.says(UP)
      await daemon.end('SIGTERM')
    }
    const agents = JSON.parse((await svc(['status', '--json'], { cwd: dir.path })).stdout) as { name: string }[]
    expect(agents.map(agent => agent.name)).toEqual(['coder'])
  })

  it('a second one is refused by the PID of the first, whichever way either was started', async () => {
    await using dir = await project(FAST)
    const serve = ['serve', '--with-daemon', '--port', '0']
    for (const [first, second] of [
      [['start'], ['start']],
      [['start'], serve],
      [serve, ['start']],
      [serve, serve],
    ] as const) {
      await using daemon = new RunningSvc(first, { cwd: dir.path })
      await daemon.says(UP)
      const refused = await svc(second, { cwd: dir.path })
      expect(refused).toMatchObject({ code: 1, stdout: '' })
      expect(refused.stderr).toContain(`svc: A daemon already runs for this project, with PID ${daemon.pid};`)
      expect(await daemon.end('SIGTERM')).toBe(0)
    }
  }, 60_000)

  it('of many that start at once, one wins', async () => {
    await using dir = await project(FAST)
    const starters = Array.from({ length: 6 }, () => new RunningSvc(['start'], { cwd: dir.path }))
    const outcomes = await Promise.all(
      starters.map(each =>
        each.says(UP).then(
          () => 'runs',
          () => each.ended,
        ),
      ),
    )
    expect(outcomes.filter(outcome => outcome === 'runs')).toHaveLength(1)
    expect(outcomes.filter(outcome => outcome === 1)).toHaveLength(5)
    for (const each of starters) await each[Symbol.asyncDispose]()
  })

  it('what one that was killed left behind keeps nobody from starting', async () => {
    await using dir = await project(FAST)
    for (let round = 0; round < 3; round++) {
      await using daemon = new RunningSvc(['start', '-p', 'coder'], { cwd: dir.path })
      await daemon.says(UP)
      await daemon.end('SIGKILL')
      const status = JSON.parse((await svc(['daemon', '--json'], { cwd: dir.path })).stdout)
      expect(status).toMatchObject({ running: false, health: 'dead' })
    }
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.says(UP)
    expect((await readdir(join(dir.path, '.svc'))).filter(name => name.endsWith('.lock'))).toHaveLength(1)
  })

  it('in a folder whose path is too long for sockets it works the same', async () => {
    await using dir = await tempDir()
    const cwd = join(dir.path, 'a'.repeat(60), 'b'.repeat(60))
    await mkdir(cwd, { recursive: true })
    await svc(['init', '--quiet'], { cwd })
    await using daemon = new RunningSvc(['start'], { cwd, env: { XDG_RUNTIME_DIR: dir.path } })
    await daemon.says(UP)
    expect(JSON.parse((await svc(['daemon', '--json'], { cwd })).stdout)).toMatchObject({ pid: daemon.pid })
    expect((await svc(['start'], { cwd })).stderr).toContain(`PID ${daemon.pid}`)
    expect(await daemon.end('SIGTERM')).toBe(0)
    expect((await readdir(dir.path)).filter(name => name.startsWith('svc-'))).toEqual([])
  })

  it('whatever lies in the place of the PID file is no lock', async () => {
    await using dir = await project(FAST)
    const file = join(dir.path, '.svc/daemon.pid')
    const places = [
      () => writeFile(file, ''),
      () => writeFile(file, 'not a pid\n'),
      () => writeFile(file, `${process.pid}\n`),
      () => symlink('/etc/passwd', file),
      () => mkdir(file),
    ]
    for (const put of places) {
      await put()
      await using daemon = new RunningSvc(['start'], { cwd: dir.path })
      await daemon.says(UP)
      expect(await daemon.end('SIGTERM')).toBe(0)
      await rm(file, { recursive: true, force: true })
    }
    await access('/etc/passwd')
  })
})

describe('svc stop', () => {
  it('ends the daemon; when none runs that is said, and no error', async () => {
    await using dir = await project(FAST)
    const none = await svc(['stop'], { cwd: dir.path })
    expect(none).toEqual({ code: 0, stdout: 'The daemon is not running.\n', stderr: '' })
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.says(UP)
    const stopped = await svc(['stop'], { cwd: dir.path })
    expect(stopped).toEqual({ code: 0, stdout: `The daemon (PID ${daemon.pid}) has stopped.\n`, stderr: '' })
    expect(await daemon.ended).toBe(0)
  })

  it('needs no valid configuration', async () => {
    await using dir = await project(FAST)
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.says(UP)
    await dir.write({ '.svc/config.yaml': 'daemon: [\n' })
    expect((await svc(['stop'], { cwd: dir.path })).code).toBe(0)
    expect(await daemon.ended).toBe(0)
  })

  it('never signals a process that is not the daemon', async () => {
    await using dir = await project(FAST)
    const stranger = spawn('sleep', ['60'])
    try {
      await writeFile(join(dir.path, '.svc/daemon.pid'), `${stranger.pid}\n`)
      expect((await svc(['stop'], { cwd: dir.path })).code).toBe(0)
      // A daemon lives, but its description names the stranger's PID, as if the PID had been used again.
      await using daemon = new RunningSvc(['start'], { cwd: dir.path })
      await daemon.says(UP)
      const file = join(dir.path, '.svc/daemon.json')
      const holder = JSON.parse(await readFile(file, 'utf8')) as object
      await writeFile(file, JSON.stringify({ ...holder, pid: stranger.pid }))
      const refused = await svc(['stop'], { cwd: dir.path })
      expect(refused.code).toBe(1)
      expect(refused.stderr).toContain('nothing was signalled')
      expect(stranger.exitCode ?? stranger.signalCode).toBeNull()
      expect(daemon.process.exitCode).toBeNull()
    } finally {
      stranger.kill()
    }
  })

  it('kills one that does not end in time', async () => {
    await using dir = await project(FAST)
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.says(UP)
    daemon.process.kill('SIGSTOP')
    const { code, stdout } = await svc(['stop', '--timeout', '0.2'], { cwd: dir.path })
    expect(code).toBe(0)
    expect(stdout).toContain('was killed')
    expect(await daemon.ended).toBeNull()
  })
})

describe('signals', () => {
  it('SIGHUP ends nothing, SIGINT ends in order', async () => {
    await using dir = await project(FAST)
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.says(UP)
    daemon.process.kill('SIGHUP')
    expect((await svc(['daemon', '--json'], { cwd: dir.path })).stdout).toContain('"running": true')
    expect(await daemon.end('SIGINT')).toBe(0)
  })

  it('a second signal ends at once', async () => {
    // A plugin that never lets go, so that only the second signal can be what ends the process.
    const plugin = `import { definePlugin } from 'svc'
      export default definePlugin({ name: 'clinging', setup(svc) { svc.start(() => () => new Promise(() => {})) } })`
    await using dir = await project({ ...FAST, 'plugins/clinging.ts': plugin })
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.says(UP)
    daemon.process.kill('SIGTERM')
    await daemon.says(/SIGTERM: stopping/)
    expect(await daemon.end('SIGTERM')).toBe(143)
  })

  it('an error that nobody caught is named with its place, and ends nothing', async () => {
    const plugin = `import { definePlugin } from 'svc'
      export default definePlugin({ name: 'careless', setup(svc) {
        svc.start(() => { setTimeout(() => { throw new Error('thrown late') }, 10); Promise.reject(new Error('rejected late')) })
      } })`
    await using dir = await project({ ...FAST, 'plugins/careless.ts': plugin })
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.says(UP)
    await daemon.says(/thrown late.*careless\.ts:3/)
    await daemon.says(/rejected late.*careless\.ts:3/)
    expect(await daemon.end('SIGTERM')).toBe(0)
  })
})

describe('leaving the terminal', () => {
  it('--detach returns when the daemon is up; restart takes its place; the log has whole lines of JSON', async () => {
    await using dir = await project(FAST)
    const pid = async () => Number(await readFile(join(dir.path, '.svc/daemon.pid'), 'utf8'))
    const started = await svc(['start', '--detach', '-p', 'coder'], { cwd: dir.path })
    try {
      expect(started).toMatchObject({ code: 0, stderr: '' })
      const first = await pid()
      expect(started.stdout).toContain(`PID ${first}`)
      expect(JSON.parse((await svc(['daemon', '--json'], { cwd: dir.path })).stdout)).toMatchObject({ pid: first })
      expect((await svc(['restart', '--detach'], { cwd: dir.path })).code).toBe(0)
      expect(await pid()).not.toBe(first)
    } finally {
      await svc(['stop'], { cwd: dir.path })
    }
    const log = await readFile(join(dir.path, 'logs/svc.log'), 'utf8')
    expect(
      log
        .trimEnd()
        .split('\n')
        .map(line => typeof JSON.parse(line).msg),
    ).toContain('string')
  })

  it('one that fails says why, and not only in its log', async () => {
    await using dir = await project(FAST)
    const failed = await svc(['start', '--detach', '-p', 'nobody'], { cwd: dir.path })
    expect(failed).toMatchObject({ code: 1, stdout: '' })
    expect(failed.stderr).toMatch(/^svc: There is no profile "nobody"; there are: /)
    expect((await svc(['stop'], { cwd: dir.path })).stdout).toBe('The daemon is not running.\n')
  })
})

describe('what is written before the start', () => {
  it('--heartbeat goes into the configuration, and nothing else does', async () => {
    await using dir = await project({ '.svc/config.yaml': '# mine\nserver:\n  request_timeout: 5\n' })
    const env = { SVC_API_KEY: 'a-secret-from-the-environment' }
    await using daemon = new RunningSvc(['start', '--heartbeat', '0.5'], { cwd: dir.path, env })
    await daemon.says(/a heartbeat every 0\.5 s/)
    expect(await readFile(join(dir.path, '.svc/config.yaml'), 'utf8')).toBe(
      '# mine\nserver:\n  request_timeout: 5\ndaemon:\n  heartbeat: 0.5\n',
    )
  })
})

describe('agents live while it runs', () => {
  it('they generate goals and complete them, and the log tells of it', async () => {
    await using dir = await project(FAST)
    await using daemon = new RunningSvc(['start', '-p', 'coder,writer'], { cwd: dir.path })
    await daemon.says(/Model: +sim\/rules-1 \(simulated, not an AI model\)\. Set OPENAI_API_KEY or OPENAI_BASE_URL/)
    await daemon.says(/new goal: /)
    await daemon.says(/completed goal-/)
    await until(async () => {
      const goals = await svc(['history', 'coder', '--json'], { cwd: dir.path })
      return goals.code === 0 && goals.stdout.includes('completed')
    })
    expect(await daemon.end('SIGTERM')).toBe(0)
  })
})
