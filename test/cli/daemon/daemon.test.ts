import { spawn } from 'node:child_process'
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { DoctorReport } from '#interfaces/doctor/contract'
import { RunningSvc } from '../../support/cli.ts'
import { fault, modelServer } from '../../support/model/model-server.ts'
import { tempDir } from '../../support/temp.ts'
import { until } from '../../support/until.ts'
import { svc } from '../../support/vitest/warm.ts'
import { FAST, project } from '../project.ts'

const UP = /^Logs: /m
/** Plugin that throws and rejects after it is live, where nothing catches the error. */
const CARELESS = `import { definePlugin } from 'svc'
  export default definePlugin({ name: 'careless', setup(svc) {
    svc.start(() => { setTimeout(() => { throw new Error('thrown late\\x9b2J\\u202e') }, 10); Promise.reject(new Error('rejected late')) })
  } })`
/** Plugin that never finishes stopping, so that only a second signal ends its process. */
const CLINGING = `import { definePlugin } from 'svc'
  export default definePlugin({ name: 'clinging', setup(svc) { svc.start(() => () => new Promise(() => {})) } })`

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8)
const daemonIn = async (cwd: string) =>
  JSON.parse((await svc(['daemon', '--json'], { cwd })).stdout) as Record<string, unknown>
const leftIn = async (cwd: string) => (await readdir(join(cwd, '.svc'))).filter(name => name.startsWith('daemon'))
/** Parses lines of JSON, each an event in the life of a process. */
const lifeOf = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { event: string; pid: number } & Record<string, unknown>)

