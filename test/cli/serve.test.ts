import { createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { RunningSvc, svc } from '../support/cli.ts'
import { FAST, project } from './project.ts'

const URL_LINE = /^Dashboard: +(http:\/\/127\.0\.0\.1:(\d+))\/$/m

describe('svc serve', () => {
  it('prints where the page, the API and the log are, and the port that the system chose', async () => {
    await using dir = await project(FAST)
    await using server = new RunningSvc(['serve', '--port', '0'], { cwd: dir.path })
    const [, url, port] = await server.says(URL_LINE)
    await server.says(/^Daemon: +not in this process/m)
    expect(Number(port)).toBeGreaterThan(0)
    expect(server.stdout).toContain(`${url}/openapi.json`)
    expect(server.stdout).toMatch(/^Logs: .*logs\/svc\.log$/m)
    expect(await fetch(`${url}/healthz`).then(answer => answer.status)).toBe(200)
    expect(await fetch(`${url}/`).then(answer => answer.headers.get('content-type'))).toMatch(/^text\/html/)
    expect(await fetch(`${url}/daemon`).then(answer => answer.json())).toMatchObject({ running: false })
    expect(await server.end('SIGTERM')).toBe(0)
  })

  it('with the daemon in the same process, agents can be watched over HTTP', async () => {
    await using dir = await project(FAST)
    const words = ['serve', '--with-daemon', '--port', '0', '--profiles', 'coder,writer']
    await using server = new RunningSvc(words, { cwd: dir.path })
    const [, url] = await server.says(URL_LINE)
    await server.says(/^Agents: +coder-[0-9a-f]{8}, writer-[0-9a-f]{8}$/m)
    expect(await fetch(`${url}/daemon`).then(answer => answer.json())).toMatchObject({
      running: true,
      health: 'healthy',
      pid: server.pid,
    })
    expect(((await fetch(`${url}/agents`).then(answer => answer.json())) as unknown[]).length).toBe(2)
    expect(await server.end('SIGTERM')).toBe(0)
  })

  it('says plainly that the model is simulated, and which one is used otherwise', async () => {
    await using dir = await project(FAST)
    await using simulated = new RunningSvc(['serve', '--port', '0'], { cwd: dir.path })
    await simulated.says(/^Model: +sim\/rules-1 \(simulated, not an AI model\)/m)
    const env = {
      OPENAI_BASE_URL: 'http://127.0.0.1:9/v1',
      OPENAI_API_KEY: 'sk-a-key-for-nobody',
      SVC_DEFAULT_MODEL: 'openai:a-model',
    }
    await using real = new RunningSvc(['serve', '--port', '0'], { cwd: dir.path, env })
    await real.says(/^Model: +openai:a-model/m)
    expect(real.stdout).not.toContain('simulated')
    expect(real.stdout + real.stderr).not.toContain('sk-a-key-for-nobody')
  })

  it('a port in use, and a host that others can reach without a key, are refused in a sentence', async () => {
    await using dir = await project(FAST)
    const taken = createServer().listen(0, '127.0.0.1')
    await new Promise(done => taken.once('listening', done))
    const { port } = taken.address() as { port: number }
    const inUse = await svc(['serve', '-p', String(port)], { cwd: dir.path })
    taken.close()
    expect(inUse).toMatchObject({ code: 1, stdout: '' })
    expect(inUse.stderr).toContain(`svc: The port ${port} is in use`)
    const wide = await svc(['serve', '--host', '0.0.0.0', '--port', '0'], { cwd: dir.path })
    expect(wide).toMatchObject({ code: 1, stdout: '' })
    expect(wide.stderr).toContain('server.api_key')
  })
})
