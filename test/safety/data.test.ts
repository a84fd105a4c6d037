import { createHash } from 'node:crypto'
import { mkdir, readdir, readFile, rename, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FAST, project } from '../cli/project.ts'
import { RunningSvc, tempDir, until } from '../support/index.ts'
import { sendJson } from '../support/model/http.ts'
import Sqlite from '../support/sqlite.ts'
import { svc } from '../support/vitest/warm.ts'

const PARTS = ['svc.db', 'svc.db-wal', 'svc.db-shm']
const SERVER = /(http:\/\/127\.0\.0\.1:\d+)/

/** Maps every path below a folder to the hash of its content. */
async function listing(folder: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const content = entry.isFile() ? await readFile(path) : ''
    found[path] = createHash('sha256').update(content).digest('hex')
  }
  return found
}

/** A project whose server was killed while all data was in the write-ahead log only. */
async function projectAfterKill() {
  const dir = await project(FAST)
  const cwd = dir.path
  await using server = new RunningSvc(['serve', '--port', '0'], { cwd })
  await server.waitForOutput(SERVER)
  for (const preset of ['coder', 'writer']) await svc(['spawn', preset], { cwd })
  await server.end('SIGKILL')
  expect((await stat(join(cwd, '.svc/svc.db-wal'))).size).toBeGreaterThan(100_000)
  return dir
}

async function agentsOf(cwd: string): Promise<string[]> {
  const { stdout } = await svc(['status', '--json'], { cwd })
  return (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name)
}

const remove = async (root: string, names = PARTS) => {
  for (const name of names) await rm(join(root, '.svc', name), { force: true })
}
const statusOf = (url: string) => fetch(`${url}/healthz`).then(({ status }) => status)
const nudge = (url: string) => fetch(`${url}/agents/coder/nudge`, sendJson({ message: 'look' }))
const patch = (url: string, body: object) =>
  fetch(`${url}/config`, sendJson(body, 'PATCH')).then(async answer => ({
    status: answer.status,
    ...((await answer.json()) as { code?: string; detail?: string }),
  }))

const foreign = async (file: string) => {
  const db = new Sqlite(`${file}.theirs`)
  db.exec('CREATE TABLE theirs (n INTEGER); INSERT INTO theirs VALUES (1)')
  db.close()
  await rename(`${file}.theirs`, file)
}
const LOSSES: [name: string, lose: (file: string) => Promise<void>, says: RegExp][] = [
  ['is empty', file => truncate(file), /svc\.db is empty, while [\d.]+ MiB of data are in its svc\.db-wal/],
  ['is gone', file => rm(file), /svc\.db is gone, while [\d.]+ MiB of data are in its svc\.db-wal/],
  ['is foreign', foreign, /svc\.db belongs to another program, while [\d.]+ MiB of data/],
]

describe('read commands', () => {
  it('change nothing on disk, and show data that is in the write-ahead log only', async () => {
    await using dir = await projectAfterKill()
    const cwd = dir.path
    const before = await listing(cwd)
    const doctor = await svc(['doctor', '--json'], { cwd })
    expect(await listing(cwd)).toEqual(before)
    const { checks } = JSON.parse(doctor.stdout) as { checks: { name: string; level: string; message: string }[] }
    expect(checks.find(({ name }) => name === 'event_log')?.message).not.toBe('0 events')
    expect(checks.find(({ name }) => name === 'database')?.level).toBe('ok')
    expect(await svc(['db', 'check'], { cwd })).toMatchObject({ code: 0, stderr: '' })
    expect(await listing(cwd)).toEqual(before)
    await using elsewhere = await tempDir()
    const backup = join(elsewhere.path, 'copy.db')
    expect((await svc(['db', 'backup', backup], { cwd })).code).toBe(0)
    expect(await listing(cwd)).toEqual(before)
    const copy = new Sqlite(backup)
    expect(copy.prepare('SELECT name FROM agents ORDER BY name').pluck().all()).toEqual(['coder', 'writer'])
    copy.close()
  })

  it('create no database where it was removed, and fail', async () => {
    await using dir = await projectAfterKill()
    const cwd = dir.path
    await mkdir(join(cwd, '.svc/workspaces/coder-1'), { recursive: true })
    await remove(cwd)
    const before = await listing(cwd)
    const doctor = await svc(['doctor'], { cwd })
    expect(doctor.code).toBe(1)
    expect(doctor.stdout).toMatch(/^fail +database +\S*svc\.db is missing, although agents have run/m)
    expect((await svc(['db', 'check'], { cwd })).code).toBe(1)
    expect((await svc(['db', 'backup', 'copy.db'], { cwd })).code).toBe(1)
    expect(await listing(cwd)).toEqual(before)
  })
})

