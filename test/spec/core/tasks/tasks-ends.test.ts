import { spawn as spawnProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createClient } from '#interfaces/rest/client'
import type { SvcError } from '../../../../kernel/index.ts'
import { project } from '../../../cli/project.ts'
import { connectClient, overHttp } from '../../../interfaces/mcp/mcp-client.ts'
import { startServer as servedAll } from '../../../interfaces/start-server.ts'
import { fault, modelServer, RunningSvc, type Script, text, until } from '../../../support/index.ts'
import { svc } from '../../../support/vitest/warm.ts'

/** The text that the model sends before it breaks off and then fails. */
const SHOWN = 'It is fo'
const breaksOff: Script = ({ n }) => (n === 1 ? fault('cleancut', SHOWN) : fault('500'))

async function model(script: Script) {
  const server = await modelServer({ script })
  onTestFinished(() => server.close())
  return { server, env: { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'k', OPENAI_MODEL: 'scripted' } }
}

/** Starts a server with all modules, and an agent whose model follows the script. */
async function startServer(script: Script) {
  const { server, env } = await model(script)
  const home = await servedAll({ env, config: { model: { retry_delay: 0 } } })
  const { json } = await home.ask('/agents', { method: 'POST', body: { preset: 'worker' } })
  const id = json.agent_id as string
  const stream = async (headers: Record<string, string> = {}) => {
    const body = { instruction: 'Count.' }
    return eventsOf((await home.ask(`/agents/${id}/tasks/stream`, { method: 'POST', body, headers })).text)
  }
  return { ...home, model: server, id, stream }
}

function eventsOf(said: string) {
  return said.split('\n\n').flatMap(block => {
    const field = (name: string) => new RegExp(`^${name}: ?(.*)$`, 'm').exec(block)?.[1]
    const [event, data] = [field('event'), field('data')]
    return event === undefined ? [] : [{ event, id: field('id'), data: JSON.parse(data ?? 'null') }]
  })
}

const FAILED = {
  code: 'model_error',
  type: 'urn:svc:problem:model_error',
  status: expect.any(Number),
  detail: expect.any(String),
  request_id: expect.any(String),
  task: { status: 'failed', output: SHOWN, error: { code: 'model_error' } },
}

