import { spawn } from 'node:child_process'
import { mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { definePlugin, z } from '#kernel'
import { MIGRATIONS } from '#migrations'
import { type Lease, SchedulerToken } from '#platform/heartbeat/contract'
import { appendEvent, defineEffect, Effects, Medium, Store, setValue, wakeAgents } from '#platform/store/contract'
import store from '#platform/store/index'
import { APPLICATION_ID } from '#platform/store/schema'
import { NEVER } from '#platform/store/statements'
import { tempDir, testHost } from '../../support/index.ts'
import Sqlite from '../../support/sqlite.ts'

const take = defineEffect({
  name: 'test.take',
  mustChange: true,
  schema: z.object({ key: z.string() }),
  statements: ({ key }) => [{ sql: "DELETE FROM plugin_values WHERE namespace = 'test' AND key = ?", params: [key] }],
})
const booked = defineEffect({
  name: 'test.booked',
  always: true,
  schema: z.object({ key: z.string() }),
  statements: ({ key }) => [
    { sql: "INSERT INTO plugin_values (namespace, key, value) VALUES ('booked', ?, '1')", params: [key] },
  ],
})
const record = defineEffect({
  name: 'test.record',
  schema: z.object({ key: z.string() }),
  events: ({ key }) => [
    {
      type: 'recorded',
      agent_id: null,
      data: { key },
      unless: { sql: 'SELECT 1 FROM plugin_values WHERE key = ?', params: [key] },
    },
  ],
  statements: ({ key }) => [
    {
      sql: "INSERT INTO plugin_values (namespace, key, value) VALUES ('recorded', ?, '1') ON CONFLICT DO NOTHING",
      params: [key],
    },
  ],
})
const plugin = definePlugin({
  name: 'test-module',
  setup(svc) {
    for (const effect of [take, booked, record]) svc.add(Effects, effect.kind)
    svc.event('it_happened', z.object({ agent_id: z.string() }))
  },
})

const withKey = definePlugin({
  name: 'server-key',
  section: 'server',
  config: z.object({ api_key: z.string().default('').meta({ secret: true }) }),
  setup() {},
})

const ADD = `INSERT INTO agents (agent_id, name, role, spawned_at) VALUES (?, 'n', 'r', 0)`

async function open(options: Parameters<typeof testHost>[0] = {}) {
  const home = await testHost({ builtins: [store, plugin], ...options })
  return { home, db: home.kernel.use(Store), scheduler: home.kernel.use(SchedulerToken) }
}

/** Opens a second connection, as another process would. */
function beside(root: string) {
  return new Sqlite(join(root, '.svc', 'svc.db'), { timeout: 0 })
}

function addAgents(root: string, ...ids: string[]) {
  const other = beside(root)
  for (const id of ids) {
    other.prepare(ADD).run(id)
    other.prepare('INSERT INTO leases (id, agent_id, run_at) VALUES (?, ?, 0)').run(id, id)
  }
  other.close()
}

const agentLease = (leases: readonly Lease[], id: string) => leases.find(lease => lease.id === id) as Lease

describe("an agent's lease", () => {
  it('is taken by one process only, oldest due first', async () => {
    const { home, scheduler } = await open()
    await using _ = home
    addAgents(home.root, 'a', 'b')
    await using second = await testHost({ builtins: [store, plugin], root: home.root, clock: home.clock })
    const [mine, theirs] = [await scheduler.claim(1), await second.kernel.use(SchedulerToken).claim(9)]
    expect([...mine, ...theirs].map(lease => lease.id).sort()).toEqual(['a', 'b', 'sys:beat'])
    expect(mine.filter(lease => lease.kind === 'agent')).toHaveLength(1)
  })

  it('fences a process that lost it: only effects that always apply are written', async () => {
    const { home, db, scheduler } = await open()
    await using _ = home
    addAgents(home.root, 'a')
    const lease = agentLease(await scheduler.claim(9), 'a')
    await home.clock.advance(60_000)
    const again = agentLease(await scheduler.claim(9), 'a')
    expect(again.epoch).toBe(lease.epoch + 1)
    const effects = [setValue({ namespace: 'test', key: 'k', value: 1 }), booked({ key: 'paid' })]
    expect(await db.commit(lease, effects, 'keep')).toBe('fenced')
    expect(await db.all('SELECT namespace, key FROM plugin_values')).toEqual([{ namespace: 'booked', key: 'paid' }])
    expect(await db.commit(again, [setValue({ namespace: 'test', key: 'k', value: 1 })], { run_at: 0 })).toBe('ok')
  })

  it('lasts as long as it is renewed', async () => {
    const { home, scheduler } = await open()
    await using _ = home
    addAgents(home.root, 'a')
    const held = await scheduler.claim(9)
    await home.clock.advance(10_000)
    expect(await scheduler.renew(held)).toEqual([])
    await home.clock.advance(10_000)
    expect(await scheduler.claim(9)).toEqual([])
    await home.clock.advance(10_000)
    expect((await scheduler.claim(9)).length).toBe(2)
    expect((await scheduler.renew(held)).map(lease => lease.id).sort()).toEqual(['a', 'sys:beat'])
  })

  it('becomes due after a wake during its cycle, but not before the minimum rest', async () => {
    const { home, db, scheduler } = await open()
    await using _ = home
    addAgents(home.root, 'a')
    const lease = agentLease(await scheduler.claim(9), 'a')
    await db.apply([wakeAgents({ agents: ['a'], reason: 'nudge' })])
    const now = home.clock.ms()
    await scheduler.commit(lease, [], { run_at: now + 10_000 })
    const due = await db.get<{ run_at: number }>("SELECT run_at FROM leases WHERE id = 'a'")
    expect(due?.run_at).toBe(now + 1000)
  })

  it('never becomes due for a paused or dead agent, whatever its cycle requested', async () => {
    const { home, db, scheduler } = await open()
    await using _ = home
    addAgents(home.root, 'a', 'b')
    const leases = await scheduler.claim(9)
    const other = beside(home.root)
    other.exec(
      "UPDATE agents SET paused_at = 1 WHERE agent_id = 'a'; UPDATE agents SET died_at = 1 WHERE agent_id = 'b'",
    )
    other.close()
    for (const lease of leases) await scheduler.commit(lease, [], { run_at: 0 })
    await db.apply([wakeAgents({ reason: 'all' })])
    await home.clock.advance(1e9)
    expect((await scheduler.claim(9)).map(lease => lease.id)).toEqual(['sys:beat'])
  })
})

describe('a commit', () => {
  it('is atomic: a must-change effect that changes nothing rejects it, except for effects that always apply', async () => {
    const { home, db, scheduler } = await open()
    await using _ = home
    addAgents(home.root, 'a')
    const lease = agentLease(await scheduler.claim(9), 'a')
    const effects = [
      setValue({ namespace: 'test', key: 'k', value: 1 }),
      booked({ key: 'paid' }),
      take({ key: 'absent' }),
    ]
    expect(await db.commit(lease, effects, { run_at: 5 })).toBe('refused')
    expect(await db.all('SELECT namespace, key FROM plugin_values')).toEqual([{ namespace: 'booked', key: 'paid' }])
    expect(await db.get("SELECT owner FROM leases WHERE id = 'a'")).toEqual({ owner: null })
    expect(await db.apply([take({ key: 'absent' })])).toBe(false)
  })

  it('emits its events after the commit, and not when it is refused', async () => {
    const { home, db } = await open()
    await using _ = home
    const received: unknown[] = []
    home.kernel.hooks.on('it_happened' as never, async (payload: unknown) => {
      received.push([payload, await db.get('SELECT count(*) AS n FROM events')])
    })
    const event = appendEvent({ type: 'it_happened', agent_id: 'a', data: { agent_id: 'a' } })
    await db.apply([event, take({ key: 'absent' })])
    expect(received).toEqual([])
    await db.apply([event])
    expect(received).toEqual([[{ agent_id: 'a' }, { n: 1 }]])
    expect(await db.events(0, 10)).toMatchObject([
      { seq: 1, type: 'it_happened', v: 1, agent_id: 'a', data: { agent_id: 'a' } },
    ])
  })

  it('accepts thousands of events and keeps their order', async () => {
    const { home, db } = await open()
    await using _ = home
    await db.apply(Array.from({ length: 2_050 }, (_, n) => appendEvent({ type: 'tested', agent_id: 'a', data: { n } })))
    const events = await db.events(0, 3_000)
    expect(events.map(({ seq, data }) => [seq, data.n])).toEqual(Array.from({ length: 2_050 }, (_, n) => [n + 1, n]))
  })

  it('appends its events in order, without those that existing rows rule out', async () => {
    const { home, db } = await open()
    await using _ = home
    const tested = (n: number) => appendEvent({ type: 'tested', agent_id: 'a', data: { n } })
    await db.apply([tested(1), record({ key: 'x' }), tested(2)])
    await db.apply([record({ key: 'x' }), record({ key: 'y' }), tested(3)])
    const events = await db.events(0, 10)
    expect(events.map(({ data }) => data.n ?? data.key)).toEqual([1, 'x', 2, 'y', 3])
  })

  it('masks values of secrets in events', async () => {
    const { home, db } = await open({
      env: { OPENAI_API_KEY: 'sk-canary-0123456789' },
      config: { server: { api_key: 'a "quoted" canary' } },
      builtins: [store, plugin, withKey],
    })
    await using _ = home
    const data = { agent_id: 'a', said: 'the key is sk-canary-0123456789!', deep: [{ key: 'a "quoted" canary' }] }
    await db.apply([appendEvent({ type: 'it_happened', agent_id: 'a', data })])
    expect((await db.events(0, 1))[0]?.data).toEqual({ agent_id: 'a', said: 'the key is ***!', deep: [{ key: '***' }] })
  })

  it('rejects an unknown effect, and a payload that does not fit its schema', async () => {
    const { home, db } = await open()
    await using _ = home
    await expect(db.apply([{ effect: 'no.such', payload: {} }])).rejects.toThrow(
      'no plugin defines the effect "no.such"',
    )
    await expect(db.apply([{ effect: 'test.take', payload: { key: 7 } }])).rejects.toThrow(/test\.take.*key/)
  })
})

describe('writes of one turn of the event loop', () => {
  /** Counts the transactions that reach SQLite. */
  async function openCounted() {
    const begun: string[] = []
    const counted = definePlugin({
      name: 'counted',
      setup(svc) {
        svc.provide(Medium, {
          connect(file, open) {
            const connection = open(file)
            const prepare = connection.prepare.bind(connection)
            connection.prepare = sql => {
              const statement = prepare(sql)
              if (!sql.startsWith('BEGIN')) return statement
              const run = statement.run.bind(statement)
              return Object.assign(statement, { run: () => begun.push(sql) && run() })
            }
            return connection
          },
        })
      },
    })
    const { home, db } = await open({ builtins: [counted, store, plugin] })
    begun.length = 0
    return { home, db, begun }
  }
  const keys = async (db: Store) =>
    (await db.all<{ key: string }>('SELECT key FROM plugin_values ORDER BY key')).map(({ key }) => key)
  const put = (key: string) => setValue({ namespace: 'test', key, value: 1 })

  it('are committed together, in order', async () => {
    const { home, db, begun } = await openCounted()
    await using _ = home
    await Promise.all(
      ['a', 'b', 'c'].map((key, n) =>
        db.apply([put(key), appendEvent({ type: 'tested', agent_id: 'a', data: { n } })]),
      ),
    )
    expect(begun).toHaveLength(1)
    expect(await keys(db)).toEqual(['a', 'b', 'c'])
    expect((await db.events(0, 10)).map(({ data }) => data.n)).toEqual([0, 1, 2])
  })

  it('have separate outcomes: a write that fails leaves the others and writes nothing', async () => {
    const { home, db } = await openCounted()
    await using _ = home
    const unique = { effect: 'test.booked', payload: { key: 'unique' } }
    const outcomes = await Promise.allSettled([
      db.apply([put('a')]),
      db.apply([{ effect: 'test.take', payload: { key: 'missing' } }, put('b')]),
      db.apply([unique]),
      db.apply([put('c'), unique]),
      db.apply([put('d')]),
    ])
    expect(outcomes.map(({ status, ...rest }) => ('value' in rest ? rest.value : status))).toEqual([
      true,
      false,
      true,
      'rejected',
      true,
    ])
    expect(await keys(db)).toEqual(['a', 'd', 'unique'])
  })

  it('are written before the database is closed', async () => {
    const { home, db } = await openCounted()
    await using _ = home
    const written = db.apply([put('last')])
    await home.kernel.close()
    await expect(written).resolves.toBe(true)
    const other = beside(home.root)
    expect(other.prepare('SELECT key FROM plugin_values').all()).toEqual([{ key: 'last' }])
    other.close()
  })
})

describe('a write lock held by another process', () => {
  /** Starts a process that holds the write lock until its standard input ends. */
  async function lock(root: string) {
    const script = `const db = new (require('better-sqlite3'))(process.argv[1]); db.exec('BEGIN IMMEDIATE'); console.log('held');
      process.stdin.resume(); process.stdin.on('end', () => { db.exec('ROLLBACK'); console.log('free') })`
    const child = spawn(process.execPath, ['-e', script, join(root, '.svc', 'svc.db')], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    await new Promise<void>(resolve => child.stdout.once('data', () => resolve()))
    return { free: () => new Promise<void>(resolve => child.once('close', () => resolve()) && child.stdin.end()) }
  }

  it('is waited for without blocking the event loop or reads', async () => {
    const { home, db } = await open({ clock: 'system' })
    await using _ = home
    const held = await lock(home.root)
    let turns = 0
    let written = false
    const write = db.apply([setValue({ namespace: 'test', key: 'k', value: 1 })]).then(() => {
      written = true
    })
    while (turns < 200) {
      await db.health()
      await new Promise(resolve => setImmediate(resolve))
      turns++
    }
    expect(written).toBe(false)
    await held.free()
    await write
    expect(await db.get('SELECT value FROM plugin_values')).toEqual({ value: '1' })
  })

  it('rejects a write after 5 s with a 503 and a retry time', async () => {
    const { home, db } = await open()
    await using _ = home
    const held = await lock(home.root)
    const write = db.apply([setValue({ namespace: 'test', key: 'k', value: 1 })])
    const refused = expect(write).rejects.toMatchObject({ code: 'database_locked', status: 503, retryAfter: 1 })
    await home.clock.advance(5_100)
    await refused
    await held.free()
  })
})

describe('the database file', () => {
  it('is private and marked as ours, and uses WAL on a SQLite version without the WAL-reset bug', async () => {
    const { home, db } = await open()
    await using _ = home
    const at = (name: string) => join(home.root, '.svc', name)
    expect((await stat(at('svc.db'))).mode & 0o777).toBe(0o600)
    const other = beside(home.root)
    expect(other.pragma('application_id', { simple: true })).toBe(APPLICATION_ID)
    expect(other.pragma('journal_mode', { simple: true })).toBe('wal')
    expect(other.pragma('user_version', { simple: true })).toBe(MIGRATIONS.length)
    other.close()
    const row = await db.get<{ version: string }>('SELECT sqlite_version() AS version')
    const [, minor, patch] = String(row?.version).split('.').map(Number)
    expect((minor ?? 0) * 1000 + (patch ?? 0)).toBeGreaterThanOrEqual(51_003)
    expect(await db.get('PRAGMA synchronous')).toEqual({ synchronous: 1 })
    expect(await db.get('PRAGMA foreign_keys')).toEqual({ foreign_keys: 1 })
  })

  it('that was removed or replaced while in use is reported', async () => {
    const { home, db } = await open()
    await using _ = home
    await db.health()
    await rm(join(home.root, '.svc', 'svc.db'))
    await expect(db.health()).rejects.toMatchObject({ code: 'database_unusable', status: 503 })
    await expect(db.health()).rejects.toThrow(/^\.svc\/svc\.db was removed or replaced/)
  })

  for (const [what, make] of Object.entries({
    'is no database': (file: string) =>
      writeFile(file, 'just some text, long enough to be looked at as a header of a file'),
    'belongs to another program': async (file: string) => {
      const db = new Sqlite(file)
      db.exec('CREATE TABLE theirs (x)')
      db.close()
    },
    'comes from a newer version': async (file: string) => {
      const db = new Sqlite(file)
      db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 999; CREATE TABLE t (x)`)
      db.close()
    },
    'was emptied': async (file: string) => {
      await mkdir(join(dirname(file), 'workspaces', 'coder-1'), { recursive: true })
      await writeFile(file, '')
    },
    'is damaged': async (file: string) => {
      const db = new Sqlite(file)
      db.exec(`PRAGMA application_id = ${APPLICATION_ID}; CREATE TABLE t (x); CREATE INDEX i ON t (x)`)
      for (let n = 0; n < 500; n++) db.prepare('INSERT INTO t VALUES (?)').run('x'.repeat(50) + n)
      db.close()
      const bytes = await readFile(file)
      bytes.fill(0xff, 5000, 9000)
      await writeFile(file, bytes)
    },
  })) {
    it(`that ${what} is refused and left unchanged, with its name and a remedy in the error`, async () => {
      await using dir = await tempDir()
      await dir.write({ '.svc/.keep': '' })
      const file = join(dir.path, '.svc', 'svc.db')
      await make(file)
      const before = await readFile(file)
      const error = await testHost({ builtins: [store], root: dir.path }).then(
        () => undefined,
        (error: Error) => error,
      )
      expect(error).toMatchObject({ code: 'database_unusable' })
      expect(error?.message).toMatch(/^\.svc\/svc\.db .+; .+\.$/)
      expect(before.equals(await readFile(file))).toBe(true)
    })
  }
})

for (const [what, make] of Object.entries({
  'a directory': (file: string) => mkdir(file),
  'a link that leads nowhere': (file: string) => symlink('/nowhere/svc.db', file),
})) {
  it(`a start with ${what} in place of the database file fails with the reason and a remedy`, async () => {
    await using dir = await tempDir()
    await dir.write({ '.svc/.keep': '' })
    await make(join(dir.path, '.svc', 'svc.db'))
    const refused = testHost({ builtins: [store], root: dir.path })
    await expect(refused).rejects.toThrow(/^\.svc\/svc\.db cannot be opened \(E\w+: .+; check .+\.$/)
  })
}

it('an empty file, as left by a killed start, becomes a new database', async () => {
  await using dir = await tempDir()
  await dir.write({ '.svc/svc.db': '' })
  const { home, db } = await open({ root: dir.path })
  await using _ = home
  expect(await db.get('PRAGMA user_version')).toEqual({ user_version: MIGRATIONS.length })
})

describe('the database schema', () => {
  /** Creates a database of version 1 with a row in every child table. */
  async function versionOne(file: string): Promise<void> {
    const db = new Sqlite(file)
    db.exec(MIGRATIONS[0]?.sql ?? '')
    db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 1`)
    db.exec(`
      INSERT INTO agents (agent_id, name, role, status, spawned_at, cycles_lived) VALUES ('a', 'coder', 'r', 'paused', 5, 7), ('b', 'b', 'r', 'idle', 6, 0);
      INSERT INTO goals (goal_id, agent_id, objective, created_at) VALUES ('g', 'a', 'do it', 1);
      INSERT INTO nudges (nudge_id, agent_id, message, delivered, created_at) VALUES ('n', 'a', 'hello', 1, 1), ('n2', 'a', 'new', 0, 2);
      INSERT INTO schedules (schedule_id, agent_id, objective, created_at) VALUES ('s', 'a', 'again', 1);
      INSERT INTO sub_agents (sub_agent_id, parent_agent_id, task, created_at) VALUES ('u', 'a', 'help', 1);
      INSERT INTO tasks (task_id, agent_id, description, created_at) VALUES ('t', 'a', 'todo', 1);
      INSERT INTO alarms (alarm_id, agent_id, description, fire_at, created_at) VALUES ('al', 'a', 'ring', 9, 1);
      INSERT INTO sessions (session_id, agent_id, started_at, created_at, last_active) VALUES ('se', 'a', 1, 1, 1);`)
    db.close()
  }
  const children = ['goals', 'nudges', 'schedules', 'sub_agents', 'tasks', 'alarms', 'sessions']

  it('is migrated from version 1 in place after a backup: all rows stay, and deletes cascade', async () => {
    await using dir = await tempDir()
    await dir.write({ '.svc/.keep': '' })
    const file = join(dir.path, '.svc', 'svc.db')
    await versionOne(file)
    const { home, db } = await open({ root: dir.path })
    try {
      for (const table of children)
        expect(await db.get(`SELECT count(*) > 0 AS kept FROM ${table}`), table).toEqual({ kept: 1 })
      expect(await db.get("SELECT paused_at, died_at, preset FROM agents WHERE agent_id = 'a'")).toEqual({
        paused_at: 5,
        died_at: null,
        preset: 'coder',
      })
      expect(await db.get("SELECT cycle_num FROM leases WHERE id = 'a'")).toEqual({ cycle_num: 7 })
      const backups = await readdir(join(dir.path, '.svc', 'backups'))
      expect(backups).toHaveLength(1)
      const backup = new Sqlite(join(dir.path, '.svc', 'backups', backups[0] ?? ''))
      expect(backup.pragma('user_version', { simple: true })).toBe(1)
      expect(backup.pragma('integrity_check', { simple: true })).toBe('ok')
      backup.close()
      const other = beside(dir.path)
      other.pragma('foreign_keys = ON')
      other.prepare("DELETE FROM agents WHERE agent_id = 'a'").run()
      other.close()
      for (const table of children)
        expect(await db.get(`SELECT count(*) AS left FROM ${table}`), table).toEqual({ left: 0 })
    } finally {
      await home.close()
    }
  })

  it('is migrated once when eight processes start at the same time', async () => {
    await using dir = await tempDir()
    await dir.write({ '.svc/.keep': '' })
    await versionOne(join(dir.path, '.svc', 'svc.db'))
    const homes = await Promise.all(
      Array.from({ length: 8 }, () => testHost({ builtins: [store], root: dir.path, clock: 'system' })),
    )
    for (const home of homes) {
      expect(await home.kernel.use(Store).get('SELECT count(*) AS n FROM goals')).toEqual({ n: 1 })
      await home.close()
    }
  })

  it('matches the reviewed snapshot', async () => {
    const { home, db } = await open()
    await using _ = home
    const tables = await db.all<{ name: string; sql: string }>(
      "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC, name",
    )
    const plain = tables.map(({ sql }) => sql.replace(/--.*$/gm, '').replace(/\s+/g, ' '))
    expect(plain.join('\n')).toMatchSnapshot()
  })

  it('has an index for each table that is searched when an agent is deleted, or for what it has read', async () => {
    const { home, db } = await open()
    await using _ = home
    const plan = await db.all<{ detail: string }>("EXPLAIN QUERY PLAN DELETE FROM agents WHERE agent_id = 'coder-1'")
    expect(plan.filter(({ detail }) => detail.startsWith('SCAN'))).toEqual([])
    const [read] = await db.all<{ detail: string }>(
      "EXPLAIN QUERY PLAN SELECT 1 FROM nudges_view WHERE agent_id = 'coder-1' AND delivered_at < 1",
    )
    expect(read!.detail).toContain('(agent_id=? AND delivered_at<?)')
  })
})

describe('a wall clock set back', () => {
  it('delays no agent', async () => {
    const { home, scheduler } = await open()
    await using _ = home
    addAgents(home.root, 'a')
    for (const lease of await scheduler.claim(9))
      await scheduler.commit(lease, [], { run_at: home.clock.ms() + 10_000 })
    home.clock.jump(-3_600_000)
    await home.clock.advance(5_000)
    expect(await scheduler.claim(9)).toEqual([])
    await home.clock.advance(5_000)
    expect((await scheduler.claim(9)).map(lease => lease.id).sort()).toEqual(['a', 'sys:beat'])
  })

  it('costs no process its lease and starts no agent early, with several processes', async () => {
    const { home, scheduler } = await open()
    await using _ = home
    addAgents(home.root, 'a', 'b')
    await using second = await testHost({ builtins: [store, plugin], root: home.root, clock: home.clock })
    const other = second.kernel.use(SchedulerToken)
    const leases = await scheduler.claim(9)
    const held = leases.find(({ id }) => id === 'a')!
    for (const lease of leases)
      if (lease !== held) await scheduler.commit(lease, [], { run_at: home.clock.ms() + 10_000 })
    home.clock.jump(-3_600_000)
    for (const each of [scheduler, other, scheduler, other]) expect(await each.claim(9)).toEqual([])
    expect(await scheduler.commit(held, [], 'keep')).toBe('ok')
    await home.clock.advance(10_000)
    expect((await other.claim(9)).map(({ id }) => id).sort()).toEqual(['b', 'sys:beat'])
  })

  it.each([
    ['while the service runs', 'at rest'],
    ['while the service runs', 'in a cycle'],
    ['while it does not', 'at rest'],
    ['while it does not', 'in a cycle'],
  ])('%s does not make an agent that was woken %s wait for a heartbeat', async (when, where) => {
    const { home, db, scheduler } = await open()
    await using _ = home
    addAgents(home.root, 'a', 'b')
    const leases = await scheduler.claim(9)
    if (where === 'in a cycle') {
      await home.clock.advance(3_600_000)
      await scheduler.renew(leases)
      await scheduler.wake(['a'], 'nudged')
    }
    for (const lease of leases) await scheduler.commit(lease, [], { run_at: home.clock.ms() + 10_000 })
    if (where === 'at rest') {
      await home.clock.advance(5_000)
      await scheduler.wake(['a'], 'nudged')
    }
    home.clock.jump(-3_600_000)
    if (when === 'while it does not') await db.recover([])
    else expect(await scheduler.claim(9)).toEqual([])
    await home.clock.advance(1_000)
    expect((await scheduler.claim(9)).map(({ id }) => id)).toEqual(['a'])
  })

  it.each(['while the service runs', 'while it does not'])(
    '%s does not delay an agent that was paused before',
    async when => {
      const { home, db, scheduler } = await open()
      await using _ = home
      addAgents(home.root, 'a')
      for (const lease of await scheduler.claim(9))
        await scheduler.commit(lease, [], { run_at: home.clock.ms() + 10_000 })
      const pauseAt = (at: number | null) => {
        const other = beside(home.root)
        other.prepare('UPDATE agents SET paused_at = ?').run(at)
        other.prepare("UPDATE leases SET run_at = ? WHERE id = 'a'").run(NEVER)
        other.close()
      }
      pauseAt(home.clock.ms())
      home.clock.jump(-3_600_000)
      if (when === 'while the service runs') await scheduler.claim(9)
      else await db.recover([])
      pauseAt(null)
      await scheduler.wake(['a'], 'resumed')
      await home.clock.advance(1_000)
      expect((await scheduler.claim(9)).map(lease => lease.id)).toContain('a')
    },
  )
})
