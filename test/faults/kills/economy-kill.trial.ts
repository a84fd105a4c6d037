import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { RunningSvc, svc, tempDir, until } from '../../support/index.ts'
import Sqlite from '../../support/sqlite.ts'

const HOOK = fileURLToPath(new URL('./crash-hook.js', import.meta.url))
const POINTS = ['inside world.tick:3', 'inside life.decide', 'after life.decide']

it('an economy killed during a tick or a choice goes on: each tick is paid once or not at all, and it balances', async () => {
  await using dir = await tempDir()
  const options = { cwd: dir.path }
  await svc(['init', '--quiet'], options)
  await dir.write({
    '.svc/config.yaml':
      'seed: 7\ndaemon:\n  heartbeat: 0.2\nmodel:\n  sim_delay: 0\neconomy:\n  enabled: true\n  life_event_chance: 1\n',
  })
  const all = <R>(sql: string, write = false): R[] => {
    const db = new Sqlite(join(dir.path, '.svc/svc.db'), { timeout: 5000 })
    try {
      if (!write) return db.prepare(sql).all() as R[]
      db.exec(sql)
      return []
    } finally {
      db.close()
    }
  }
  const sound = (point: string) => {
    const twice = all(
      "SELECT payee, beat FROM world_entries WHERE reason = 'salary' GROUP BY payee, beat HAVING count(*) > 1",
    )
    const half = all("SELECT beat FROM world_entries WHERE reason = 'salary' GROUP BY beat HAVING count(*) <> 2")
    const unpaid = all(
      "SELECT life_event_id FROM life_events l WHERE status = 'decided' AND effects LIKE '%money%' AND NOT EXISTS (SELECT 1 FROM world_entries e WHERE e.entry_id = l.life_event_id)",
    )
    const reported = all(
      "SELECT l.life_event_id FROM life_events l WHERE status = 'decided' AND (SELECT count(*) FROM events e WHERE e.type = 'life_event' AND e.data LIKE '%' || l.life_event_id || '%') <> 1",
    )
    const [sum] = all<{ total: number }>('SELECT sum(balance) AS total FROM world_accounts')
    const wrong = all(
      `SELECT account FROM world_accounts a WHERE balance <> (SELECT coalesce(sum(CASE WHEN payee = a.account THEN amount ELSE -amount END), 0)
       FROM world_entries WHERE payee = a.account OR payer = a.account)`,
    )
    expect({ twice, half, unpaid, reported, total: sum!.total, wrong }, point).toEqual({
      twice: [],
      half: [],
      unpaid: [],
      reported: [],
      total: 0,
      wrong: [],
    })
  }

  const beatNow = () => all<{ beat: number }>('SELECT beat FROM world_clock')[0]!.beat

  await using first = new RunningSvc(['start', '-p', 'coder,writer'], options)
  await first.waitForOutput(/the daemon runs/)
  await until(() => beatNow() >= 2)
  expect(await first.end('SIGTERM')).toBe(0)
  // Replaces the jobs that the agents found meanwhile.
  all(
    `DELETE FROM world_jobs; INSERT INTO world_jobs (job_id, agent_id, since_beat) SELECT CASE WHEN name = 'coder' THEN 'analyst' ELSE 'clerk' END, agent_id, 0 FROM agents`,
    true,
  )
  for (const point of POINTS) {
    const env = { SVC_CRASH_AT: point, NODE_OPTIONS: `--import=${HOOK}` }
    await using daemon = new RunningSvc(['start', '-p', 'coder,writer'], { ...options, env })
    expect(await daemon.ended, `${point}\n${daemon.stderr.slice(-1000)}`).toBeNull()
    sound(point)
  }
  const before = beatNow()
  await using last = new RunningSvc(['start', '-p', 'coder,writer'], options)
  await until(() => beatNow() >= before + 3)
  expect(await last.end('SIGTERM')).toBe(0)
  sound('the end')
  const { stdout } = await svc(['ledger'], options)
  expect(stdout).toContain('Balanced: all balances add up to 0')
  expect((await svc(['world'], options)).stdout).toMatch(/Analyst +50\.00 +coder/)
  expect((await svc(['world', 'of', 'coder'], options)).stdout).toMatch(/job +Analyst/)
  expect((await svc(['life', 'coder'], options)).stdout).toMatch(/^heartbeat \d+ {2}/m)
}, 180_000)