describe('the daemon of a project', () => {
  it('keeps its agents working despite a careless plugin and a hangup, refuses a second daemon, and cleans up', async () => {
    const config = '# mine\nmodel:\n  sim_delay: 0\n'
    await using dir = await project({ '.svc/config.yaml': config, 'plugins/careless.ts': CARELESS })
    const cwd = dir.path
    const env = { SVC_API_KEY: 'a-secret-from-the-environment' }
    await using daemon = new RunningSvc(['start', '-p', 'coder,coder', '--heartbeat', '0.2'], { cwd, env })
    await daemon.waitForOutput(/a heartbeat every 0\.2 s/)
    await daemon.waitForOutput(
      /Model: +sim\/rules-1 \(simulated, not an AI model\); to use a real model, set OPENAI_API_KEY or OPENAI_BASE_URL/,
    )
    expect(await readFile(join(cwd, '.svc/config.yaml'), 'utf8')).toBe(`${config}daemon:\n  heartbeat: 0.2\n`)
    expect(await readFile(join(cwd, '.svc/daemon.pid'), 'utf8')).toBe(`${daemon.pid}\n`)
    for (const name of ['daemon.pid', 'daemon.sock']) expect(await modeOf(join(cwd, '.svc', name))).toBe('600')

    await daemon.waitForOutput(/thrown late.*careless\.ts:3/)
    await daemon.waitForOutput(/rejected late.*careless\.ts:3/)
    expect(daemon.stderr).not.toMatch(/(?!\n)[\p{Cc}\p{Cf}]/u)
    daemon.process.kill('SIGHUP')
    await daemon.waitForOutput(/new goal: /)
    await daemon.waitForOutput(/completed goal-/)
    expect(await daemonIn(cwd)).toMatchObject({ running: true, health: 'healthy', pid: daemon.pid })
    const agents = JSON.parse((await svc(['status', '--json'], { cwd })).stdout) as { name: string }[]
    expect(agents.map(agent => agent.name)).toEqual(['coder'])

    for (const second of [['start'], ['serve', '--with-daemon', '--port', '0']]) {
      const refused = await svc(second, { cwd })
      expect(refused).toMatchObject({ code: 1, stdout: '' })
      expect(refused.stderr).toContain(`svc: A daemon already runs for this project, with PID ${daemon.pid};`)
    }

    // `svc stop` works with a broken configuration.
    await dir.write({ '.svc/config.yaml': 'daemon: [\n' })
    const stopped = await svc(['stop'], { cwd })
    expect(stopped).toEqual({ code: 0, stdout: `The daemon (PID ${daemon.pid}) has stopped.\n`, stderr: '' })
    expect(await daemon.ended).toBe(0)
    expect(await leftIn(cwd)).toEqual([])
    await dir.write(FAST)
    expect(await daemonIn(cwd)).toMatchObject({ running: false, health: 'stopped', pid: null })
  })

  it('serves too, reports its lifecycle as JSON, and works where the path is too long for a socket', async () => {
    await using dir = await tempDir()
    const cwd = join(dir.path, 'a'.repeat(60), 'b'.repeat(60))
    await mkdir(join(cwd, '.svc'), { recursive: true })
    await writeFile(join(cwd, '.svc/config.yaml'), FAST['.svc/config.yaml'])
    const words = ['serve', '--with-daemon', '--port', '0', '--profiles', 'coder,writer', '--json']
    await using daemon = new RunningSvc(words, { cwd, env: { XDG_RUNTIME_DIR: dir.path } })
    await daemon.waitForOutput(/"ready"/)
    const [listening, ready] = lifeOf(daemon.stdout)
    expect(listening).toMatchObject({ event: 'listening', pid: daemon.pid })
    const url = String(listening!.url)
    expect(ready).toMatchObject({ event: 'ready', daemon: true, url, root: cwd, heartbeat_s: 0.2 })
    expect(ready!.agents).toEqual([expect.stringMatching(/^coder-/), expect.stringMatching(/^writer-/)])
    expect(await fetch(`${url}/daemon`).then(answer => answer.json())).toMatchObject({ running: true })
    expect(((await fetch(`${url}/agents`).then(answer => answer.json())) as unknown[]).length).toBe(2)
    expect(await daemonIn(cwd)).toMatchObject({ pid: daemon.pid })
    expect((await svc(['start'], { cwd })).stderr).toContain(`PID ${daemon.pid}`)
    expect(await daemon.end('SIGINT')).toBe(0)
    expect(lifeOf(daemon.stdout).slice(2)).toMatchObject([
      { event: 'stopping', reason: 'SIGINT' },
      { event: 'stopped', exit: 0 },
    ])
    expect((await readdir(dir.path)).filter(name => name.startsWith('svc-'))).toEqual([])
  })

  it('can be controlled as before while the configuration is invalid', async () => {
    await using dir = await project(FAST)
    const cwd = dir.path
    await using daemon = new RunningSvc(['start', '-p', 'coder'], { cwd })
    await daemon.waitForOutput(UP)
    await dir.write({ '.svc/config.yaml': 'daemon:\n  heartbeat: soon\n' })
    const paused = await svc(['daemon', 'pause'], { cwd })
    expect(paused).toMatchObject({ code: 0, stdout: expect.stringMatching(/^status +paused/) })
    expect(paused.stderr).toContain(
      'svc: warning: The configuration is not valid: .svc/config.yaml:2: daemon.heartbeat',
    )
    expect(await daemonIn(cwd)).toMatchObject({ pid: daemon.pid, frozen: true })
    // Reading the status does not open the project.
    expect(await svc(['status'], { cwd })).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringMatching(/coder-/),
    })
  })

  it('is shown as frozen by svc status, whether it runs or not', async () => {
    await using dir = await project(FAST)
    const cwd = dir.path
    await using daemon = new RunningSvc(['start', '-p', 'coder'], { cwd })
    await daemon.waitForOutput(UP)
    const status = async (...words: string[]) => (await svc(['status', ...words], { cwd })).stdout
    expect(await status()).not.toContain('frozen')
    await svc(['daemon', 'pause'], { cwd })
    const said = /^The daemon has been frozen since \S+Z: no agent works\. Resume it with: svc daemon resume\n.*coder-/
    expect(await status()).toMatch(said)
    expect(JSON.parse(await status('--json'))).toMatchObject([{ frozen_since: expect.stringMatching(/Z$/) }])
    await daemon.end('SIGTERM')
    expect(await status()).toMatch(said)
    await svc(['daemon', 'resume'], { cwd })
    expect(await status()).not.toContain('frozen')
  })

  it('is shown as frozen by svc status in a project without agents, whether it runs or not', async () => {
    await using dir = await project(FAST)
    const cwd = dir.path
    await using daemon = new RunningSvc(['start'], { cwd })
    await daemon.waitForOutput(UP)
    await svc(['daemon', 'pause'], { cwd })
    const status = async () => (await svc(['status'], { cwd })).stdout
    const said = /^The daemon has been frozen since \S+Z: no agent works.*\nThere are no agents/
    expect(await status()).toMatch(said)
    await daemon.end('SIGTERM')
    expect(await status()).toMatch(said)
    await svc(['daemon', 'resume'], { cwd })
    expect(await status()).not.toContain('frozen')
  })

  it('warns when the environment overrides the heartbeat that it is started with', async () => {
    await using dir = await project()
    const env = { SVC_HEARTBEAT: '0.3' }
    await using daemon = new RunningSvc(['start', '--heartbeat', '0.5'], { cwd: dir.path, env })
    await daemon.waitForOutput(
      /warning: daemon\.heartbeat is 0\.5 in the file, but the environment variable SVC_HEARTBEAT overrides it/,
    )
    await daemon.waitForOutput(/a heartbeat every 0\.3 s/)
    expect(await readFile(join(dir.path, '.svc/config.yaml'), 'utf8')).toBe('daemon:\n  heartbeat: 0.5\n')
  })

  it('runs in one of several processes that start at once, and the others exit with 1', async () => {
    await using dir = await project(FAST)
    const starters = Array.from({ length: 3 }, () => new RunningSvc(['start'], { cwd: dir.path }))
    const outcomes = await Promise.all(
      starters.map(each =>
        each.waitForOutput(UP).then(
          () => 'runs',
          () => each.ended,
        ),
      ),
    )
    expect(outcomes.sort()).toEqual([1, 1, 'runs'])
    for (const each of starters) await each[Symbol.asyncDispose]()
  })
})

