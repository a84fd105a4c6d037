import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import rest from '#interfaces/rest/index'
import metrics from '#observability/metrics/index'
import telemetry from '#observability/telemetry/index'
import { FAST, project } from '../../cli/project.ts'
import { listen } from '../../interfaces/rest/rest-server.ts'
import { bareEnvironment } from '../../support/cli.ts'
import { refuse, text, toolCall, until } from '../../support/index.ts'
import { asksForGoal, spawn, WORKER } from '../core/models/model-host.ts'
import { run, testHostWithTasks } from '../core/tasks/tasks-host.ts'
import { type Collector, collector, type SentSpan } from './otlp.ts'

const PARENT = { trace: '0af7651916cd43dd8448eb211c80319c', span: 'b7ad6b7169203331' }
const traceparent = `00-${PARENT.trace}-${PARENT.span}-01`
const loadedModules = () =>
  Object.keys(createRequire(import.meta.url).cache).filter(file =>
    /@opentelemetry.(?:sdk|exporter|resources)/.test(file),
  )

/** Starts a test host whose agent reaches its goal after two tool calls, and answers tasks. */
async function testHostWithTelemetry(config: object, env: Record<string, string> = {}) {
  const steps = [
    toolCall('file_write', { path: 'a.md', content: 'canary-secret-42' }),
    toolCall('file_read', { path: 'none.md' }),
    toolCall('finish_goal', { summary: 'done', evidence: [] }),
  ]
  return testHostWithTasks(
    request => {
      if (asksForGoal(request)) return text(JSON.stringify({ goal: 'Count the ships of the harbour', reasoning: 'r' }))
      if (request.prompt.includes('fail now')) return refuse(401, 'no such key')
      if (request.prompt.includes('say hello')) return text('hello')
      return steps.shift() ?? text('nothing more')
    },
    {
      roles: ['daemon'],
      clock: 'system',
      builtins: [telemetry, metrics, rest],
      config: { telemetry: config, daemon: { heartbeat: 0.2, max_retries: 0 } },
      env: {
        SOME_API_KEY: 'canary-secret-42',
        OTEL_BSP_SCHEDULE_DELAY: '50',
        OTEL_METRIC_EXPORT_INTERVAL: '200',
        ...env,
      },
    },
  )
}

it("an MCP process and the daemon that it starts report spans, and a task joins its client's trace", async () => {
  const taker = await collector()
  await using dir = await project({ ...FAST, 'profiles/worker.yaml': WORKER })
  const env = {
    ...(bareEnvironment() as Record<string, string>),
    SVC_TELEMETRY: '1',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    OTEL_EXPORTER_OTLP_ENDPOINT: taker.url,
    OTEL_METRICS_EXPORTER: 'none',
  }
  const words = [fileURLToPath(new URL('../../../dist/svc.js', import.meta.url)), 'mcp']
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: words,
    cwd: dir.path,
    env,
    stderr: 'ignore',
  })
  const client = new Client({ name: 'test', version: '1' })
  try {
    await client.connect(transport)
    await client.callTool({ name: 'svc_start', arguments: { profiles: 'worker' } })
    const asked = { id: 'worker', instruction: 'say hello' }
    await client.callTool({ name: 'tasks_run', arguments: asked, _meta: { traceparent } })
    const task = () => taker.spans.find(({ parent_id }) => parent_id === PARENT.span)
    const turn = () => taker.spans.find(({ attributes }) => 'svc.cycle.result' in attributes)
    await until(() => task() !== undefined && turn() !== undefined)
    expect(task()).toMatchObject({ trace_id: PARENT.trace, attributes: { 'svc.task.status': 'completed' } })
    expect(turn()?.trace_id).not.toBe(PARENT.trace)
  } finally {
    await client.callTool({ name: 'svc_stop', arguments: {} }).catch(() => {})
    await client.close()
    await taker.close()
  }
})

