import { access } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { FAST, project } from '../../cli/project.ts'
import { fault, modelServer, RunningSvc, svc, text, until } from '../../support/index.ts'

const UP = /^Logs: /m
const SERVE = ['serve', '--with-daemon', '--port', '0', '--profiles', 'coder,writer']

function openStream(url: string): Promise<void> {
  return new Promise((resolve, reject) => {
    request(`${url}/events`, { agent: false }, answer => {
      answer.resume()
      answer.once('error', () => {})
      if (answer.statusCode === 200) resolve()
      else reject(new Error(`a stream was answered ${answer.statusCode}`))
    })
      .once('error', reject)
      .end()
  })
}

describe('stopping a server', () => {
  it('does not wait for 100 open streams and a model that hangs, and goals stay active', async () => {
    const server = await modelServer({
      script: ({ prompt }) =>
        prompt.includes('"goal":') ? text('{"goal": "Read the tide tables and report"}') : fault('hang'),
    })
    await using dir = await project(FAST)
    const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' }
    await using daemon = new RunningSvc(SERVE, { cwd: dir.path, env })
    const [, url = ''] = await daemon.waitForOutput(/(http:\/\/127\.0\.0\.1:\d+)/)
    await until(() => server.requests.filter(({ prompt }) => !prompt.includes('"goal":')).length >= 2)
    await Promise.all(Array.from({ length: 100 }, () => openStream(url)))
    expect(await daemon.end('SIGTERM')).toBe(0)
    await expect(access(join(dir.path, '.svc/daemon.pid'))).rejects.toThrow()
    const goals = JSON.parse((await svc(['goals', 'coder', '--json'], { cwd: dir.path })).stdout) as {
      status: string
    }[]
    expect(goals.map(({ status }) => status)).toEqual(['active'])
    await server.close()
  })

  it('is not caused by output that is no longer read, or by a closed terminal', async () => {
    await using dir = await project(FAST)
    await using daemon = new RunningSvc(SERVE, { cwd: dir.path })
    const [, url = ''] = await daemon.waitForOutput(/(http:\/\/127\.0\.0\.1:\d+)/)
    await daemon.waitForOutput(UP)
    daemon.process.stdout!.destroy()
    daemon.process.stderr!.destroy()
    daemon.process.kill('SIGHUP')
    for (let n = 0; n < 5; n++) {
      await svc(['nudge', 'coder', 'look'], { cwd: dir.path })
      expect((await fetch(`${url}/healthz`)).status).toBe(200)
    }
    expect(daemon.process.exitCode).toBeNull()
    const ended = new Promise(resolve => daemon.process.once('exit', resolve))
    daemon.process.kill('SIGTERM')
    expect(await ended).toBe(0)
  })
})
