import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Task, TaskResponse } from '#core/tasks/contract'
import { modelServer, RunningSvc, tempDir, text, toolCall } from '../support/index.ts'
import { sendJson } from '../support/model/http.ts'
import { svc } from '../support/vitest/warm.ts'

/** Plugin with a tool whose effects can be counted, and that never finishes. */
const STAMP = `
import { definePlugin, tool, z } from 'svc'
export default definePlugin({
  name: 'stamp',
  setup(svc) {
    svc.toolkit({ name: 'stamp', tools: [tool({
      name: 'stamp', description: 'Stamps.', parameters: z.object({}),
      async execute(args, call) {
        await svc.ports.files.appendFile(svc.project.root + '/stamps.log', call.idempotency_key + '\\n')
        await svc.clock.sleep(1e9, call.signal)
      },
    })] })
  },
})`

it('a server killed during tool calls repeats none: a task with a key goes on elsewhere, one without it fails', async () => {
  await using dir = await tempDir()
  await using model = await modelServer({
    // The stamp is called once; a model that reads that the outcome is unknown does not repeat the call.
    script: ({ prompt }) => (prompt.includes('unknown') ? text('It may be stamped.') : toolCall('stamp')),
  })
  const env = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' }
  const options = { cwd: dir.path, env }
  await svc(['init', '--quiet'], options)
  await dir.write({
    'plugins/stamp.ts': STAMP,
    'profiles/worker.yaml': 'name: worker\nrole: stamps\n',
    '.svc/config.yaml': 'tasks: { toolkits: [stamp] }\ndaemon: { tool_timeout: 0 }\n',
  })
  await svc(['spawn', 'worker'], options)
  const serve = async () => {
    const server = new RunningSvc(['serve', '--port', '0'], options)
    const [, url] = await server.waitForOutput(/^Dashboard: +(http:\S+)\/$/m)
    return { server, url: url! }
  }
  const ask = (url: string, headers: Record<string, string> = {}) =>
    fetch(`${url}/agents/worker/tasks`, sendJson({ instruction: 'Stamp once.' }, 'POST', headers))
  const stamps = async () =>
    (await readFile(join(dir.path, 'stamps.log'), 'utf8').catch(() => '')).split('\n').slice(0, -1)

  const first = await serve()
  await using _ = first.server
  const key = { 'idempotency-key': 'stamp-once' }
  const asked = [ask(first.url, key), ask(first.url)].map(each => each.catch(() => undefined))
  await waitUntil(async () => (await stamps()).length === 2)
  await first.server.end('SIGKILL')
  await Promise.all(asked)

  const second = await serve()
  await using __ = second.server
  const again = (await (await ask(second.url, key)).json()) as TaskResponse
  expect(again).toMatchObject({ status: 'completed', output: 'It may be stamped.', steps_taken: 2 })
  const tasks = async () => (await (await fetch(`${second.url}/agents/worker/tasks`)).json()) as Task[]
  await waitUntil(async () => (await tasks()).every(({ status }) => status !== 'running'))
  expect((await tasks()).map(({ status, error }) => [status, error?.code ?? null]).sort()).toEqual([
    ['completed', null],
    ['failed', 'task_interrupted'],
  ])
  expect(new Set(await stamps()).size).toBe(2)
  expect(await stamps()).toHaveLength(2)
  expect(model.requests).toHaveLength(3)
})

async function waitUntil(holds: () => Promise<boolean>) {
  const deadline = performance.now() + 20_000
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`within 20 s it did not hold that ${holds}`)
    await new Promise(resolve => setImmediate(resolve))
  }
}