describe('telemetry', () => {
  let taker: Collector
  beforeAll(async () => {
    taker = await collector()
  })
  afterAll(() => taker.close())

  it('loads nothing and sends nothing while it is off', async () => {
    await using home = await testHostWithTelemetry({ endpoint: taker.url }, { OTEL_EXPORTER_OTLP_ENDPOINT: taker.url })
    await run(home, await spawn(home), 'say hello')
    expect(loadedModules()).toEqual([])
    expect(taker.requests).toEqual([])
  })

  describe('when it is enabled', () => {
    let home: Awaited<ReturnType<typeof testHostWithTelemetry>>
    let agent: string
    const spansNamed = (name: string) => taker.spans.filter(span => span.name === name)
    const below = ({ span_id }: SentSpan) => taker.spans.filter(({ parent_id }) => parent_id === span_id)

    beforeAll(async () => {
      home = await testHostWithTelemetry(
        { enabled: true, capture_content: true },
        {
          OTEL_EXPORTER_OTLP_ENDPOINT: taker.url,
          OTEL_EXPORTER_OTLP_HEADERS: 'x-tenant=a%20b',
          OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
          OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
        },
      )
      agent = await spawn(home)
      const reached = until(home, 'goal_completed')
      home.kernel.heartbeat.start()
      await reached
      const { send } = await listen(home.kernel)
      const answer = await send(`/agents/${agent}/tasks`, { instruction: 'say hello' }, { traceparent })
      expect(answer.status).toBe(200)
      await run(home, agent, 'fail now')
      await until(() => taker.points.some(({ metric }) => metric === 'svc_agents_idle'))
      await home.close()
    })

    it('loads its packages', () => expect(loadedModules().length).toBeGreaterThan(0))

    it("sends an agent's turn as invoke_agent, with its model and tool calls as children", () => {
      const [turn] = spansNamed('invoke_agent worker').filter(span => below(span).length > 3)
      expect(turn?.attributes).toMatchObject({
        'gen_ai.operation.name': 'invoke_agent',
        'gen_ai.agent.id': agent,
        'svc.cycle.result': 'completed',
      })
      expect(turn?.events).toContain('svc.phase')
      const names = below(turn!).map(({ name }) => name)
      expect(names.sort()).toEqual([
        'chat scripted',
        'chat scripted',
        'chat scripted',
        'execute_tool file_read',
        'execute_tool file_write',
      ])
      for (const child of below(turn!)) expect(child).toMatchObject({ trace_id: turn?.trace_id })
      const chat = below(turn!).find(({ name }) => name === 'chat scripted')
      expect(chat).toMatchObject({ kind: 3, status: 0 })
      expect(chat?.attributes).toMatchObject({
        'gen_ai.operation.name': 'chat',
        'gen_ai.provider.name': 'openai',
        'gen_ai.request.model': 'scripted',
        'gen_ai.usage.input_tokens': expect.any(Number),
        'gen_ai.usage.output_tokens': expect.any(Number),
        'gen_ai.response.finish_reasons': ['tool_calls'],
        'svc.call.kind': 'goal_pursuit',
      })
      const failed = below(turn!).find(({ name }) => name === 'execute_tool file_read')
      expect(failed).toMatchObject({ status: 2, attributes: { 'error.type': 'tool_error' } })
    })

    it("makes a task part of its client's trace", () => {
      const [task] = taker.spans.filter(({ parent_id }) => parent_id === PARENT.span)
      expect(task).toMatchObject({ name: 'invoke_agent worker', trace_id: PARENT.trace })
      expect(task?.attributes).toMatchObject({ 'svc.task.status': 'completed' })
      expect(below(task!).map(({ name, trace_id }) => [name, trace_id])).toEqual([['chat scripted', PARENT.trace]])
    })

    it('marks failed tasks and calls with the type of their error', () => {
      const [task] = taker.spans.filter(({ attributes }) => attributes['svc.task.status'] === 'failed')
      expect(task).toMatchObject({ status: 2 })
      expect(below(task!)[0]).toMatchObject({ status: 2, attributes: { 'error.type': 'auth' } })
    })

    it('hides values of secrets in prompts and tool arguments', () => {
      const all = JSON.stringify(taker.spans)
      expect(all).toContain('gen_ai.input.messages')
      expect(all).toContain('gen_ai.tool.call.arguments')
      expect(all).not.toContain('canary-secret-42')
    })

    it('uses gen_ai names of the semantic conventions', async () => {
      const known = Object.values((await import('@opentelemetry/semantic-conventions/incubating')) as object)
      const used = new Set([...taker.spans, ...taker.points].flatMap(({ attributes }) => Object.keys(attributes)))
      for (const { metric } of taker.points) if (!/^svc[._]/.test(metric)) used.add(metric)
      expect([...used].filter(name => name.startsWith('gen_ai.')).length).toBeGreaterThan(10)
      expect([...used].filter(name => name.startsWith('gen_ai.') && !known.includes(name))).toEqual([])
    })

    it('reports tokens, durations and the state of the project', () => {
      const of = (metric: string) => taker.points.filter(point => point.metric === metric)
      const tokens = of('gen_ai.client.token.usage')
      expect(new Set(tokens.map(({ attributes }) => attributes['gen_ai.token.type']))).toEqual(
        new Set(['input', 'output']),
      )
      expect(tokens[0]).toMatchObject({ unit: '{token}' })
      expect(of('gen_ai.client.operation.duration').at(-1)).toMatchObject({ unit: 's' })
      expect(of('svc.cycle.duration').length).toBeGreaterThan(0)
      expect(of('svc_agents_idle').length).toBeGreaterThan(0)
    })

    it('sends the headers and resource attributes of the standard variables', () => {
      expect(taker.requests[0]?.headers).toMatchObject({ 'x-tenant': 'a b', 'content-encoding': 'gzip' })
      expect(taker.requests[0]?.headers['content-type']).toBe('application/x-protobuf')
      expect(taker.resources[0]).toMatchObject({ 'service.name': 'svc', 'deployment.environment.name': 'test' })
    })
  })

  it('survives a collector that refuses or hangs: warns once, counts failures and does not wait for it when it closes', async () => {
    const hanging = await collector()
    hanging.answer = 400
    const home = await testHostWithTelemetry({ enabled: true, endpoint: hanging.url })
    const agent = await spawn(home)
    await run(home, agent, 'say hello')
    await until(() => home.logged('does not accept traces').length > 0)
    await run(home, agent, 'say hello')
    const sent = hanging.requests.length
    await until(() => hanging.requests.length > sent + 1)
    expect(home.logged('does not accept traces')).toHaveLength(1)
    const counted = (await home.kernel.invoke('metrics.get', {})) as string
    expect(counted).toMatch(/svc_telemetry_exports_total\{signal="traces",outcome="failed"\} [1-9]/)
    expect(JSON.stringify(hanging.requests)).not.toContain('say hello')
    hanging.answer = 'hang'
    await run(home, agent, 'say hello')
    await home.close()
    await hanging.close()
  })
})
