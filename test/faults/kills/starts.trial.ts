import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { MIGRATIONS } from '#migrations'
import { APPLICATION_ID } from '#platform/store/schema'
import { project } from '../../cli/project.ts'
import { RunningSvc, svc } from '../../support/index.ts'
import Sqlite from '../../support/sqlite.ts'
import { trialCount } from '../../support/vitest/trial-count.ts'

const HOOK = fileURLToPath(new URL('./crash-hook.js', import.meta.url))
const CHILDREN = ['goals', 'nudges', 'schedules', 'sub_agents', 'tasks', 'alarms', 'sessions']

/** Creates a database of the first version, with a row in each of its tables. */
function versionOne(root: string): void {
  const db = new Sqlite(join(root, '.svc/svc.db'))
  db.exec(MIGRATIONS[0]!.sql)
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = 1;
    INSERT INTO agents (agent_id, name, role, spawned_at) VALUES ('a', 'coder', 'r', 5);
    INSERT INTO goals (goal_id, agent_id, objective, created_at) VALUES ('g', 'a', 'do it', 1);
    INSERT INTO nudges (nudge_id, agent_id, message, created_at) VALUES ('n', 'a', 'hello', 1);
    INSERT INTO schedules (schedule_id, agent_id, objective, created_at) VALUES ('s', 'a', 'again', 1);
    INSERT INTO sub_agents (sub_agent_id, parent_agent_id, task, created_at) VALUES ('u', 'a', 'help', 1);
    INSERT INTO tasks (task_id, agent_id, description, created_at) VALUES ('t', 'a', 'todo', 1);
    INSERT INTO alarms (alarm_id, agent_id, description, fire_at, created_at) VALUES ('al', 'a', 'ring', 9, 1);
    INSERT INTO sessions (session_id, agent_id, started_at, created_at, last_active) VALUES ('se', 'a', 1, 1, 1);`)
  db.close()
}

function look(root: string) {
  const db = new Sqlite(join(root, '.svc/svc.db'))
  try {
    const count = (table: string) => (db.prepare(`SELECT count(*) AS n FROM ${table}`).get() as { n: number }).n
    const tables = new Set(
      (db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all() as { name: string }[]).map(
        row => row.name,
      ),
    )
    return {
      version: db.pragma('user_version', { simple: true }) as number,
      integrity: db.pragma('integrity_check', { simple: true }),
      half: [...tables].filter(name => name.endsWith('_before')),
      rows: CHILDREN.filter(name => tables.has(name)).map(count),
      agents: count('agents'),
    }
  } finally {
    db.close()
  }
}

const TOGETHER = trialCount(8, 4)

describe('processes that start at once', () => {
  for (const [what, prepare] of [
    ['make an absent database once', async () => {}],
    ['bring an old one up once, with every row', async (root: string) => versionOne(root)],
  ] as const) {
    it(`${TOGETHER} of them ${what}`, async () => {
      await using dir = await project()
      await prepare(dir.path)
      const words = ['serve', '--port', '0']
      const servers = Array.from({ length: TOGETHER }, () => new RunningSvc(words, { cwd: dir.path }))
      try {
        await Promise.all(servers.map(server => server.waitForOutput(/^Logs: /m)))
        const found = look(dir.path)
        expect(found).toMatchObject({ version: MIGRATIONS.length, integrity: 'ok', half: [] })
        if (found.agents > 0) for (const rows of found.rows) expect(rows).toBe(1)
      } finally {
        await Promise.all(servers.map(server => server.end('SIGTERM')))
      }
    })
  }
})

describe('a process that is killed while it migrates or restores the database', () => {
  it('leaves the old schema or the new one at each step, and the next process goes on', async () => {
    await using dir = await project()
    versionOne(dir.path)
    let version = 1
    const points = [
      'database copied',
      'migration begins',
      'migration step made',
      'migration step written',
      'migration step made:2',
    ]
    for (const point of points) {
      const env = { SVC_CRASH_AT: point, NODE_OPTIONS: `--import=${HOOK}` }
      expect((await svc(['status'], { cwd: dir.path, env })).code, point).toBeNull()
      const found = look(dir.path)
      expect(found).toMatchObject({ integrity: 'ok', half: [], agents: 1 })
      expect(found.version).toBeGreaterThanOrEqual(version)
      expect(found.rows).toEqual(CHILDREN.map(() => 1))
      version = found.version
    }
    expect(version).toBe(3)
    expect((await svc(['status'], { cwd: dir.path })).code).toBe(0)
    expect(look(dir.path)).toMatchObject({ version: MIGRATIONS.length, integrity: 'ok', agents: 1 })
    const backups = (await readdir(join(dir.path, '.svc/backups'))).filter(name => name.endsWith('.db'))
    expect(backups.length).toBeGreaterThan(0)
    for (const name of backups) {
      expect((await svc(['db', 'check', join(dir.path, '.svc/backups', name)], { cwd: dir.path })).code).toBe(0)
    }
  })

  it('leaves the previous database or the backup when it restores', async () => {
    await using dir = await project()
    const cwd = dir.path
    await svc(['spawn', 'coder'], { cwd })
    await svc(['db', 'backup', 'one.db'], { cwd })
    await svc(['spawn', 'writer'], { cwd })
    const left: number[] = []
    for (const point of ['database copied', 'database set aside', 'database replaced']) {
      const env = { SVC_CRASH_AT: point, NODE_OPTIONS: `--import=${HOOK}` }
      expect((await svc(['db', 'restore', 'one.db'], { cwd, env })).code, point).toBeNull()
      left.push(look(cwd).agents)
    }
    expect(left).toEqual([2, 2, 1])
    expect((await svc(['db', 'restore', 'one.db'], { cwd })).code).toBe(0)
  })
})
