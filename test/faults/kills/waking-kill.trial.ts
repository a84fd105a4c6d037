import { join } from 'node:path'
import { expect, it } from 'vitest'
import { FAST, project } from '../../cli/project.ts'
import { RunningSvc, svc } from '../../support/cli.ts'
import Sqlite from '../../support/sqlite.ts'

const KILLS = 4

/** Reads rows of the database, beside whatever daemon runs. */
function readRows<R>(root: string, sql: string): R[] {
  const db = new Sqlite(join(root, '.svc', 'svc.db'), { readonly: true })
  try {
    return db.prepare(sql).all() as R[]
  } finally {
    db.close()
  }
}

it('a daemon that is killed repeatedly fires no scheduled slot twice, loses none, and fires no alarm twice', async () => {
  await using dir = await project(FAST)
  const { path: root } = dir
  const run = async (...words: string[]) => expect(await svc(words, { cwd: root })).toMatchObject({ code: 0 })
  await run('spawn', 'coder')
  await run('schedules', 'add', 'coder', 'Tidy up the notepad', '--every', '1')
  for (let n = 0; n < KILLS; n++) await run('alarms', 'set', 'coder', `in ${5 + n * 3} seconds`, `Bell ${n}`)
  for (let kill = 0; kill < KILLS; kill++) {
    const before = readRows(root, "SELECT 1 FROM events WHERE type IN ('schedule_fired', 'schedule_skipped')").length
    await using daemon = new RunningSvc(['start'], { cwd: root })
    await daemon.waitForOutput(/^Logs: /m)
    const settledMore = () =>
      readRows(root, "SELECT 1 FROM events WHERE type IN ('schedule_fired', 'schedule_skipped')").length > before + 1
    while (!settledMore()) await new Promise(resolve => setTimeout(resolve, 50))
    await daemon.end('SIGKILL')
  }
  const fired = readRows<{ slot: string; goal_id: string }>(
    root,
    "SELECT data ->> 'slot' AS slot, data ->> 'goal_id' AS goal_id FROM events WHERE type = 'schedule_fired'",
  )
  const goals = readRows<{ goal_id: string }>(root, "SELECT goal_id FROM goals WHERE origin = 'schedule'")
  const [row] = readRows<{ fired: number; skipped: number; next_at: number; created_at: number }>(
    root,
    'SELECT fired, skipped, next_at, created_at FROM schedules',
  )
  expect(new Set(fired.map(({ slot }) => slot)).size).toBe(fired.length)
  expect(fired.map(({ goal_id }) => goal_id).sort()).toEqual(goals.map(({ goal_id }) => goal_id).sort())
  expect(row?.fired).toBe(fired.length)
  // Every second since the start was either fired or skipped.
  const slots = Math.floor(((row?.next_at ?? 0) - (row?.created_at ?? 0)) / 1000) - 1
  expect(Math.abs((row?.fired ?? 0) + (row?.skipped ?? 0) - slots)).toBeLessThanOrEqual(1)
  const rung = readRows<{ alarm_id: string }>(
    root,
    "SELECT data ->> 'alarm_id' AS alarm_id FROM events WHERE type = 'alarm_fired'",
  )
  expect(new Set(rung.map(({ alarm_id }) => alarm_id)).size).toBe(rung.length)
  expect(rung.length).toBe(readRows(root, "SELECT 1 FROM alarms WHERE status = 'fired'").length)
  expect(rung.length).toBeGreaterThan(0)
}, 120_000)
