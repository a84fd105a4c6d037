import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { writeDirectly } from '../../support/direct-access.ts'
import { RunningSvc, svc, tempDir } from '../../support/index.ts'
import { sendJson } from '../../support/model/http.ts'

describe('a server that is killed before it answers', () => {
  const HOOK = fileURLToPath(new URL('./crash-hook.js', import.meta.url))

  /** Kills a server at a point of `POST /agents`, and returns how a second server answers the same request. */
  async function killServerAt(point: string) {
    const dir = await tempDir()
    await svc(['init', '--quiet'], { cwd: dir.path })
    const serve = async (env: Record<string, string>) => {
      const server = new RunningSvc(['serve', '--port', '0'], { cwd: dir.path, env })
      const [, url] = await server.waitForOutput(/^Dashboard: +(http:\S+)\/$/m)
      const send = () => fetch(`${url}/agents`, sendJson({ preset: 'coder' }, 'POST', { 'idempotency-key': 'k' }))
      return { server, send }
    }
    const first = await serve({ SVC_CRASH_AT: point, NODE_OPTIONS: `--import=${HOOK}` })
    await first.send().catch(() => {})
    expect(await first.server.ended).toBeNull()
    const { server, send } = await serve({})
    const agents = async () => JSON.parse((await svc(['status', '--json'], { cwd: dir.path })).stdout).length
    const codes: unknown[] = []
    const ask = async () => {
      const answer = await send()
      codes.push([answer.status, ((await answer.json()) as { code?: string }).code])
    }
    await ask()
    await writeDirectly(dir.path, 'UPDATE idempotency_keys SET created_at = created_at - 60001')
    await ask()
    return {
      codes,
      agents: await agents(),
      async [Symbol.asyncDispose]() {
        await server[Symbol.asyncDispose]()
        await dir[Symbol.asyncDispose]()
      },
    }
  }

  it('does not create the agent twice when killed after the commit, and reports the outcome as unknown', async () => {
    await using second = await killServerAt('after agents.insert')
    expect(second.codes).toEqual([
      [409, 'request_under_way'],
      [409, 'idempotency_outcome_unknown'],
    ])
    expect(second.agents).toBe(1)
  })

  it('creates the agent at the next request when it was killed before the commit', async () => {
    await using second = await killServerAt('inside agents.insert')
    expect(second.codes).toEqual([
      [409, 'request_under_way'],
      [201, undefined],
    ])
    expect(second.agents).toBe(1)
  })
})
