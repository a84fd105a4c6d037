import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { RunningSvc, svc, until } from '../support/index.ts'
import { daemonOf, guardedProject, isAlive, plugin, pluginsOf, SPIN } from './guarded.ts'

/** Returns code that blocks the process the first time only. */
const spinOnce = (spin: string) => `svc.start(async () => {
  const file = svc.project.root + '/' + svc.name + '.spun'
  const spun = await svc.ports.files.access(file).then(() => true, () => false)
  await svc.ports.files.writeFile(file, '')
  if (!spun) ${spin}
})`

describe('an endless loop of a plugin', () => {
  it('is named, and the process restarts without the plugin, wherever in the plugin the loop is', async () => {
    const loops: Record<string, { text: string; what: string; line?: number }> = {
      loading: { text: plugin('loading', '', SPIN), what: 'in "loading"', line: 2 },
      setup: { text: plugin('setup', SPIN), what: 'in "setup"', line: 4 },
      start: { text: plugin('start', `svc.start(() => { ${SPIN} })`), what: 'in "start"', line: 4 },
      guard: {
        text: plugin('guard', `svc.guard('goal_pursuit', { shouldProceed() {\n${SPIN} } })`),
        what: 'in "guard of goal_pursuit"',
        line: 5,
      },
      // After an await, only the stack shows whose code it is.
      handler: {
        text: plugin('handler', `svc.on('cycle_end', async () => {\nawait null\n${SPIN} })`),
        what: '',
        line: 6,
      },
      regex: {
        text: plugin('regex', `svc.on('cycle_end', () => void /^(a+)+$/.test('a'.repeat(60) + 'b'))`),
        what: 'in "on cycle_end"',
        line: 4,
      },
      // Inside the system's own code, only the hook that was entered shows whose code it is.
      system: {
        text: plugin(
          'system',
          `svc.on('cycle_end', () => execSync('sleep 10'))`,
          `import { execSync } from 'node:child_process'`,
        ),
        what: 'in "on cycle_end"',
      },
    }
    const texts = Object.fromEntries(Object.entries(loops).map(([name, { text }]) => [name, text]))
    const dir = await guardedProject(1.5, { ...texts, calm: plugin('calm', `svc.on('cycle_end', () => {})`) })
    await using daemon = new RunningSvc(['start', '-p', 'coder'], { cwd: dir.path })
    for (let restarts = 1; restarts <= Object.keys(loops).length; restarts++) {
      await daemon.waitForOutput(new RegExp(`(a new one replaces it[\\s\\S]*?){${restarts}}`))
    }
    // Each has blocked the process once: agents go on, in one daemon.
    await daemon.waitForOutput(/(a new one replaces it[\s\S]*?){7}completed goal-/)
    expect(daemon.stderr.match(/a new one replaces it/g)).toHaveLength(7)
    expect(isAlive(daemon.pid)).toBe(true)
    expect(isAlive(await daemonOf(dir))).toBe(true)
    expect(daemon.stderr.match(/the daemon runs with PID/g)!.length).toBeLessThanOrEqual(8)
    const plugins = await pluginsOf(dir)
    expect(plugins.calm).toMatchObject({ state: 'live', error: null })
    const log = await readFile(join(dir.path, 'logs/svc.log'), 'utf8')
    for (const [name, { what, line }] of Object.entries(loops)) {
      const file = join(dir.path, `plugins/${name}.ts`)
      const place = line ? `${file}:${line}` : file
      const named = daemon.stderr
        .split('\n')
        .filter(each => each.includes(`plugin \\"${name}\\" blocked the whole process`))
      expect(named, name).toHaveLength(1)
      expect(log).toContain(named[0])
      const { msg } = JSON.parse(named[0]!) as { msg: string }
      expect(msg).toContain(what)
      expect(msg).toMatch(new RegExp(`, at ${place}$`))
      const { state, error } = plugins[name]!
      expect(state).toBe('failed')
      expect(error).toContain('has been quarantined since ')
      expect(error).toContain(place)
      expect(error).toContain(`svc plugins reload ${name}`)
    }
    const { mode } = await stat(join(dir.path, '.svc/quarantine.json'))
    expect((mode & 0o777).toString(8)).toBe('600')
  })

  it('in an operation is named, and the server restarts without the plugin', async () => {
    const operation = `svc.operation({ name: 'spin', summary: 'Spins', input: z.object({}), output: z.object({}),
      http: { method: 'POST', path: '/spin' }, run() { ${SPIN} } })`
    const dir = await guardedProject(2, { looping: plugin('looping', operation) })
    await using server = new RunningSvc(['serve', '--with-daemon', '--port', '0'], { cwd: dir.path })
    const [, url] = await server.waitForOutput(/(http:\/\/127\.0\.0\.1:\d+)/)
    const headers = { 'content-type': 'application/json' }
    await expect(fetch(`${url}/spin`, { method: 'POST', headers, body: '{}' })).rejects.toThrow()
    await server.waitForOutput(/plugin \\"looping\\" blocked the whole process for 2 s, in \\"operation spin\\"/)
    await server.waitForOutput(/(Dashboard: [\s\S]*){2}Logs: /)
    expect((await pluginsOf(dir)).looping?.state).toBe('failed')
    const all = [...server.stdout.matchAll(/(http:\/\/127\.0\.0\.1:\d+)\/$/gm)]
    expect((await fetch(`${all.at(-1)![1]}/spin`, { method: 'POST', headers, body: '{}' })).status).toBe(404)
  })

  it('is quarantined after --detach too, and the log has whole lines of JSON', async () => {
    const dir = await guardedProject(1.5, { looping: plugin('looping', `svc.on('cycle_end', () => { ${SPIN} })`) })
    expect((await svc(['start', '--detach', '-p', 'coder'], { cwd: dir.path })).code).toBe(0)
    const log = () => readFile(join(dir.path, 'logs/svc.log'), 'utf8')
    await until(async () => /has been quarantined[\s\S]*completed goal-/.test(await log()))
    expect(isAlive(await daemonOf(dir))).toBe(true)
    const lines = (await log()).trimEnd().split('\n')
    for (const line of lines) expect(JSON.parse(line)).toHaveProperty('msg')
    expect(new Set(lines).size).toBe(lines.length)
  })
})

