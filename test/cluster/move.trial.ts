import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { Memory } from '#core/memory/contract'
import memory from '#core/memory/index'
import { definePlugin } from '#kernel'
import metrics from '#observability/metrics/index'
import { addCounts, readCounts } from '#observability/metrics/repository'
import daemon from '#platform/daemon/index'
import { Store } from '#platform/store/contract'
import { runMigration } from '#platform/store/extension'
import store from '#platform/store/index'
import { FAST, project } from '../cli/project.ts'
import { asksForGoal, detail, goalsOf, spawn, testHostWithModel } from '../spec/core/models/model-host.ts'
import { svc as cold, RunningSvc } from '../support/cli.ts'
import { type TestHost, tempDir, testHost, text, toolCall, until } from '../support/index.ts'
import { cluster, postgresOr, testDatabase } from '../support/postgres.ts'
import { svc } from '../support/vitest/warm.ts'

const server = await postgresOr(reason => console.warn(`PostgreSQL is left out: ${reason}`))

const HOOK = join(import.meta.dirname, '../faults/kills/crash-hook.js')
/** A plugin with tables, their rows as text by `svc tides`, and one more row by `svc tide`. */
const tides = (...more: string[]) => `
  import { definePlugin, Store, z } from 'svc'
  import { defineEffect, Effects } from 'svc/store'
  const add = defineEffect({
    name: 'tides.add',
    schema: z.object({ place: z.string() }),
    statements: ({ place }) => [
      { sql: 'INSERT INTO svc_tides_places (place, height) VALUES (?, 0.1)', params: [place] },
      { sql: 'INSERT INTO svc_tides_seen (place) VALUES (?)', params: [place] },
    ],
  })
  export default definePlugin({
    name: 'tides',
    needs: ['store'],
    setup(svc) {
      svc.migrations(${JSON.stringify([...TIDES, ...more])})
      svc.add(Effects, add.kind)
      svc.operation({
        name: 'tides.add', summary: 'Add a place', input: z.object({ place: z.string() }),
        output: z.boolean(), cli: { usage: 'tide <place>' },
        run: ({ place }) => svc.use(Store).apply([add({ place })]),
      })
      svc.operation({
        name: 'tides.list', summary: 'List places', input: z.object({}), output: z.string(), cli: { usage: 'tides' },
        async run() {
          const rows = await svc.use(Store).all(
            'SELECT p.place, p.height, s.seenid FROM svc_tides_places p LEFT JOIN svc_tides_seen s ON s.place = p.place ORDER BY p.place'
          )
          return rows.map(row => Object.values(row).join(' ')).join(', ')
        },
      })
    },
  })`
const TIDES = [
  'CREATE TABLE svc_tides_places (place TEXT PRIMARY KEY, height REAL NOT NULL)',
  'CREATE TABLE svc_tides_seen (seenId INTEGER PRIMARY KEY AUTOINCREMENT, place TEXT NOT NULL REFERENCES svc_tides_places (place))',
  "INSERT INTO svc_tides_places (place, height) VALUES ('Ghent', 2.5)",
]
const RAISED = "UPDATE svc_tides_places SET height = 3.3 WHERE place = 'Ghent'"
const LAST = 'UPDATE svc_tides_places SET height = height + 1'

const OBJECTIVE = "Find the red key in Björn's garden ☃"

