import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FAST, project } from '../../cli/project.ts'
import { RunningSvc, svc } from '../../support/index.ts'
import { sendJson } from '../../support/model/http.ts'

/** Starts another process that holds the write lock for this time. */
async function lock(root: string, ms: number) {
  const script = `const db = new (require('better-sqlite3'))(process.argv[1], { timeout: 5000 }); db.exec('BEGIN IMMEDIATE'); console.log('held')
    setTimeout(() => db.exec('ROLLBACK'), ${ms})`
  const child = spawn(process.execPath, ['-e', script, join(root, '.svc', 'svc.db')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await new Promise<void>(resolve => child.stdout.once('data', () => resolve()))
  return { held: child, free: new Promise<void>(resolve => child.once('close', () => resolve())) }
}

async function timeRequest(url: string, init?: RequestInit) {
  const began = performance.now()
  const answer = await fetch(url, init)
  await answer.arrayBuffer()
  return { status: answer.status, retryAfter: answer.headers.get('retry-after'), ms: performance.now() - began }
}

const nudge = (url: string, agent: string, message = 'look') =>
  timeRequest(`${url}/agents/${agent}/nudge`, sendJson({ message }))

/** Repeats a request while something else is in progress. @returns the response times, the longest last */
async function meanwhile(url: string, other: Promise<unknown>): Promise<number[]> {
  let over = false
  void other.finally(() => {
    over = true
  })
  const times: number[] = []
  while (!over) {
    const { status, ms } = await timeRequest(url)
    expect(status).toBe(200)
    times.push(ms)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  return times.sort((a, b) => a - b)
}

async function startServer() {
  const dir = await project(FAST)
  const daemon = new RunningSvc(['serve', '--with-daemon', '--port', '0', '--profiles', 'coder'], { cwd: dir.path })
  const [, url = ''] = await daemon.waitForOutput(/(http:\/\/127\.0\.0\.1:\d+)/)
  await daemon.waitForOutput(/^Logs: /m)
  const { stdout } = await svc(['status', '--json'], { cwd: dir.path })
  const [agent] = JSON.parse(stdout) as { agent_id: string }[]
  return {
    url,
    daemon,
    cwd: dir.path,
    agent: agent!.agent_id,
    async [Symbol.asyncDispose]() {
      await daemon[Symbol.asyncDispose]()
      await dir[Symbol.asyncDispose]()
    },
  }
}

describe('a database locked by another process', () => {
  it('delays writes and nothing else when it is locked for 4.5 s', async () => {
    await using host = await startServer()
    const { free } = await lock(host.cwd, 4_500)
    const writes = Promise.all(['a', 'b', 'c'].map(message => nudge(host.url, host.agent, message)))
    const health = await meanwhile(`${host.url}/healthz`, writes)
    expect((await writes).map(({ status }) => status)).toEqual([202, 202, 202])
    expect(health.length).toBeGreaterThan(20)
    // A loop that waited for the lock would answer after 4.5 s.
    expect(health.at(-1), 'the event loop stood still').toBeLessThan(3_500)
    await free
  })

  it('makes writes fail with 503 after 5 s, and accepts them again once it is free', async () => {
    await using host = await startServer()
    const { held, free } = await lock(host.cwd, 120_000)
    const refused = await nudge(host.url, host.agent)
    expect(refused).toMatchObject({ status: 503, retryAfter: '1' })
    expect(refused.ms).toBeGreaterThan(4_900)
    held.kill()
    await free
    expect((await nudge(host.url, host.agent)).status).toBe(202)
    const before = JSON.parse((await svc(['daemon', '--json'], { cwd: host.cwd })).stdout) as object
    expect(before).toMatchObject({ running: true, health: 'healthy' })
    expect(await host.daemon.end('SIGTERM')).toBe(0)
  })

  it('prevents no daemon from stopping, however long it is locked', async () => {
    await using host = await startServer()
    const { held, free } = await lock(host.cwd, 120_000)
    expect((await nudge(host.url, host.agent)).status).toBe(503)
    expect(await host.daemon.end('SIGTERM')).toBe(0)
    expect(held.exitCode).toBeNull()
    held.kill()
    await free
  })

  it('is written by two processes for seconds without an error for either', async () => {
    await using host = await startServer()
    await using web = new RunningSvc(['serve', '--port', '0'], { cwd: host.cwd })
    const [, url = ''] = await web.waitForOutput(/(http:\/\/127\.0\.0\.1:\d+)/)
    const until = performance.now() + 3_000
    const writer = async (at: string) => {
      const answers: number[] = []
      while (performance.now() < until) answers.push((await nudge(at, host.agent)).status)
      return answers
    }
    const answers = (await Promise.all([host.url, url, host.url, url].map(writer))).flat()
    expect(answers.length).toBeGreaterThan(20)
    expect(new Set(answers)).toEqual(new Set([202]))
    expect(host.daemon.stderr).not.toMatch(/SQLITE_|database_locked/)
    expect(await web.end('SIGTERM')).toBe(0)
  })
})
