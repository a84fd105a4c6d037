import { access, readdir, readFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { RunningSvc } from '../../support/cli.ts'
import { httpServer } from '../../support/model/http.ts'
import Sqlite from '../../support/sqlite.ts'
import { until } from '../../support/until.ts'
import { svc } from '../../support/vitest/warm.ts'
import { FAST, project } from '../project.ts'

const UP = /^Logs: /m
const PRESETS = 'coder,writer,tester,reviewer,researcher,philosopher'

async function daemonOf(cwd: string) {
  return JSON.parse((await svc(['daemon', '--json'], { cwd })).stdout) as {
    running: boolean
    pid: number
    joined: { pid: number }[]
  }
}

function reading<T>(cwd: string, sql: string): T[] {
  const db = new Sqlite(join(cwd, '.svc/svc.db'), { readonly: true })
  try {
    return db.prepare(sql).all() as T[]
  } finally {
    db.close()
  }
}

/** PIDs of the processes that have committed cycles, by the runs of their events. */
const pids = (cwd: string) =>
  reading<{ pid: number }>(
    cwd,
    "SELECT DISTINCT r.pid AS pid FROM events e JOIN runs r ON r.run_id = e.run_id WHERE e.type = 'cycle_done'",
  ).map(({ pid }) => pid)

describe('a daemon started with --join', () => {
  it('drives the same agents as the first in a run of its own; both are listed, and stopped together', async () => {
    await using dir = await project(FAST)
    const cwd = dir.path
    await using first = new RunningSvc(['start', '-p', PRESETS], { cwd })
    await first.waitForOutput(UP)
    await using second = new RunningSvc(['start', '--join'], { cwd })
    await second.waitForOutput(UP)
    expect(await daemonOf(cwd)).toMatchObject({ running: true, pid: first.pid, joined: [{ pid: second.pid }] })
    expect((await svc(['start'], { cwd })).stderr).toContain(`PID ${first.pid}`)
    await until(() => pids(cwd).length === 2)
    expect(pids(cwd).sort()).toEqual([first.pid, second.pid].sort())
    expect(await readFile(join(cwd, '.svc/daemon.pid'), 'utf8')).toBe(`${first.pid}\n`)
    const cycles = reading(cwd, "SELECT agent_id, cycle_num FROM events WHERE type = 'cycle_done'")
    expect(new Set(cycles.map(cycle => JSON.stringify(cycle))).size, 'a cycle was run twice').toBe(cycles.length)

    const { stdout } = await svc(['stop'], { cwd })
    expect(stdout).toContain(`PID ${first.pid}) has stopped`)
    expect(stdout).toContain(`PID ${second.pid}) has stopped`)
    expect([await first.ended, await second.ended]).toEqual([0, 0])
    expect((await readdir(join(cwd, '.svc'))).filter(name => name.startsWith('daemon'))).toEqual([])

    // The recording of the first process covers what the second one changed.
    const recordings = JSON.parse((await svc(['recordings', '--json'], { cwd })).stdout) as {
      run_id: string
      pid: number
    }[]
    const { run_id } = recordings.find(({ pid }) => pid === first.pid)!
    const replay = await svc(['replay', run_id], { cwd })
    expect([replay.code, replay.stdout]).toEqual([0, expect.stringContaining(`${run_id}: identical (`)])
    expect(replay.stdout).not.toContain('note:')
  })

  it('is stopped alone by its PID, and goes on alone when the first is stopped', async () => {
    await using dir = await project(FAST)
    const cwd = dir.path
    // Without a daemon to join, it becomes the project's daemon.
    await using first = new RunningSvc(['start', '--join', '-p', 'coder'], { cwd })
    await first.waitForOutput(UP)
    expect(await daemonOf(cwd)).toMatchObject({ pid: first.pid, joined: [] })
    expect(await readFile(join(cwd, '.svc/daemon.pid'), 'utf8')).toBe(`${first.pid}\n`)
    await using second = new RunningSvc(['start', '--join'], { cwd })
    await second.waitForOutput(UP)
    await using third = new RunningSvc(['start', '--join'], { cwd })
    await third.waitForOutput(UP)
    expect(await svc(['stop', '1'], { cwd })).toMatchObject({ code: 1 })
    expect((await svc(['stop', String(second.pid)], { cwd })).code).toBe(0)
    expect(await second.ended).toBe(0)
    expect((await svc(['stop', String(first.pid)], { cwd })).code).toBe(0)
    expect(await first.ended).toBe(0)
    expect(await daemonOf(cwd)).toMatchObject({ running: true, pid: third.pid, joined: [] })
    // Its socket has taken the place of the first one's.
    expect((await svc(['pause', 'coder'], { cwd })).code).toBe(0)
    expect((await svc(['start'], { cwd })).stderr).toContain(`PID ${third.pid}`)
    expect(await third.end('SIGTERM')).toBe(0)
  })

  it('takes over the agents of a killed daemon before their leases expire', async () => {
    // Its model accepts requests and never answers.
    const respond: RequestListener = ({ url }, response) =>
      void (url?.endsWith('/models') && response.end('{"data":[]}'))
    await using silent = await httpServer(respond)
    await using dir = await project(FAST)
    const cwd = dir.path
    const env = { OPENAI_BASE_URL: `${silent.url}/v1`, SVC_DEFAULT_MODEL: 'openai:held' }
    await using first = new RunningSvc(['start', '-p', PRESETS], { cwd, env })
    await first.waitForOutput(UP)
    const leasedAgents = () =>
      reading<{ n: number }>(cwd, "SELECT count(*) AS n FROM leases WHERE kind = 'agent' AND owner IS NOT NULL")[0]!.n
    await until(() => leasedAgents() === 6)
    await using second = new RunningSvc(['start', '--join'], { cwd })
    await second.waitForOutput(UP)
    const agentsWithCycles = () =>
      reading<{ n: number }>(cwd, "SELECT count(DISTINCT agent_id) AS n FROM events WHERE type = 'cycle_done'")[0]!.n
    expect(agentsWithCycles()).toBe(0)
    const began = performance.now()
    await first.end('SIGKILL')
    await until(() => agentsWithCycles() === 6)
    // A lease lasts 15 s; the second daemon checks every second.
    expect(performance.now() - began).toBeLessThan(8_000)
    expect(await second.end('SIGTERM')).toBe(0)
    await svc(['stop'], { cwd })
    await expect(access(join(cwd, '.svc/daemon.pid'))).rejects.toThrow()
  })
})
