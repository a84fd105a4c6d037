import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { RunningSvc } from '../../support/cli.ts'
import Sqlite from '../../support/sqlite.ts'
import type { TempDir } from '../../support/temp.ts'
import { svc } from '../../support/vitest/warm.ts'
import { FAST, project } from '../project.ts'

const ENDED = 60
const HIDDEN = '60 ended sub-agents hidden; --all shows them'

let dir: TempDir
let agent: string

beforeAll(async () => {
  dir = await project(FAST)
  agent = JSON.parse((await svc(['spawn', 'coder', '--json'], { cwd: dir.path })).stdout).agent_id
  const db = new Sqlite(join(dir.path, '.svc/svc.db'))
  const insert = db.prepare(
    `INSERT INTO agents (agent_id, name, role, preset, spawned_at, spawned_by, root_agent_id, died_at)
     VALUES (?, 'scout', 'looks around', 'coder', 0, ?, ?, 1)`,
  )
  for (let n = 0; n < ENDED; n++) insert.run(`sub-scout-${n}`, agent, agent)
  db.close()
})
afterAll(() => dir[Symbol.asyncDispose]())

const stdoutOf = async (...words: string[]) => (await svc(words, { cwd: dir.path })).stdout
const countListed = (text: string) => [...text.matchAll(/^\S (coder|sub-scout)-/gm)].length

async function statusHidesThem(notice = '') {
  const status = await stdoutOf('status')
  expect(countListed(status)).toBe(1)
  expect(status.trimEnd().split('\n').at(-1)).toBe(HIDDEN)
  const all = await stdoutOf('status', '--all')
  expect(countListed(all)).toBe(1 + ENDED)
  expect(all).not.toContain('hidden')
  expect(await stdoutOf('status', '--status', 'dead')).toBe(`${notice}no results with status dead\n${HIDDEN}\n`)
  expect(countListed(await stdoutOf('status', '--status', 'dead', '-a'))).toBe(ENDED)
  expect(JSON.parse(await stdoutOf('status', '--json'))).toMatchObject([{ agent_id: agent }])
}

async function watchHidesThem() {
  await using some = new RunningSvc(['watch', '--compact'], { cwd: dir.path })
  await some.waitForOutput(new RegExp(`^${agent}  .*\\n${HIDDEN}$`, 'm'))
  expect(some.stdout).not.toContain('sub-scout')
  await using all = new RunningSvc(['watch', '--compact', '--all'], { cwd: dir.path })
  await all.waitForOutput(/^sub-scout-59 {2}dead$/m)
  expect(all.stdout).not.toContain('hidden')
}

describe('ended sub-agents', () => {
  it('are hidden by svc status and svc watch, which show their number', async () => {
    await statusHidesThem('No daemon is running. Start it with: svc start\n')
    await watchHidesThem()
  })

  it('are hidden in the same way while a daemon runs', async () => {
    await using daemon = new RunningSvc(['start'], { cwd: dir.path })
    await daemon.waitForOutput(/^Logs: /m)
    await statusHidesThem()
    await watchHidesThem()
  })
})