describe('a foreground start whose process was replaced', () => {
  const startDaemon = async () => {
    const dir = await guardedProject(1, { looping: plugin('looping', SPIN) })
    const daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.waitForOutput(/a new one replaces it[\s\S]*the daemon runs with PID/)
    return { daemon, successor: await daemonOf(dir) }
  }

  it('stops in order on Ctrl-C, which reaches every process of the terminal', async () => {
    const { daemon, successor } = await startDaemon()
    await using _ = daemon
    for (const pid of [daemon.pid, successor]) process.kill(pid, 'SIGINT')
    expect(await daemon.ended).toBe(0)
    expect(daemon.stderr).toContain('SIGINT: stopping')
    expect(isAlive(successor)).toBe(false)
  })

  it('stops the successor too on a SIGTERM to the first process, as timeout sends it', async () => {
    const { daemon, successor } = await startDaemon()
    await using _ = daemon
    process.kill(daemon.pid, 'SIGTERM')
    await until(() => !isAlive(successor))
    expect(daemon.stderr).toContain('the process that this one replaced has ended: stopping')
  })
})

describe('a process that a plugin blocks', () => {
  it('is replaced at its start, and --detach shows the process that replaced it', async () => {
    const dir = await guardedProject(1, { looping: plugin('looping', SPIN) })
    const { code, stdout } = await svc(['start', '--detach'], { cwd: dir.path })
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('a plugin blocked the first process') })
    expect(stdout).toContain(`PID ${await daemonOf(dir)} `)
  })

  it('is ended by svc stop, and no other takes its place', async () => {
    const setup = `svc.on('cycle_end', () => { console.error('holds it up'); ${SPIN} })`
    const dir = await guardedProject(8, { looping: plugin('looping', setup) })
    await using daemon = new RunningSvc(['start', '-p', 'coder'], { cwd: dir.path })
    await daemon.waitForOutput(/holds it up/)
    const { code, stdout } = await svc(['stop', '--timeout', '60'], { cwd: dir.path })
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining('has stopped') })
    expect(daemon.stderr).not.toContain('a new one replaces it')
    expect((await svc(['daemon'], { cwd: dir.path })).stdout).not.toContain('healthy')
    await expect(stat(join(dir.path, '.svc/daemon.stop'))).rejects.toThrow('ENOENT')
  })
})

