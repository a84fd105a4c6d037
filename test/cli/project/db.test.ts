import { copyFile, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { MIGRATIONS } from '#migrations'
import { APPLICATION_ID } from '#platform/store/schema'
import { RunningSvc } from '../../support/cli.ts'
import { rowsBehind } from '../../support/direct-access.ts'
import Sqlite from '../../support/sqlite.ts'
import { svc } from '../../support/vitest/warm.ts'
import { FAST, project } from '../project.ts'

const UP = /^Logs: /m
const at = (root: string, name = 'svc.db') => join(root, '.svc', name)

async function agentsOf(cwd: string): Promise<string[]> {
  const { stdout } = await svc(['status', '--json'], { cwd })
  return (JSON.parse(stdout) as { name: string }[]).map(({ name }) => name)
}

/** Overwrites pages in the middle of a database that no process has open. */
async function damage(file: string): Promise<void> {
  const handle = await open(file, 'r+')
  const { size } = await handle.stat()
  for (let at = 8192; at < size; at += 4096) await handle.write(Buffer.alloc(2048, 0x5a), 0, 2048, at)
  await handle.close()
}

describe('svc db', () => {
  it('backs up while the daemon works, and restores the backup once no process has the database open', async () => {
    await using dir = await project(FAST)
    const cwd = dir.path
    await using daemon = new RunningSvc(['start', '-p', 'coder'], { cwd })
    await daemon.waitForOutput(UP)
    const backup = join(cwd, 'copy.db')
    expect(await svc(['db', 'backup', backup], { cwd })).toMatchObject({ code: 0, stderr: '' })
    expect((await stat(backup)).mode & 0o777).toBe(0o600)
    expect((await svc(['db', 'check', backup], { cwd })).stdout).toContain('is intact')
    await svc(['spawn', 'writer'], { cwd })
    expect(await agentsOf(cwd)).toEqual(['coder', 'writer'])

    const live = await svc(['db', 'restore', backup], { cwd })
    expect(live).toMatchObject({ code: 1 })
    expect(live.stderr).toContain(`PID ${daemon.pid}`)
    expect(await daemon.end('SIGTERM')).toBe(0)

    const restored = await svc(['db', 'restore', backup, '--json'], { cwd })
    expect(restored).toMatchObject({ code: 0, stderr: '' })
    expect(await agentsOf(cwd)).toEqual(['coder'])
    const { kept } = JSON.parse(restored.stdout) as { kept: string }
    expect((await svc(['db', 'restore', kept], { cwd })).code).toBe(0)
    expect(await agentsOf(cwd)).toEqual(['coder', 'writer'])
    await using again = new RunningSvc(['start'], { cwd })
    await again.waitForOutput(UP)
    expect(await again.end('SIGTERM')).toBe(0)
  })

  it('keeps the tables of plugins in backups and when it restores them', async () => {
    const plugin = (sql: string) =>
      `import { definePlugin } from 'svc'
       export default definePlugin({ name: 'tides', needs: ['store'], setup: svc => svc.migrations(\`${sql}\`.split(';')) })`
    const TABLE = "CREATE TABLE tides (place TEXT PRIMARY KEY); INSERT INTO tides VALUES ('Ghent')"
    await using dir = await project({ ...FAST, 'plugins/tides.ts': plugin(TABLE) })
    const cwd = dir.path
    await svc(['spawn', 'coder'], { cwd })
    expect(await svc(['db', 'backup', 'copy.db'], { cwd })).toMatchObject({ code: 0, stderr: '' })
    await dir.write({
      'plugins/tides.ts': plugin(`${TABLE}; ALTER TABLE tides ADD COLUMN seen TEXT; DELETE FROM tides`),
    })
    await svc(['spawn', 'coder'], { cwd })
    expect(await rowsBehind(cwd, 'SELECT * FROM tides')).toEqual([])
    expect((await svc(['db', 'check'], { cwd })).stdout).toContain('is intact')
    expect((await svc(['db', 'restore', 'copy.db'], { cwd })).code).toBe(0)
    expect(await rowsBehind(cwd, 'SELECT * FROM tides')).toEqual([{ place: 'Ghent' }])
    await svc(['spawn', 'coder'], { cwd })
    expect(await rowsBehind(cwd, 'SELECT * FROM tides')).toEqual([])
  })

  it('refuses to work when the database file is gone but its WAL remains, and keeps the WAL on restore', async () => {
    await using dir = await project(FAST)
    const cwd = dir.path
    await using daemon = new RunningSvc(['start', '-p', 'coder'], { cwd })
    await daemon.waitForOutput(UP)
    await svc(['db', 'backup', 'copy.db'], { cwd })
    for (const preset of ['writer', 'researcher']) await svc(['spawn', preset], { cwd })
    await daemon.end('SIGKILL')
    const wal = await readFile(`${at(cwd)}-wal`)
    await rm(at(cwd))
    const refused = await svc(['status'], { cwd })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(/^svc: \.svc\/svc\.db is gone, while [\d.]+ MiB of data are in its svc\.db-wal; /)
    expect((await svc(['doctor'], { cwd })).stdout).toMatch(/^fail +database +\.svc\/svc\.db is gone, /m)
    expect((await readFile(`${at(cwd)}-wal`)).equals(wal)).toBe(true)
    expect((await svc(['db', 'restore', 'copy.db'], { cwd })).code).toBe(0)
    expect((await svc(['db', 'check'], { cwd })).stdout).toContain('is intact')
    expect(await agentsOf(cwd)).toEqual(['coder'])
    expect((await readdir(at(cwd, 'backups'))).some(name => name.endsWith('.db-wal'))).toBe(true)
  })

  it('restores nothing while any process has the database open, including a server', async () => {
    await using dir = await project(FAST)
    const cwd = dir.path
    await svc(['spawn', 'coder'], { cwd })
    const backup = join(cwd, 'copy.db')
    await svc(['db', 'backup', backup], { cwd })
    await using web = new RunningSvc(['serve', '--port', '0'], { cwd })
    const [, url] = await web.waitForOutput(/(http:\/\/127\.0\.0\.1:\d+)/)
    await svc(['spawn', 'writer'], { cwd })
    const refused = await svc(['db', 'restore', backup], { cwd })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('so it was not replaced')
    expect(await fetch(`${url}/healthz`).then(answer => answer.status)).toBe(200)
    expect(await agentsOf(cwd)).toEqual(['coder', 'writer'])
    expect(await web.end('SIGTERM')).toBe(0)
  })

  it('never overwrites a file with a backup', async () => {
    await using dir = await project(FAST)
    await svc(['spawn', 'coder'], { cwd: dir.path })
    await writeFile(join(dir.path, 'taken.db'), 'mine')
    const missing = await svc(['db', 'backup', 'nosuch/x.db'], { cwd: dir.path })
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no such folder') })
    const refused = await svc(['db', 'backup', 'taken.db'], { cwd: dir.path })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('was not overwritten')
    expect(await readFile(join(dir.path, 'taken.db'), 'utf8')).toBe('mine')
    const names = new Set<string>()
    for (let n = 0; n < 3; n++) {
      const { code, stdout } = await svc(['db', 'backup'], { cwd: dir.path })
      expect(code).toBe(0)
      names.add(/\.svc\/backups\/(svc-\d{8}-\d{6}-\d{3}\.db): /.exec(stdout)![1]!)
    }
    expect([...names]).toEqual((await readdir(at(dir.path, 'backups'))).sort())
  })

  it('reports a damaged database and restores it from a backup, but never from a damaged one', async () => {
    await using dir = await project(FAST)
    const cwd = dir.path
    for (const preset of ['coder', 'writer', 'tester']) await svc(['spawn', preset], { cwd })
    const [backup, broken] = [join(cwd, 'copy.db'), join(cwd, 'broken.db')]
    await svc(['db', 'backup', backup], { cwd })
    await copyFile(backup, broken)
    await damage(broken)
    const before = await readFile(at(cwd))
    const refused = await svc(['db', 'restore', broken], { cwd })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('is damaged')
    expect(await readFile(at(cwd))).toEqual(before)

    // Damages pages of one table only: the database opens, and the damage appears when that table is read.
    const sqlite = new Sqlite(at(cwd))
    const [page] = sqlite.prepare("SELECT rootpage FROM sqlite_master WHERE name = 'schedules'").pluck().all() as [
      number,
    ]
    const size = sqlite.pragma('page_size', { simple: true }) as number
    sqlite.close()
    const whole = await readFile(at(cwd))
    whole.fill(0x5a, (page - 1) * size, (page - 0.5) * size)
    await writeFile(at(cwd), whole)
    for (const words of [['schedules'], ['schedules', 'add', 'coder', 'look', '--every', '60']]) {
      const met = await svc(words, { cwd })
      expect(met).toMatchObject({ code: 1, stdout: '' })
      expect(met.stderr).toMatch(/svc\.db is damaged; nothing was changed; .*svc db restore \.svc\/backups\/<file>/)
    }
    expect(await readFile(at(cwd))).toEqual(whole)

    await damage(at(cwd))
    const check = await svc(['db', 'check'], { cwd })
    expect(check.code).toBe(1)
    expect(check.stdout + check.stderr).toContain('is damaged')
    const start = await svc(['start'], { cwd })
    expect(start.code).toBe(1)
    expect(start.stderr).toContain('svc db restore')
    expect((await svc(['db', 'restore', backup], { cwd })).code).toBe(0)
    expect((await agentsOf(cwd)).length).toBe(3)
    expect((await readdir(at(cwd, 'backups'))).some(name => name.startsWith('svc-replaced-'))).toBe(true)
  })

  it('refuses files of other programs or newer versions, and leaves the database as it is', async () => {
    await using dir = await project(FAST)
    const cwd = dir.path
    await svc(['spawn', 'coder'], { cwd })
    const foreign = new Sqlite(join(cwd, 'foreign.db'))
    foreign.exec('CREATE TABLE theirs (n INTEGER)')
    foreign.close()
    await svc(['db', 'backup', 'newer.db'], { cwd })
    const newer = new Sqlite(join(cwd, 'newer.db'))
    newer.pragma('user_version = 9999')
    newer.close()
    await writeFile(
      join(cwd, 'text.db'),
      'not a database, but long enough to be looked at as if it were one'.repeat(20),
    )
    await writeFile(join(cwd, 'empty.db'), '')
    for (const [file, why] of [
      ['foreign.db', 'belongs to another program'],
      ['newer.db', 'has schema version 9999'],
      ['text.db', 'is not a database'],
      ['empty.db', 'is empty'],
      ['absent.db', 'does not exist'],
    ] as const) {
      const refused = await svc(['db', 'restore', file], { cwd })
      expect(refused.code, file).toBe(1)
      expect(refused.stderr).toContain(why)
      const checked = await svc(['db', 'check', file], { cwd })
      expect(checked.code, file).toBe(1)
      expect(checked.stderr).toContain(`${file} ${why}`)
      expect(checked.stderr).not.toContain('svc db restore')
    }
    expect(await agentsOf(cwd)).toEqual(['coder'])
    expect((await readdir(join(cwd, '.svc'))).filter(name => name.endsWith('.tmp'))).toEqual([])
    const live = new Sqlite(join(cwd, '.svc/svc.db'))
    live.pragma('user_version = 9999')
    live.close()
    expect((await svc(['status'], { cwd })).stderr).toMatch(/schema version 9999.*svc db restore \.svc\/backups\//)
  })
})

describe('a database of an older version', () => {
  /** Creates a database whose schema is of version 1, as an older svc has it open. */
  function openOlder(file: string) {
    const db = new Sqlite(file)
    db.exec(
      `PRAGMA journal_mode = WAL; ${MIGRATIONS[0]!.sql}; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 1`,
    )
    return db
  }

  it('is not migrated while another process has it open, and then with a copy, which the log names', async () => {
    await using dir = await project(FAST)
    const cwd = dir.path
    await dir.write({ '.svc/.keep': '' })
    const older = openOlder(at(cwd))
    expect((await svc(['doctor'], { cwd })).stdout).toMatch(/has schema version 1, and this version of svc needs \d+/)
    for (const words of [['status'], ['serve'], ['start', '-p', 'coder']]) {
      const { code, stderr } = await svc(words, { cwd })
      expect({ words, code }).toEqual({ words, code: 1 })
      expect(stderr).toMatch(/has schema version 1 and .* needs \d+, but process \d+, .*svc stop/)
    }
    expect(older.pragma('user_version', { simple: true })).toBe(1)
    expect(await readdir(at(cwd, 'backups')).catch(() => [])).toEqual([])
    older.close()

    await using daemon = new RunningSvc(['start', '-p', 'coder'], { cwd })
    await daemon.waitForOutput(UP)
    const [copy] = await readdir(at(cwd, 'backups'))
    expect(await readFile(join(cwd, 'logs', 'svc.log'), 'utf8')).toContain(`${copy} is a copy of it`)
    expect((await svc(['doctor'], { cwd })).stdout).toMatch(/intact, schema version/)
    expect(await readdir(at(cwd, ''))).not.toContain('migration.lock')
    expect(await daemon.end('SIGTERM')).toBe(0)
  })

  it('is migrated by a command that reads too, which says so and names the copy', async () => {
    await using dir = await project(FAST)
    const cwd = dir.path
    await dir.write({ '.svc/.keep': '' })
    openOlder(at(cwd)).close()
    const { code, stderr } = await svc(['status'], { cwd })
    const [copy] = await readdir(at(cwd, 'backups'))
    expect(code).toBe(0)
    expect(stderr).toMatch(/^svc: warning: the database was migrated from schema version 1 to \d+; /m)
    expect(stderr).toContain(`${copy} is a copy of it`)
  })
})