describe('the stream of a failed task', () => {
  it('ends with an error event: the problem document, and the task with the text shown so far', async () => {
    const { stream, ask } = await startServer(breaksOff)
    const events = await stream()
    const last = events.at(-1)!
    expect(events.map(({ event }) => event).filter(event => event !== 'token')).toEqual(['error'])
    expect(last.data).toMatchObject(FAILED)
    expect(last.id).toBe(String(SHOWN.length))
    const followed = eventsOf((await ask(`/tasks/${last.data.task.task_id}/stream`)).text)
    expect(followed.at(-1)).toEqual(last)
  })

  it('makes the client throw, which does not send the request again', async () => {
    const { url, id, model } = await startServer(breaksOff)
    const client = createClient({ baseUrl: url })
    const seen: unknown[] = []
    let thrown: SvcError | undefined
    try {
      const call = { idempotencyKey: 'once' }
      for await (const { event } of client.tasks.stream({ id, instruction: 'Count.' }, call)) seen.push(event)
    } catch (error) {
      thrown = error as SvcError
    }
    expect(seen.every(event => event === 'token')).toBe(true)
    expect(thrown).toMatchObject({ code: 'model_error', cause: FAILED })
    const asked = model.requests.length
    const { task_id } = (thrown!.cause as { task: { task_id: string } }).task
    const follow = async () => {
      for await (const { event } of client.tasks.follow({ task_id })) expect(event).toBe('token')
    }
    await expect(follow()).rejects.toMatchObject({ code: 'model_error' })
    expect(model.requests).toHaveLength(asked)
  })

  it('becomes an error of the MCP tool, with the problem and the task', async () => {
    const { url, id } = await startServer(breaksOff)
    const { client } = await connectClient(overHttp(url))
    const result = await client.callTool({ name: 'tasks_stream', arguments: { id, instruction: 'Count.' } })
    expect(result).toMatchObject({
      isError: true,
      _meta: { problem: { code: 'model_error' }, task: { status: 'failed', output: SHOWN } },
    })
  })

  it('is shown by svc run and svc agent chat with exit code 1, with and without a daemon', async () => {
    const { env } = await model(({ body }) => (body.stream ? fault('cleancut', SHOWN) : fault('500')))
    await using dir = await project({
      '.svc/config.yaml': 'model: { retry_delay: 0 }\ndaemon: { heartbeat: 60, max_retries: 0 }\n',
      'profiles/worker.yaml': 'name: worker\nrole: counts\n',
    })
    const cwd = dir.path
    const { agent_id } = JSON.parse((await svc(['spawn', 'worker', '--json'], { cwd, env })).stdout)
    const outputsOf = async () => {
      const run = await svc(['run', agent_id, 'Count.'], { cwd, env })
      const json = await svc(['run', agent_id, 'Count.', '--json'], { cwd, env })
      const chat = await runWithInput(['agent', 'chat', agent_id], 'Count.\n', { cwd, env })
      expect([run.code, json.code, chat.code], `${run.stderr}\n${json.stderr}\n${chat.stderr}`).toEqual([1, 1, 1])
      for (const { stdout, stderr } of [run, chat]) {
        expect(stdout.trim().split('\n').at(-1)).toBe(SHOWN)
        expect(stderr).toMatch(/^failed: The model openai:scripted gave no answer/m)
      }
      const last = JSON.parse(json.stdout.trim().split('\n').at(-1)!)
      expect(last).toMatchObject({ event: 'error', data: { code: 'model_error', task: { status: 'failed' } } })
    }
    await outputsOf()
    expect((await svc(['pause', agent_id], { cwd, env })).code).toBe(0)
    await using daemon = new RunningSvc(['start', '--foreground'], { cwd, env })
    await until(async () => (await svc(['daemon'], { cwd, env })).code === 0)
    await outputsOf()
    await daemon.end('SIGTERM')
  }, 60_000)
})

describe('the stream of a task that did not fail', () => {
  it('ends with done when the task was cancelled', async () => {
    const { ask, id, stream, model } = await startServer(() => fault('stall', SHOWN))
    const streaming = stream({ 'idempotency-key': 'k' })
    await model.request(1)
    const [{ task_id }] = (await ask(`/agents/${id}/tasks`)).json
    await ask(`/tasks/${task_id}/cancel`, { method: 'POST' })
    expect((await streaming).at(-1)).toMatchObject({
      event: 'done',
      data: { status: 'failed', error: { code: 'task_stopped' } },
    })
  })

  it('ends with done when the task completed; the OpenAPI document describes both done and error', async () => {
    const { stream, ask } = await startServer(() => text('Four.'))
    expect((await stream()).at(-1)).toMatchObject({ event: 'done', data: { status: 'completed' } })
    const document = (await ask('/openapi.json')).json
    const schema = document.paths['/agents/{id}/tasks/stream'].post.responses['200'].content['text/event-stream'].schema
    expect(
      schema.oneOf.map(({ properties }: { properties: { event: { const: string } } }) => properties.event.const),
    ).toEqual(expect.arrayContaining(['done', 'error']))
  })
})

/** Runs the built command line with this text on its standard input. */
async function runWithInput(words: readonly string[], input: string, { cwd, env }: { cwd: string; env: object }) {
  const program = fileURLToPath(new URL('../../../../dist/svc.js', import.meta.url))
  const child = spawnProcess(process.execPath, [program, ...words], { cwd, env: { ...process.env, ...env } })
  const output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', part => {
      output[name] += part
    })
  child.stdin.end(input)
  const [code] = await once(child, 'close')
  return { code, ...output }
}
