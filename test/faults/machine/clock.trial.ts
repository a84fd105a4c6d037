import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { FAST, project } from '../../cli/project.ts'
import { RunningSvc, until } from '../../support/index.ts'
import Sqlite from '../../support/sqlite.ts'

const HOOK = fileURLToPath(new URL('./clock-hook.js', import.meta.url))
const DAY = 86_400_000

const cycles = (cwd: string) => {
  const db = new Sqlite(join(cwd, '.svc/svc.db'), { readonly: true })
  try {
    return (db.prepare("SELECT cycle_num FROM leases WHERE kind = 'agent'").get() as { cycle_num: number }).cycle_num
  } finally {
    db.close()
  }
}

it('a wall clock that jumps by two days, forwards or back, neither stops nor speeds up the heartbeat', async () => {
  await using dir = await project(FAST)
  const cwd = dir.path
  const clock = join(cwd, 'clock')
  await writeFile(clock, '0')
  const env = { NODE_OPTIONS: `--import=${HOOK}`, SVC_CLOCK_OFF: clock }
  await using daemon = new RunningSvc(['start', '-p', 'coder'], { cwd, env })
  await daemon.waitForOutput(/^Logs: /m)
  for (const jump of [2 * DAY, -2 * DAY, 0]) {
    await writeFile(clock, String(jump))
    const before = cycles(cwd)
    const began = performance.now()
    await until(() => cycles(cwd) >= before + 5)
    await new Promise(resolve => setTimeout(resolve, 1_000))
    const rate = (cycles(cwd) - before) / ((performance.now() - began) / 1000)
    // A heartbeat of 0.2 s, and cycles that follow one another while there is something to do.
    expect(rate, `by ${jump} ms`).toBeLessThan(25)
  }
  const days = new Set([...daemon.stderr.matchAll(/"time":"(\d{4}-\d\d-\d\d)/g)].map(([, day]) => day))
  expect(days.size, 'the clock that it was given').toBeGreaterThanOrEqual(3)
  expect(daemon.stderr).not.toMatch(/"level":50/)
  expect(await daemon.end('SIGTERM')).toBe(0)
})
