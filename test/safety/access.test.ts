import { describe, expect, it } from 'vitest'
import { project } from '../cli/project.ts'
import { type Ask, ask as send } from '../interfaces/rest/rest-server.ts'
import { RunningSvc } from '../support/cli.ts'
import { svc } from '../support/vitest/warm.ts'

const KEY = 'a-key-of-more-than-sixteen-characters'

/** Starts a server in its own process. */
async function startServer(words: readonly string[], key = KEY) {
  const dir = await project()
  const env = { SVC_API_KEY: key }
  const server = new RunningSvc(['serve', '--port', '0', ...words], { cwd: dir.path, env })
  const [, port] = await server.waitForOutput(/^Dashboard: http:\/\/127\.0\.0\.1:(\d+)/m)
  return {
    server,
    cwd: dir.path,
    port: Number(port),
    doctor: () => svc(['doctor', '--json'], { cwd: dir.path, env }),
    ask: (path: string, asked: Ask = {}) => send({ hostname: '127.0.0.1', port: Number(port), path, ...asked }),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]()
      await dir[Symbol.asyncDispose]()
    },
  }
}

describe('the API key of a running server', () => {
  it('is accepted however many wrong keys come from the same address', async () => {
    await using host = await startServer([])
    const wrong = (n: number) => host.ask('/status', { headers: { 'x-svc-key': `guess ${n}` } })
    const right = () => host.ask('/status', { headers: { 'x-svc-key': KEY } })
    const guesses: number[] = []
    const answers: number[] = []
    for (let round = 0; round < 10; round++) {
      const asked = await Promise.all([...Array.from({ length: 30 }, (_, n) => wrong(n)), right(), right(), right()])
      guesses.push(...asked.slice(0, 30).map(({ status }) => status))
      answers.push(...asked.slice(30).map(({ status }) => status))
    }
    expect(answers).toEqual(Array(30).fill(200))
    expect(new Set(guesses)).toEqual(new Set([401, 429]))
  })

  it('may be sent once: a request with two keys is refused, whichever of them is right', async () => {
    await using host = await startServer([])
    for (const keys of [
      [KEY, KEY],
      [KEY, 'another'],
      ['another', KEY],
    ]) {
      const { status, json } = await host.ask('/status', { headers: { 'x-svc-key': keys } })
      expect([status, json.detail]).toEqual([400, 'A request must not have more than one X-Svc-Key header.'])
    }
  })

  it('is reported when it is short and other machines reach the server, and svc doctor fails', async () => {
    await using host = await startServer(['--host', '0.0.0.0', '--with-daemon'], '  short-key-fifteen'.slice(0, 17))
    expect(host.server.stderr).toContain('has 15 visible characters')
    expect(host.server.stderr).toContain('svc config set server.api_key')
    const { code, stdout } = await host.doctor()
    const found = JSON.parse(stdout).checks.find(({ name }: { name: string }) => name === 'api_key')
    expect([code, found.level, found.remedy]).toEqual([
      1,
      'fail',
      `svc config set server.api_key "$(node -p 'crypto.randomBytes(32).toString("hex")')"`,
    ])
    expect(found.message).toContain('0.0.0.0')
  })

  it('causes no warning at the start when it is short on this machine only, or has 16 characters', async () => {
    await using near = await startServer(['--with-daemon'], 'short')
    expect(near.server.stderr).not.toContain('visible characters')
    await using far = await startServer(['--host', '0.0.0.0', '--with-daemon'], 'sixteen-chars-ok')
    expect(far.server.stderr).not.toContain('visible characters')
    const levels = []
    for (const host of [near, far]) {
      const { checks } = JSON.parse((await host.doctor()).stdout) as { checks: { name: string; level: string }[] }
      levels.push(checks.find(({ name }) => name === 'api_key')?.level)
    }
    expect(levels).toEqual(['warn', 'ok'])
  })

  it('is known to svc doctor when the server has it from its own environment', async () => {
    await using host = await startServer([])
    const { stdout } = await svc(['doctor', '--json'], { cwd: host.cwd })
    const { checks } = JSON.parse(stdout) as { checks: { name: string; message: string }[] }
    expect(checks.find(({ name }) => name === 'api_key')?.message).toBe(
      `none is set in this process; 127.0.0.1:${host.port} got one from the environment of its process`,
    )
  })
})