it.skipIf(!server)(
  'a project moves from its file into a database once, with goals, costs, memories and counts',
  async () => {
    const database = await testDatabase(server!)
    const modules = [cluster, memory, daemon, metrics]
    const counts = { 'of this test': 4 }
    const script = (request: { prompt: string }) =>
      asksForGoal(request as never)
        ? text(JSON.stringify({ goal: OBJECTIVE, reasoning: 'because' }))
        : toolCall('finish_goal', { summary: "It was under the 'third' stone", evidence: [] })
    try {
      await using before = await testHostWithModel(script as never, {
        builtins: modules,
        roles: ['server'],
        env: { SVC_STORE_URL: '' },
      })
      const id = await spawn(before)
      before.kernel.heartbeat.start()
      await until(before, 'goal_completed')
      await before.kernel.heartbeat.stop()
      await before.kernel.use(Memory).of(id).store('The shed is green')
      for (let n = 0; n < 2; n++) await before.kernel.use(Store).apply([addCounts({ counts })])
      const seq = await before.kernel.use(Store).get<{ seq: number }>('SELECT max(seq) AS seq FROM events')

      const move = () => before.kernel.invoke('cluster.move', { to: database.url })
      expect(await move()).toMatchObject({ tables: expect.any(Number), files: expect.any(Number) })
      await expect(move()).rejects.toMatchObject({ code: 'target_in_use' })

      await using after = await testHost({
        builtins: [...(await import('../spec/core/models/model-host.ts')).AGENT_MODULES, ...modules],
        roles: ['server'],
        env: { SVC_STORE_URL: database.url },
        seed: before.seed + 1,
        files: { 'profiles/worker.yaml': 'name: worker\nrole: does what the script says\n' },
      })
      expect(await goalsOf(after, id)).toEqual(await goalsOf(before, id))
      expect((await goalsOf(after, id))[0]?.objective).toBe(OBJECTIVE)
      expect((await detail(after, id)).cost_usd).toBe((await detail(before, id)).cost_usd)
      expect((await after.kernel.use(Memory).of(id).search('shed')).map(({ thought }) => thought)).toEqual([
        'The shed is green',
      ])
      await after.kernel.use(Store).apply([addCounts({ counts })])
      expect(await readCounts(after.kernel.use(Store))).toMatchObject({ 'of this test': 12 })
      const another = await spawn(after)
      expect(another).not.toBe(id)
      const next = await after.kernel.use(Store).get<{ seq: number }>('SELECT max(seq) AS seq FROM events')
      expect(next!.seq).toBeGreaterThan(seq!.seq)
      await expect(after.kernel.invoke('cluster.move', { to: database.url })).rejects.toMatchObject({
        code: 'already_moved',
      })
    } finally {
      await database.drop()
    }
  },
)