describe('a daemon that is killed, stalls or stops', () => {
  it('has its agents shown as idle as soon as it is killed', async () => {
    await using dir = await project(FAST)
    await using model = await modelServer({ script: () => fault('hang') })
    const options = {
      cwd: dir.path,
      env: { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' },
    }
    const statuses = async () => {
      const agents = JSON.parse((await svc(['status', '--json'], options)).stdout) as { status: string }[]
      return agents.map(({ status }) => status)
    }
    await using daemon = new RunningSvc(['start', '-p', 'coder'], options)
    await until(() => model.requests.length > 0)
    expect(await statuses()).toEqual(['working'])
    expect((await svc(['status'], options)).stdout).toMatch(/^● coder-/)
    await daemon.end('SIGKILL')
    expect(await statuses()).toEqual(['idle'])
    expect((await svc(['status'], options)).stdout).toMatch(
      /^No daemon is running\. Start it with: svc start\n○ coder-/,
    )
    const { checks } = JSON.parse((await svc(['doctor', '--json'], options)).stdout) as { checks: DoctorReport[] }
    expect(checks.find(({ name }) => name === 'waiting_agents')).toMatchObject({
      level: 'warn',
      message: expect.stringMatching(/^coder-\w+: No daemon is running\. Start it with: svc start$/),
    })
    expect(await daemonIn(dir.path)).toMatchObject({ health: 'dead', in_flight: 0 })
    expect((await svc(['why', 'coder'], options)).stdout).toMatch(
      /\(idle\): No daemon is running\. Start it with: svc start/,
    )
  })

  it('prevents no new start when killed; svc stop signals no other process, and kills a daemon that does not stop', async () => {
    await using dir = await project(FAST)
    const cwd = dir.path
    const stranger = spawn('sleep', ['60'])
    try {
      await using first = new RunningSvc(['start'], { cwd })
      await first.waitForOutput(UP)
      await first.end('SIGKILL')
      expect(await daemonIn(cwd)).toMatchObject({ running: false, health: 'dead' })
      await writeFile(join(cwd, '.svc/daemon.pid'), `${stranger.pid}\n`)
      expect(await svc(['stop', '--json'], { cwd })).toMatchObject({ code: 0, stdout: '{\n  "stopped": []\n}\n' })

      await using second = new RunningSvc(['start'], { cwd })
      await second.waitForOutput(UP)
      // Puts the stranger's PID into the daemon's file, as if its PID had been reused.
      const file = join(cwd, '.svc/daemon.json')
      const holder = await readFile(file, 'utf8')
      await writeFile(file, JSON.stringify({ ...(JSON.parse(holder) as object), pid: stranger.pid }))
      const refused = await svc(['stop'], { cwd })
      expect(refused.code).toBe(1)
      expect(refused.stderr).toContain('so no signal was sent')
      expect(stranger.exitCode ?? stranger.signalCode).toBeNull()
      expect(second.process.exitCode).toBeNull()

      await writeFile(file, holder)
      second.process.kill('SIGSTOP')
      const { code, stdout } = await svc(['stop', '--timeout', '0.2'], { cwd })
      expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('was killed') })
      expect(await second.ended).toBeNull()
      expect(await svc(['stop'], { cwd })).toEqual({ code: 0, stdout: 'The daemon is not running.\n', stderr: '' })
    } finally {
      stranger.kill()
    }
  })

  it('is shown as stalled while it does not answer, and commands that need it fail with the reason', async () => {
    await using dir = await project(FAST)
    const { path: cwd } = dir
    await using daemon = new RunningSvc(['start'], { cwd })
    await daemon.waitForOutput(UP)
    daemon.process.kill('SIGSTOP')
    await using reload = new RunningSvc(['plugins', 'reload'], { cwd })
    const asked = await svc(['daemon'], { cwd })
    expect(asked).toMatchObject({ code: 1, stdout: expect.stringMatching(/^daemon +stalled \(PID/) })
    expect(await reload.ended).toBe(1)
    expect(reload.stderr).toContain('its event loop has been blocked for 10 s')
    daemon.process.kill('SIGCONT')
    await until(async () => (await daemonIn(cwd)).health === 'healthy')
    expect(await daemon.end('SIGTERM')).toBe(0)
  })

  it('ends followers of its events without an error, and fails commands that wait for a task', async () => {
    await using dir = await project(FAST)
    await using model = await modelServer({ script: () => fault('hang') })
    const env = { OPENAI_BASE_URL: model.url, SVC_DEFAULT_MODEL: 'openai:a-model' }
    await using daemon = new RunningSvc(['start'], { cwd: dir.path, env })
    await daemon.waitForOutput(UP)
    await svc(['spawn', 'coder'], { cwd: dir.path, env })
    await using follower = new RunningSvc(['events', '--follow', '--json'], { cwd: dir.path })
    await follower.waitForOutput(/"agent_spawned"/)
    await using waiter = new RunningSvc(['run', 'coder', 'wait for the tide'], { cwd: dir.path })
    await until(() => model.requests.some(({ prompt }) => prompt.includes('wait for the tide')))
    expect(await daemon.end('SIGTERM')).toBe(0)
    expect(await follower.ended).toBe(0)
    expect(follower.stderr).toMatch(/^svc: The server is being stopped/m)
    expect(await waiter.ended).toBe(1)
  })

  it('ends at once on a second signal', async () => {
    await using dir = await project({ ...FAST, 'plugins/clinging.ts': CLINGING })
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.waitForOutput(UP)
    daemon.process.kill('SIGTERM')
    await daemon.waitForOutput(/SIGTERM: stopping/)
    expect(await daemon.end('SIGTERM')).toBe(143)
  })
})

