import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { FAST, project } from '../cli/project.ts'
import { RunningSvc, until } from '../support/index.ts'
import Sqlite from '../support/sqlite.ts'

/** The library that tells a process another time; undefined where it is not installed. */
function faketime(): string | undefined {
  const { stdout } = spawnSync('faketime', ['now', 'env'], { encoding: 'utf8' })
  return /^LD_PRELOAD=(\S+)/m.exec(stdout ?? '')?.[1]
}

const cycles = (cwd: string) => {
  const db = new Sqlite(join(cwd, '.svc/svc.db'), { readonly: true })
  try {
    return (db.prepare("SELECT cycle_num FROM leases WHERE kind = 'agent'").get() as { cycle_num: number }).cycle_num
  } finally {
    db.close()
  }
}

it('a wall clock that jumps by two days, either way, neither stops the heartbeat nor makes it hurry', async ({
  skip,
}) => {
  const library = faketime()
  if (!library) return skip('faketime is not here')
  await using dir = await project(FAST)
  const cwd = dir.path
  const clock = join(cwd, 'clock')
  await writeFile(clock, '+0')
  const env = {
    ...{ LD_PRELOAD: library, FAKETIME_TIMESTAMP_FILE: clock, FAKETIME_NO_CACHE: '1' },
    ...{ FAKETIME_DONT_FAKE_MONOTONIC: '1', DONT_FAKE_MONOTONIC: '1' },
  }
  await using daemon = new RunningSvc(['start', '-p', 'coder'], { cwd, env })
  await daemon.says(/^Logs: /m)
  for (const jump of ['+2d', '-2d', '+0']) {
    await writeFile(clock, jump)
    const before = cycles(cwd)
    const began = performance.now()
    await until(() => cycles(cwd) >= before + 5)
    await new Promise(resolve => setTimeout(resolve, 1_000))
    const rate = (cycles(cwd) - before) / ((performance.now() - began) / 1000)
    // A heartbeat of 0.2 s, and cycles that follow each other while there is something to do.
    expect(rate, jump).toBeLessThan(25)
  }
  expect(daemon.stderr).not.toMatch(/"level":50/)
  expect(await daemon.end('SIGTERM')).toBe(0)
})