it.skipIf(!server)(
  'a move that is killed continues when repeated, in both directions; a backup is restored on either side',
  async () => {
    const database = await testDatabase(server!)
    await using dir = await project(FAST)
    const { path: cwd } = dir
    const killAt = async (words: string[], point: string) => {
      const crash = { SVC_CRASH_AT: point, NODE_OPTIONS: `--import=${HOOK}` }
      expect((await cold(words, { cwd, env: crash })).code, point).toBeNull()
    }
    const stdoutOf = async (...words: string[]) => {
      const { code, stdout, stderr } = await svc(words, { cwd })
      expect([code, stderr]).toEqual([0, ''])
      return stdout
    }
    const names = async () =>
      (JSON.parse(await stdoutOf('status', '--json')) as { name: string }[]).map(({ name }) => name)
    const memoryOf = (id: string) => join(cwd, '.svc/memory', id, 'memories.jsonl')
    try {
      const { agent_id } = JSON.parse(await stdoutOf('spawn', 'coder', '--json')) as { agent_id: string }
      const line = `${JSON.stringify({ memory_id: 'mem-1', thought: 'the shed is green', ts: '2026-01-01T00:00:00Z' })}\n`
      await dir.write({ [`.svc/memory/${agent_id}/memories.jsonl`]: line, 'plugins/tides.ts': tides() })
      await stdoutOf('tide', 'Aalst')

      await using web = new RunningSvc(['serve', '--port', '0'], { cwd })
      await web.waitForOutput(/http:/)
      const refused = await svc(['db', 'move', '--to', database.url], { cwd })
      expect(refused.code).toBe(1)
      expect(refused.stderr).toContain(`in use by process ${web.pid}`)
      const waiting = killAt(['db', 'move', '--to', database.url, '--wait'], 'rows copied agents')
      expect(await web.end('SIGTERM')).toBe(0)
      await waiting
      const early = await svc(['status'], { cwd, env: { SVC_STORE_URL: database.url } })
      expect(early.stderr).toContain('contains an unfinished copy')
      await dir.write({ 'plugins/tides.ts': tides(RAISED) })
      await killAt(['db', 'move', '--to', database.url], 'rows copied leases')
      expect(await stdoutOf('db', 'move', '--to', database.url, '--switch')).toContain('and compared')
      await rm(join(cwd, '.svc/memory'), { recursive: true })
      expect(await readFile(join(cwd, '.svc/config.yaml'), 'utf8')).toContain(database.url)

      expect(await stdoutOf('tides')).toContain('Aalst 0.1 1, Ghent 3.3')
      await stdoutOf('tide', 'Bruges')
      await stdoutOf('spawn', 'writer')
      expect(await stdoutOf('db', 'backup', 'copy.db')).toContain('checked')
      expect(await stdoutOf('db', 'check')).toContain('is intact')
      await stdoutOf('spawn', 'tester')
      await stdoutOf('tide', 'Ostend')
      // A backup from before a step of the plugin is brought up to date.
      await dir.write({ 'plugins/tides.ts': tides(RAISED, LAST) })
      expect(await stdoutOf('db', 'restore', 'copy.db')).toContain('is kept as')
      expect(await names()).toEqual(['coder', 'writer'])

      expect(await stdoutOf('tides')).toContain('Aalst 1.1 1, Bruges 1.1 2, Ghent 4.3')

      await using daemon = new RunningSvc(['serve', '--with-daemon', '--port', '0'], { cwd })
      await daemon.waitForOutput(/^Logs: /m)
      expect((await svc(['db', 'move', '--back'], { cwd })).stderr).toContain(`PID ${daemon.pid}`)
      // What a killed daemon leaves behind does not count as a process at work.
      await daemon.end('SIGKILL')
      await using server = new RunningSvc(['serve', '--port', '0'], { cwd })
      await server.waitForOutput(/http:/)
      expect((await svc(['db', 'move', '--back'], { cwd })).stderr).toMatch(new RegExp(`in use by \\S+:${server.pid} `))
      expect(await server.end('SIGTERM')).toBe(0)

      await killAt(['db', 'move', '--back'], 'rows copied agents')
      await killAt(['db', 'move', '--back'], 'database filled')
      expect(await stdoutOf('db', 'move', '--back', '--switch')).toContain('is kept as')
      expect(await readFile(join(cwd, '.svc/config.yaml'), 'utf8')).not.toContain('postgres')
      expect(await names()).toEqual(['coder', 'writer'])
      expect(await readFile(memoryOf(agent_id), 'utf8')).toBe(line)
      expect(await stdoutOf('tides')).toContain('Aalst 1.1 1, Bruges 1.1 2, Ghent 4.3')
      await stdoutOf('tide', 'Ypres')
      expect(await stdoutOf('tides')).toContain('Ypres 0.1 3')

      await rm(join(cwd, '.svc/memory'), { recursive: true })
      await stdoutOf('db', 'restore', 'copy.db')
      expect(await names()).toEqual(['coder', 'writer'])
      expect(await readFile(memoryOf(agent_id), 'utf8')).toBe(line)
      expect(
        (await readdir(join(cwd, '.svc'))).filter(name => /moving|unpacking|^\.(backup|restore)/.test(name)),
      ).toEqual([])
    } finally {
      await database.drop()
    }
  },
)

/** Opens a project with a plugin that has these migrations; without any, the plugin is missing. */
async function hostOf(root: string, url: string, ...steps: string[]) {
  const plugin = definePlugin({ name: 'tides', needs: ['store'], setup: svc => svc.migrations(steps) })
  const builtins = [store, cluster, ...(steps.length > 0 ? [plugin] : [])]
  return testHost({ root, builtins, roles: ['server'], clock: 'system', env: { SVC_STORE_URL: url } })
}

/** Makes a table with no plugin. */
async function addTable(host: TestHost, sql: string): Promise<void> {
  await using _host = host
  await host.kernel.use(Store).apply([runMigration({ sql })])
}

const PLACES = 'CREATE TABLE tides (place TEXT PRIMARY KEY, height REAL NOT NULL DEFAULT 0.1)'
const GHENT = "INSERT INTO tides (place) VALUES ('Ghent')"