describe('svc start --detach and svc restart', () => {
  it('return once the daemon is up, or say why it failed and keep the old one; every log line is JSON', async () => {
    await using dir = await project(FAST)
    const cwd = dir.path
    const pid = async () => Number(await readFile(join(cwd, '.svc/daemon.pid'), 'utf8'))
    const failed = await svc(['start', '--detach', '-p', 'nobody'], { cwd })
    expect(failed).toMatchObject({ code: 1, stdout: '' })
    expect(failed.stderr).toMatch(/^svc: There is no profile "nobody"; there are: /)
    const port = await svc(['start', '-p', '8080'], { cwd })
    expect([port.code, port.stderr]).toEqual([2, expect.stringContaining('for a port, use svc serve --port 8080\n')])
    const noModels = { code: 2, stdout: '', stderr: expect.stringMatching(/^svc: \S+models\.yaml:1: prices: /) }
    await dir.write({ 'models.yaml': 'prices: none\n' })
    expect(await svc(['start', '--detach'], { cwd })).toMatchObject(noModels)
    await dir.write({ 'models.yaml': '' })
    await until(async () => (await leftIn(cwd)).length === 0)
    expect(await readFile(join(cwd, 'logs/svc.log'), 'utf8')).not.toContain('the daemon runs')
    try {
      const started = await svc(['start', '--detach', '-p', 'coder'], { cwd })
      expect(started).toMatchObject({ code: 0, stderr: '' })
      const first = await pid()
      expect(started.stdout).toContain(`PID ${first}`)
      expect(await daemonIn(cwd)).toMatchObject({ pid: first })
      const refused = await svc(['restart', '--detach', '-p', 'nobody'], { cwd })
      expect(refused).toMatchObject({ code: 1, stdout: '' })
      expect(refused.stderr).toMatch(/^svc: There is no profile "nobody"; there are: /)
      await dir.write({ '.svc/config.yaml': 'daemon:\n  heartbeat: soon\n' })
      expect(await svc(['restart', '--detach'], { cwd })).toMatchObject({ code: 2, stdout: '' })
      await dir.write({ ...FAST, 'models.yaml': 'prices: none\n' })
      expect(await svc(['restart', '--detach'], { cwd })).toMatchObject(noModels)
      expect(await pid()).toBe(first)
      await dir.write({ 'models.yaml': '' })
      // Detaches without the option, like the daemon that it replaces.
      const restarted = await svc(['restart', '--json'], { cwd })
      expect(restarted.code).toBe(0)
      const second = await pid()
      expect(lifeOf(restarted.stdout)).toMatchObject([
        { event: 'stopped', pid: first, killed: false },
        { event: 'ready', pid: second, daemon: true },
      ])
      expect(second).not.toBe(first)
    } finally {
      await svc(['stop'], { cwd })
    }
    const log = await readFile(join(cwd, 'logs/svc.log'), 'utf8')
    for (const line of log.trimEnd().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg')
  })
})
