import { join } from 'node:path'
import { expect, it } from 'vitest'
import { project } from '../cli/project.ts'
import { RunningSvc } from '../support/cli.ts'
import Sqlite from '../support/sqlite.ts'
import { until } from '../support/until.ts'

const CONFIG = 'daemon: { heartbeat: 0.5, min_rest: 0, max_concurrent_agents: 4 }\nmodel: { sim_delay: 0.3 }\n'

interface HeldLease {
  id: string
  epoch: number
  cycle_num: number
}

it('one of two daemons on one file that freezes past its leases commits none of their cycles when it wakes', async () => {
  await using dir = await project({ '.svc/config.yaml': CONFIG })
  const cwd = dir.path
  await using first = new RunningSvc(['start', '-p', 'coder,writer,tester,reviewer,researcher,philosopher'], { cwd })
  await first.waitForOutput(/^Logs: /m)
  await using second = new RunningSvc(['start', '--join'], { cwd })
  await second.waitForOutput(/^Logs: /m)
  using db = Object.assign(new Sqlite(join(cwd, '.svc/svc.db'), { readonly: true }), {
    [Symbol.dispose]: () => void db.close(),
  })
  const heldBy = (pid: number) =>
    db
      .prepare("SELECT id, epoch, cycle_num FROM leases WHERE kind = 'agent' AND owner LIKE ?")
      .all(`%${pid}-%`) as HeldLease[]
  const done = db.prepare("SELECT count(*) FROM events WHERE type = 'cycle_done' AND agent_id = ? AND cycle_num = ?")
  let held: HeldLease[] = []
  await until(() => {
    second.process.kill('SIGSTOP')
    held = heldBy(second.pid)
    if (held.length === 0) second.process.kill('SIGCONT')
    return held.length > 0
  })
  const epochOf = db.prepare('SELECT epoch FROM leases WHERE id = ?').pluck()
  await until(() => held.every(({ id, epoch }) => (epochOf.get(id) as number) > epoch))
  second.process.kill('SIGCONT')
  await until(() => heldBy(second.pid).length > 0)
  for (const { id, cycle_num } of held) expect(done.pluck().get(id, cycle_num), `${id} ${cycle_num}`).toBe(0)
  const cycles = db.prepare("SELECT agent_id, cycle_num FROM events WHERE type = 'cycle_done'").raw().all()
  expect(new Set(cycles.map(String)).size).toBe(cycles.length)
  expect([await second.end('SIGTERM'), await first.end('SIGTERM')]).toEqual([0, 0])
})