describe('a lost database file whose write-ahead log is still there', () => {
  for (const [name, lose, says] of LOSSES) {
    it(`${name}: every command leaves it unchanged, and a backup is written from the log`, async () => {
      await using dir = await projectAfterKill()
      const cwd = dir.path
      await lose(join(cwd, '.svc/svc.db'))
      const before = await listing(cwd)
      for (const words of [['status'], ['spawn', 'tester'], ['start'], ['db', 'check']]) {
        const { code, stderr } = await svc(words, { cwd })
        expect(code, words.join(' ')).toBe(1)
        expect(stderr).toMatch(says)
        expect(stderr).toMatch(/svc db backup/)
      }
      expect((await svc(['doctor', '--json'], { cwd })).stdout).toMatch(says)
      const now = await listing(cwd)
      for (const path of Object.keys(before).filter(path => /svc\.db/.test(path))) expect(now[path]).toBe(before[path])
      const backup = await svc(['db', 'backup', 'copy.db'], { cwd })
      expect(backup).toMatchObject({ code: 0, stderr: '' })
      expect((await svc(['db', 'restore', 'copy.db'], { cwd })).code).toBe(0)
      expect(await agentsOf(cwd)).toEqual(['coder', 'writer'])
      expect((await readdir(join(cwd, '.svc/backups'))).some(each => each.endsWith('-wal'))).toBe(true)
    })
  }

  it('is not backed up from a log that does not hold all of it', async () => {
    await using dir = await projectAfterKill()
    const cwd = dir.path
    await svc(['spawn', 'tester'], { cwd })
    await using server = new RunningSvc(['serve', '--port', '0'], { cwd })
    await server.waitForOutput(SERVER)
    await svc(['spawn', 'philosopher'], { cwd })
    await server.end('SIGKILL')
    await truncate(join(cwd, '.svc/svc.db'))
    const before = await listing(cwd)
    const refused = await svc(['db', 'backup', 'copy.db'], { cwd })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(
      /its svc\.db-wal does not contain all of the data \(\w+ pages are missing\).*svc db restore/,
    )
    expect(await listing(cwd)).toEqual(before)
  })
})

describe('database files that are removed while in use', () => {
  const KINDS: [string, string[], string[][]][] = [
    ['a server', ['svc.db', 'svc.db-wal', 'svc.db-shm'], [['serve', '--port', '0']]],
    ['a daemon', ['svc.db'], [['start', '-p', 'coder']]],
    ['a server', ['svc.db-wal'], [['serve', '--port', '0']]],
    [
      'a daemon and a server',
      ['svc.db-wal'],
      [
        ['start', '-p', 'coder'],
        ['serve', '--port', '0'],
      ],
    ],
    ['a daemon', ['svc.db-shm'], [['start', '-p', 'coder']]],
  ]
  for (const [name, parts, commands] of KINDS) {
    it(`${parts.join(', ')} of ${name}: a backup still contains the data of the running process`, async () => {
      await using dir = await project(FAST)
      const cwd = dir.path
      await svc(['spawn', 'coder'], { cwd })
      await using first = new RunningSvc(commands[0]!, { cwd })
      await first.waitForOutput(commands[0]![0] === 'serve' ? SERVER : /^Logs: /m)
      await using second = commands[1] ? new RunningSvc(commands[1], { cwd }) : undefined
      await second?.waitForOutput(SERVER)
      await svc(['spawn', 'writer'], { cwd })
      await remove(cwd, parts)
      const checked = await svc(['db', 'check'], { cwd })
      expect(checked.code).toBe(1)
      expect(checked.stderr).toMatch(/process \d+ still has it open; leave that process running .*svc db backup/)
      expect(checked.stderr).not.toMatch(/stop/)
      const doctor = await svc(['doctor'], { cwd })
      expect(doctor.stdout).toMatch(/^fail +database /m)
      const restore = await svc(['db', 'restore', 'none.db'], { cwd })
      expect(restore.code).toBe(1)
      const backup = await svc(['db', 'backup', 'copy.db'], { cwd })
      expect(backup).toMatchObject({ code: 0, stderr: '' })
      await first.end('SIGKILL')
      await second?.end('SIGKILL')
      expect((await svc(['db', 'restore', 'copy.db'], { cwd })).code).toBe(0)
      expect(await agentsOf(cwd)).toEqual(expect.arrayContaining(['coder', 'writer']))
    })
  }

  it('make a server refuse writes until they are back, also for the log or its index', async () => {
    await using dir = await project(FAST)
    const cwd = dir.path
    await svc(['spawn', 'coder'], { cwd })
    await using server = new RunningSvc(['serve', '--port', '0'], { cwd })
    const [, url = ''] = await server.waitForOutput(SERVER)
    for (const part of PARTS) {
      expect((await nudge(url)).status).toBe(202)
      await rename(join(cwd, '.svc', part), join(cwd, 'away'))
      await until(async () => (await statusOf(url)) === 503)
      const refused = await nudge(url)
      expect(refused.status, part).toBe(503)
      expect(((await refused.json()) as { detail: string }).detail).toMatch(
        new RegExp(`^\\.svc/${part} was removed or replaced while in use; .*svc db backup`),
      )
      await rename(join(cwd, 'away'), join(cwd, '.svc', part))
      await until(async () => (await statusOf(url)) === 200)
    }
    await truncate(join(cwd, '.svc/svc.db'))
    await until(async () => (await statusOf(url)) === 503)
    expect((await nudge(url)).status).toBe(503)
  })
})

describe('the configuration file', () => {
  it('may be put back to the text of svc init while running, like any other edit', async () => {
    await using dir = await project()
    const cwd = dir.path
    const file = join(cwd, '.svc/config.yaml')
    await rm(file)
    await svc(['init', '--quiet'], { cwd })
    const initial = await readFile(file, 'utf8')
    await writeFile(file, `${initial}\ndaemon:\n  heartbeat: 7\n`)
    await using server = new RunningSvc(['serve', '--port', '0'], { cwd })
    const [, url = ''] = await server.waitForOutput(SERVER)
    await writeFile(file, initial)
    expect(await patch(url, { daemon: { heartbeat: 5 } })).toMatchObject({ status: 200 })
    expect(await readFile(file, 'utf8')).toContain('heartbeat: 5')
    expect(await readFile(file, 'utf8')).toContain('# Configuration of svc')
    await writeFile(file, '')
    expect(await patch(url, { daemon: { heartbeat: 6 } })).toMatchObject({ status: 409, code: 'bad_file' })
  })
})
