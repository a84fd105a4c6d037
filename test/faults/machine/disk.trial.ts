import { spawnSync } from 'node:child_process'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { FAST } from '../../cli/project.ts'
import { bareEnvironment } from '../../support/cli.ts'
import { RunningSvc, svc, tempDir, until } from '../../support/index.ts'
import { sendJson } from '../../support/model/http.ts'
import Sqlite from '../../support/sqlite.ts'
import { trialCount } from '../../support/vitest/trial-count.ts'

const PROGRAM = fileURLToPath(new URL('../../../dist/svc.js', import.meta.url))
const run = (command: string, ...words: string[]) => spawnSync(command, words).status === 0
const SERVE = ['serve', '--with-daemon', '--port', '0', '--profiles', 'coder']

/** Mounts a small disk; returns undefined without the permission for that. */
async function smallDisk(folder: string, size: string) {
  await mkdir(folder, { recursive: true })
  if (!run('mount', '-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', folder)) return undefined
  return { [Symbol.asyncDispose]: async () => void run('umount', '-l', folder) }
}

async function sendNudge(url: string) {
  const answer = await fetch(`${url}/agents/coder/nudge`, sendJson({ message: 'look '.repeat(500) }))
  const body = (await answer.json()) as { nudge_id?: string; code?: string }
  return { status: answer.status, ...body }
}

describe('a full disk', () => {
  it('makes writes fail with the reason, breaks nothing, and lets the service go on once there is space', async ({
    skip,
  }) => {
    await using dir = await tempDir()
    await using disk = await smallDisk(join(dir.path, '.svc'), '8m')
    if (!disk) return skip('a tmpfs can only be mounted by root')
    await svc(['init', '--quiet'], { cwd: dir.path })
    await dir.write(FAST)
    await using daemon = new RunningSvc(SERVE, { cwd: dir.path })
    const [, url = ''] = await daemon.waitForOutput(/(http:\/\/127\.0\.0\.1:\d+)/)
    await daemon.waitForOutput(/^Logs: /m)
    await using beside = new RunningSvc(['serve', '--port', '0'], { cwd: dir.path })
    const [, other = ''] = await beside.waitForOutput(/(http:\/\/127\.0\.0\.1:\d+)/)
    const kept: string[] = []
    const first = await sendNudge(url)
    expect(first.status).toBe(202)
    kept.push(first.nudge_id!)
    await writeFile(join(dir.path, '.svc/filler'), Buffer.alloc(16 * 1024 * 1024)).catch(() => {})
    const codes = new Set<string>()
    await until(async () => {
      const { status, nudge_id, code } = await sendNudge(url)
      if (status === 202) kept.push(nudge_id!)
      else codes.add(`${status} ${code}`)
      return status !== 202
    })
    expect([...codes]).toEqual(['503 disk_full'])
    const changed = await fetch(`${url}/config`, sendJson({ daemon: { heartbeat: 0.3 } }, 'PATCH'))
    expect(changed.status).toBe(503)
    expect(await changed.json()).toMatchObject({
      code: 'disk_full',
      detail: 'The disk that contains .svc/config.yaml is full; free some space and try again.',
    })
    expect(await svc(['status'], { cwd: dir.path })).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('coder'),
    })
    const health = async (from = url) =>
      (await (await fetch(`${from}/daemon`)).json()) as { health: string; problem: string | null }
    await until(async () => (await health()).health === 'stalled')
    expect((await health()).problem).toMatch(/^The disk that contains the project's database is full; free some space/)
    await until(async () => (await health(other)).health === 'stalled')
    expect((await health(other)).problem).toBe('its loop fails; svc logs shows the error')
    expect((await svc(['doctor'], { cwd: dir.path })).stdout).toMatch(/Heartbeats of the daemon \(PID \d+\) fail/)
    expect((await svc(['status'], { cwd: dir.path })).stdout).toMatch(/^The daemon's heartbeats fail: The disk /m)
    expect((await svc(['daemon'], { cwd: dir.path })).stdout).toMatch(/^daemon +stalled \(PID .*\): The disk /m)
    expect((await svc(['doctor'], { cwd: dir.path })).stdout).toMatch(/^fail +disk +Only 0 MiB free/m)
    const why = async () => (await svc(['why', 'coder'], { cwd: dir.path })).stdout
    await until(async () => (await why()).includes("The daemon's heartbeats fail: The disk "))
    expect((await fetch(`${url}/healthz`)).status).toBeLessThan(600)
    expect(daemon.process.exitCode).toBeNull()
    await rm(join(dir.path, '.svc/filler'))
    await until(async () => (await sendNudge(url)).status === 202)
    await until(async () => (await health()).health === 'healthy')
    await until(async () => (await health(other)).health === 'healthy')
    expect(await beside.end('SIGTERM')).toBe(0)
    expect(await daemon.end('SIGTERM')).toBe(0)
    const db = new Sqlite(join(dir.path, '.svc/svc.db'))
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok')
    const there = new Set(
      (db.prepare('SELECT nudge_id FROM nudges').all() as { nudge_id: string }[]).map(row => row.nudge_id),
    )
    db.close()
    for (const id of kept) expect(there.has(id), `${id} was acknowledged`).toBe(true)
  })
})