it.skipIf(!server)('processes that start at once on PostgreSQL run each step of a plugin once', async () => {
  await using dir = await tempDir()
  const database = await testDatabase(server!)
  try {
    const hosts = await Promise.all([1, 2, 3].map(() => hostOf(dir.path, database.url, PLACES, GHENT)))
    const first = hosts[0]!.kernel.use(Store)
    const rows = () => first.all('SELECT * FROM tides')
    for (let n = 0; n < 5; n++) expect(await rows()).toEqual([{ place: 'Ghent', height: 0.1 }])
    await using _newer = await hostOf(dir.path, database.url, PLACES, GHENT, 'ALTER TABLE tides ADD COLUMN seen TEXT')
    expect(await rows()).toEqual([{ place: 'Ghent', height: 0.1, seen: null }])
    const types =
      'SELECT data_type AS type, collation_name AS rule FROM information_schema.columns WHERE table_name = ?'
    expect(await first.all(`${types} ORDER BY ordinal_position`, ['tides'])).toEqual([
      { type: 'text', rule: 'C' },
      { type: 'double precision', rule: null },
      { type: 'text', rule: 'C' },
    ])
    await expect(hostOf(dir.path, database.url, PLACES)).rejects.toThrow('the database has 3')
    for (const host of hosts) await host[Symbol.asyncDispose]()
  } finally {
    await database.drop()
  }
})

it.skipIf(!server)('tables that cannot be copied are named before anything is written', async () => {
  await using dir = await tempDir()
  const root = dir.path
  const [database, other] = [await testDatabase(server!), await testDatabase(server!)]
  const refusal = async (url: string, operation: string, input: object, ...steps: string[]) => {
    await using host = await hostOf(root, url, ...steps)
    const error = await host.kernel.invoke(operation, input).catch((error: unknown) => error)
    expect(error).toMatchObject({ code: 'uncopyable_tables' })
    return (error as Error).message
  }
  const move = { to: database.url }
  const NOT_LOADED = 'Nothing was copied: the plugin tides, which has tables, is not loaded; install and enable'
  try {
    {
      await using _first = await hostOf(root, '', PLACES)
    }
    expect(await refusal('', 'cluster.move', move)).toContain(NOT_LOADED)
    {
      await using _newer = await hostOf(root, other.url, PLACES, GHENT)
    }
    expect(await refusal('', 'cluster.move', { to: other.url }, PLACES)).toContain('use an empty database')
    expect(await refusal(other.url, 'cluster.backup', {})).toContain(NOT_LOADED)
    expect(await refusal(other.url, 'cluster.move', { back: true })).toContain(NOT_LOADED)
    await rm(join(root, '.svc/svc.db'))
    const stray = 'CREATE TABLE waves (n INTEGER PRIMARY KEY)'
    expect(await refusal('', 'cluster.move', move, PLACES, 'CREATE TABLE waves (n INTEGER)')).toBe(
      'Nothing was copied: the table waves has no primary key; let its plugin replace it, in further steps of svc.migrations, by a table that has one.',
    )
    await rm(join(root, '.svc/svc.db'))
    await addTable(await hostOf(root, '', PLACES), stray)
    const STRAY = 'the table waves belongs to no module or loaded plugin'
    expect(await refusal('', 'cluster.move', move, PLACES)).toContain(STRAY)
    await addTable(await hostOf(root, other.url, PLACES, GHENT), stray)
    expect(await refusal(other.url, 'cluster.backup', {}, PLACES, GHENT)).toContain(STRAY)

    await using target = await hostOf(root, database.url)
    expect(await target.kernel.use(Store).all('SELECT * FROM plugin_values')).toEqual([])
    const known = "SELECT 1 FROM pg_tables WHERE tablename IN ('tides', 'waves', 'svc_move')"
    expect(await target.kernel.use(Store).all(known)).toEqual([])
    expect((await readdir(join(root, '.svc'))).filter(name => /moving|^\.(backup|restore)/.test(name))).toEqual([])
  } finally {
    await database.drop()
    await other.drop()
  }
})
