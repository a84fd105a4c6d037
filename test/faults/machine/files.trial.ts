import { spawn } from 'node:child_process'
import { appendFile, readFile, rename, rm } from 'node:fs/promises'
import { createConnection, type Socket } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { FAST, project } from '../../cli/project.ts'
import { bareEnvironment } from '../../support/cli.ts'
import { RunningSvc, until } from '../../support/index.ts'
import { sendJson } from '../../support/model/http.ts'

const PROGRAM = fileURLToPath(new URL('../../../dist/svc.js', import.meta.url))
const SERVE = ['serve', '--with-daemon', '--port', '0', '--profiles', 'coder']
const PRINTED_URL = /(http:\/\/127\.0\.0\.1:\d+)/

const statusOf = (url: string) =>
  fetch(url, { headers: { connection: 'close' } }).then(
    ({ status }) => status,
    () => 0,
  )
const sendNudge = (url: string, agent: string) =>
  fetch(`${url}/agents/${agent}/nudge`, sendJson({ message: 'look' })).then(({ status }) => status)

describe('the database file', () => {
  it('is noticed when it is removed during use, and nothing is acknowledged until it is back', async () => {
    await using dir = await project(FAST)
    await using daemon = new RunningSvc(SERVE, { cwd: dir.path })
    const [, url = ''] = await daemon.waitForOutput(PRINTED_URL)
    expect(await sendNudge(url, 'coder')).toBe(202)
    await rename(join(dir.path, '.svc/svc.db'), join(dir.path, '.svc/away.db'))
    await until(async () => (await statusOf(`${url}/healthz`)) === 503)
    expect(await sendNudge(url, 'coder')).toBe(503)
    expect(daemon.process.exitCode).toBeNull()
    await rename(join(dir.path, '.svc/away.db'), join(dir.path, '.svc/svc.db'))
    await until(async () => (await statusOf(`${url}/healthz`)) === 200)
    expect(await sendNudge(url, 'coder')).toBe(202)
    expect(await daemon.end('SIGTERM')).toBe(0)
  })
})

describe('the configuration file', () => {
  it('ends nothing when it is broken or removed during use, and can be changed again once it is back', async () => {
    await using dir = await project(FAST)
    const file = join(dir.path, '.svc/config.yaml')
    await using daemon = new RunningSvc(SERVE, { cwd: dir.path })
    const [, url = ''] = await daemon.waitForOutput(PRINTED_URL)
    await appendFile(file, 'goals: [\n')
    await daemon.waitForOutput(/the last good configuration stays in force/)
    const warnings = daemon.stderr.match(/the last good configuration/g)?.length ?? 0
    const cycles = async () =>
      ((await (await fetch(`${url}/agents/coder`)).json()) as { cycle_count: number }).cycle_count
    const begun = await cycles()
    await until(async () => (await cycles()) >= begun + 3)
    expect(daemon.stderr.match(/the last good configuration/g)?.length).toBe(warnings)
    await rm(file)
    expect(await statusOf(`${url}/healthz`)).toBe(200)
    const patch = async () => {
      const answer = await fetch(`${url}/config`, sendJson({ daemon: { heartbeat: 0.3 } }, 'PATCH'))
      return { status: answer.status, text: await answer.text() }
    }
    // The file lacks the settings in force: a change would lose them.
    expect(await patch()).toMatchObject({ status: 409, text: expect.stringContaining('is gone or empty') })
    await dir.write(FAST)
    expect(await patch()).toMatchObject({ status: 200 })
    expect(await readFile(file, 'utf8')).toBe('daemon:\n  heartbeat: 0.3\nmodel:\n  sim_delay: 0\n')
    expect(await daemon.end('SIGTERM')).toBe(0)
  })
})

describe('a lack of file descriptors', () => {
  it('does not end the server, which answers again once there are some', async () => {
    await using dir = await project(FAST)
    const child = spawn('sh', ['-c', 'ulimit -n 64; exec "$@"', 'sh', process.execPath, PROGRAM, ...SERVE], {
      cwd: dir.path,
      env: { ...bareEnvironment() },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const ended = new Promise(resolve => child.once('close', resolve))
    const sockets: Socket[] = []
    try {
      let said = ''
      child.stdout.on('data', part => {
        said += String(part)
      })
      await until(() => PRINTED_URL.test(said))
      const url = PRINTED_URL.exec(said)![1]!
      const { port } = new URL(url)
      for (let n = 0; n < 200; n++) {
        const socket = createConnection(Number(port), '127.0.0.1')
        socket.on('error', () => {})
        socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\nx: ')
        sockets.push(socket)
      }
      await new Promise(resolve => setTimeout(resolve, 1_000))
      expect(child.exitCode).toBeNull()
      for (const socket of sockets) socket.destroy()
      await until(async () => (await statusOf(`${url}/healthz`)) === 200)
      expect(await sendNudge(url, 'coder')).toBe(202)
    } finally {
      for (const socket of sockets) socket.destroy()
      child.kill('SIGTERM')
    }
    expect(await ended).toBe(0)
  })
})