describe('a full disk without a daemon', () => {
  it('lets commands read, and makes their writes fail with the reason', async ({ skip }) => {
    await using dir = await tempDir()
    const cwd = dir.path
    await using disk = await smallDisk(join(cwd, '.svc'), '4m')
    if (!disk) return skip('a tmpfs can only be mounted by root')
    await svc(['init', '--quiet'], { cwd })
    await dir.write(FAST)
    await svc(['spawn', 'coder'], { cwd })
    await writeFile(join(cwd, '.svc/filler'), Buffer.alloc(16 * 1024 * 1024)).catch(() => {})
    expect(await svc(['status'], { cwd })).toMatchObject({ code: 0, stdout: expect.stringContaining('coder') })
    for (const words of [
      ['spawn', 'writer'],
      ['nudge', 'coder', 'look'],
      ['config', 'set', 'daemon.heartbeat', '5'],
    ]) {
      const refused = await svc(words, { cwd })
      expect(refused.code, words.join(' ')).toBe(1)
      expect(refused.stderr).toMatch(/disk.* is full; free some space/)
    }
    await rm(join(cwd, '.svc/filler'))
    expect((await svc(['spawn', 'writer'], { cwd })).code).toBe(0)
  })
})

describe('a full disk for the logs', () => {
  it('stops nothing, and the log goes on with whole lines once there is space', async ({ skip }) => {
    await using dir = await tempDir()
    await using disk = await smallDisk(join(dir.path, 'logs'), '1m')
    if (!disk) return skip('a tmpfs can only be mounted by root')
    await svc(['init', '--quiet'], { cwd: dir.path })
    await dir.write(FAST)
    await using daemon = new RunningSvc(SERVE, { cwd: dir.path })
    await daemon.waitForOutput(/^Logs: /m)
    const log = () => readFile(join(dir.path, 'logs/svc.log'), 'utf8')
    const spawnWriter = async () => /^\S+/.exec((await svc(['spawn', 'writer'], { cwd: dir.path })).stdout)![0]
    await writeFile(join(dir.path, 'logs/filler'), Buffer.alloc(2 * 1024 * 1024)).catch(() => {})
    // The last page of the log still has space for some lines.
    await until(async () => (await spawnWriter()) && (await log()).length % 4096 === 0)
    await rm(join(dir.path, 'logs/filler'))
    await until(async () => {
      const agent_id = await spawnWriter()
      return (await log()).includes(agent_id)
    })
    expect(await daemon.end('SIGTERM')).toBe(0)
    const whole = (await log()).split('\n').filter(line => line.endsWith('}'))
    for (const line of whole) expect(() => JSON.parse(line)).not.toThrow()
  })
})

describe('a read-only disk', () => {
  it('is reported in the same message by every command that writes', async ({ skip }) => {
    await using dir = await tempDir()
    await using disk = await smallDisk(dir.path, '8m')
    if (!disk) return skip('a tmpfs can only be mounted by root')
    const cwd = dir.path
    await svc(['init', '--quiet'], { cwd })
    await svc(['spawn', 'coder'], { cwd })
    run('mount', '-o', 'remount,ro', cwd)
    const stderrOf = async (...words: string[]) => {
      const { code, stderr } = await svc(words, { cwd })
      expect(code).toBe(1)
      return stderr
    }
    const why =
      'cannot be written: the file system is read-only; remount it for writing, or choose a folder on another file system.\n'
    expect(await stderrOf('status')).toBe(`svc: ${join(cwd, '.svc/svc.db')} ${why}`)
    expect(await stderrOf('start')).toBe(`svc: ${join(cwd, 'logs')} ${why}`)
    expect(await stderrOf('start', '--detach')).toBe(`svc: ${join(cwd, 'logs')} ${why}`)
    expect(await stderrOf('db', 'backup')).toMatch(
      /^svc: \S+\/\.svc\/backups\/svc-\S+\.db cannot be written: the file system/,
    )
    expect(await stderrOf('db', 'backup', 'copy.db')).toBe(`svc: ${join(cwd, 'copy.db')} ${why}`)
    const { stdout } = await svc(['doctor', '--json'], { cwd })
    expect(stdout).toContain('is on a file system that is read-only')
  })
})

describe('a write that fails on the disk', () => {
  it('is not acknowledged, whichever write it is', async ({ skip }) => {
    if (!run('strace', '-e', 'inject=fdatasync:error=EIO:when=1', 'true')) return skip('strace is not here')
    for (const when of [5, 14, 2, 9, 20].slice(0, trialCount(5, 2))) {
      await using dir = await tempDir()
      const cwd = dir.path
      await svc(['init', '--quiet'], { cwd })
      await svc(['spawn', 'coder'], { cwd })
      const inject = `inject=pwrite64:error=EIO:when=${when}+7`
      const traced = spawnSync(
        'strace',
        [
          '-f',
          '-qq',
          '-o',
          '/dev/null',
          '-e',
          'trace=pwrite64',
          '-e',
          inject,
          process.execPath,
          PROGRAM,
          'nudge',
          'coder',
          'look',
          '--json',
        ],
        { cwd, env: { ...bareEnvironment() }, encoding: 'utf8' },
      )
      const db = new Sqlite(join(cwd, '.svc/svc.db'))
      expect(db.pragma('integrity_check', { simple: true }), `write ${when}`).toBe('ok')
      const rows = db.prepare('SELECT nudge_id FROM nudges').all()
      db.close()
      if (traced.status === 0) expect(rows).toHaveLength(1)
      else expect(traced.stderr).toMatch(/^svc: /m)
    }
  })
})