describe('a quarantine', () => {
  it('holds in every process, until the file is changed or an operator reloads the plugin by name', async () => {
    const dir = await guardedProject(1.5, {
      asked: plugin('asked', spinOnce(SPIN)),
      changed: plugin('changed', SPIN),
    })
    const options = { cwd: dir.path }
    await using daemon = new RunningSvc(['start'], options)
    await daemon.waitForOutput(/(a new one replaces it[\s\S]*?){2}the daemon runs with PID/)
    await svc(['stop'], options)
    const shown = await svc(['budget', 'reset'], options)
    expect(shown.stderr).toMatch(/Plugin "asked" \(.*\): has been quarantined since/)
    expect(shown.stderr).toMatch(/Plugin "changed" \(.*changed\.ts:4\): has been quarantined since/)

    await using again = new RunningSvc(['start'], options)
    await again.waitForOutput(/^Logs: /m)
    expect((await pluginsOf(dir)).asked?.state).toBe('failed')
    const reloaded = await svc(['plugins', 'reload'], options)
    expect(reloaded).toMatchObject({ code: 1, stdout: expect.stringContaining('has been quarantined since') })
    expect((await svc(['plugins', 'reload', 'asked'], options)).stdout).toContain('asked: loaded')
    await dir.write({ 'plugins/changed.ts': plugin('changed', '') })
    await until(async () => (await pluginsOf(dir)).changed?.state === 'live')
    expect((await pluginsOf(dir)).asked?.state).toBe('live')
    expect(await readFile(join(dir.path, '.svc/quarantine.json'), 'utf8')).toBe('[]\n')
    expect(await again.end('SIGTERM')).toBe(0)
  })
})

describe('any other unresponsive process', () => {
  it('is reported with its place in the code, and gets four times as long before it is restarted', async () => {
    const busy = 'const end = Date.now() + 7_000; while (Date.now() < end) {}'
    const setup = spinOnce('setTimeout(work, 10)')
    const dir = await guardedProject(3, {
      innocent: plugin('innocent', setup, `import { work } from '../lib/work.ts'`),
    })
    const lib = `export function work() {\n  ${busy}\n  setTimeout(spin, 100)\n}\nfunction spin() {\n  ${SPIN}\n}\n`
    await dir.write({ 'lib/work.ts': lib })
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.waitForOutput(/blocked for 3 s, but not by the code of a plugin \(it is at .*lib\/work\.ts:2\)/)
    await daemon.waitForOutput(/the process responds again, after [\d.]+ s/)
    await daemon.waitForOutput(/blocked for 3 s, but not by the code of a plugin \(it is at .*lib\/work\.ts:6\)/)
    expect(isAlive(daemon.pid)).toBe(true)
    await daemon.waitForOutput(/a new one replaces it[\s\S]*the daemon runs with PID/)
    await daemon.waitForOutput(/(Daemon: [\s\S]*){2}Logs: /)
    expect((await pluginsOf(dir)).innocent).toMatchObject({ state: 'live', error: null })
  })

  it('goes on when it was stopped for longer than the limit', async () => {
    const dir = await guardedProject(3, { calm: plugin('calm', '') })
    await using daemon = new RunningSvc(['start', '-p', 'coder'], { cwd: dir.path })
    await daemon.waitForOutput(/^Logs: /m)
    daemon.process.kill('SIGSTOP')
    const since = performance.now()
    await until(() => performance.now() - since > 5_000)
    const before = daemon.stderr.length
    daemon.process.kill('SIGCONT')
    await until(() => daemon.stderr.slice(before).includes('completed goal-'))
    expect(daemon.stderr).not.toMatch(/blocked (for|the whole process)/)
    expect(await daemon.end('SIGTERM')).toBe(0)
  })

  it('is killed when it hangs while it ends, and not started again', async () => {
    // Long enough that loading the plugin does not count as hanging on a busy machine.
    const dir = await guardedProject(8, { clinging: plugin('clinging', `svc.start(() => () => { ${SPIN} })`) })
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.waitForOutput(/^Logs: /m)
    expect(await daemon.end('SIGTERM')).toBeNull()
    expect(daemon.stderr).toContain('plugin \\"clinging\\" blocked the whole process')
    expect(daemon.stderr).not.toContain('a new one replaces it')
  })
})
