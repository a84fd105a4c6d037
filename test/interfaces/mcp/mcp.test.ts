import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { McpResources } from '#interfaces/mcp/contract'
import { Page, pageOf } from '#lib/list'
import { definePlugin, Operations, z } from '../../../kernel/index.ts'
import { fault, modelServer, text, toolCall, until } from '../../support/index.ts'
import { startServer } from '../start-server.ts'
import { connectClient, overHttp, toolAnswer } from './mcp-client.ts'

const SECRET = 'a-secret-of-this-machine'

/** Operations that report progress, wait to be cancelled, leak or fail. */
const worker = definePlugin({
  name: 'worker',
  setup(svc) {
    const takes = z.object({ n: z.number().int().default(1).describe('How often') })
    const more = { input: takes, output: z.object({ n: z.number() }), mcp: true }
    svc.operation({
      name: 'work.slow',
      summary: 'Works until it is cancelled',
      ...more,
      async run({ n }, { progress, signal }) {
        progress('begun')
        await new Promise(done => signal.addEventListener('abort', done, { once: true }))
        cancelled.push(n)
        return { n }
      },
    })
    svc.operation({
      name: 'work.steps',
      summary: 'Works in steps',
      ...more,
      async run({ n }, { progress }) {
        for (let step = 1; step <= n; step++) {
          progress(`step ${step}. `)
          await svc.clock.yield()
        }
        return { n }
      },
    })
    svc.operation({
      name: 'work.leaks',
      summary: 'Return a secret',
      input: z.object({}),
      output: z.string(),
      mcp: true,
      run: () => `the key is ${SECRET}`,
    })
    svc.operation({
      name: 'work.breaks',
      summary: 'Has a bug',
      input: z.object({}),
      output: z.null(),
      mcp: true,
      run: () => {
        throw new Error('SELECT secret FROM /etc/somewhere')
      },
    })
    svc.operation({
      name: 'work.beats',
      summary: 'Needs the daemon',
      input: z.object({}),
      output: z.null(),
      mcp: true,
      reach: 'daemon' as const,
      run: () => null,
    })
    const rows = Array.from({ length: 120 }, (_, n) => n)
    svc.operation({
      name: 'work.list',
      summary: 'List numbers',
      input: Page,
      output: z.array(z.number()),
      mcp: true,
      run: (input: z.output<typeof Page>) => pageOf(rows, input),
      count: () => rows.length,
    })
    for (let n = 0; n < 60; n++) {
      svc.operation({
        name: `many.no_${n}`,
        summary: `No. ${n}`,
        input: z.object({}),
        output: z.number(),
        mcp: true,
        run: () => n,
      })
    }
  },
})
const cancelled: number[] = []

describe('MCP over HTTP', () => {
  it('takes the official client through tools, resources, subscriptions and prompts', async () => {
    const home = await startServer()
    const { client, call, notified } = await connectClient(overHttp(home.url))
    expect(client.getServerVersion()).toMatchObject({ name: 'svc', version: expect.stringMatching(/^\d+\.\d+\.\d+$/) })
    expect(client.getInstructions()).toContain('svc_status')

    const spawned = await call('svc_spawn', { profile: 'worker' })
    const { agent_id } = spawned.output
    expect(spawned).toMatchObject({ isError: false, output: { name: 'worker', status: 'idle' } })
    expect(JSON.parse(spawned.text)).toEqual(spawned.output)
    expect((await call('svc_status')).output).toMatchObject({ result: [{ agent_id }] })
    expect((await call('svc_models')).output.default).toMatchObject({ model: 'sim/rules-1' })

    const { resources } = await client.listResources()
    expect(resources.map(({ uri }) => uri)).toEqual(
      expect.arrayContaining(['svc://agents', `svc://agents/${agent_id}`, 'svc://profiles/worker', 'svc://budget']),
    )
    for (const { uri } of resources) {
      const { contents } = await client.readResource({ uri })
      expect([uri, contents[0]]).toMatchObject([uri, { uri, mimeType: 'application/json' }])
      JSON.parse((contents[0] as { text: string }).text)
    }
    const { resourceTemplates } = await client.listResourceTemplates()
    expect(resourceTemplates.map(each => each.uriTemplate)).toContain('svc://agents/{agent}/memory/{memory}')
    const ref = { type: 'ref/resource' as const, uri: 'svc://agents/{agent}' }
    const completion = await client.complete({ ref, argument: { name: 'agent', value: 'work' } })
    expect(completion.completion).toEqual({ values: [agent_id], total: 1, hasMore: false })

    await client.subscribeResource({ uri: `svc://agents/${agent_id}` })
    await client.subscribeResource({ uri: 'svc://agents' })
    await call('svc_nudge', { agent: 'worker', message: 'Look at the notes.' })
    await until(() => notified.includes(`svc://agents/${agent_id}`))
    await client.unsubscribeResource({ uri: `svc://agents/${agent_id}` })
    notified.length = 0
    await home.ask(`/agents/${agent_id}/pause`, { method: 'POST' })
    await until(() => notified.includes('svc://agents'))
    expect(notified).not.toContain(`svc://agents/${agent_id}`)
    expect((await call('svc_logs', { agent: agent_id, limit: 1 })).output).toMatchObject({
      result: [{ type: 'agent_changed' }],
    })

    const { prompts } = await client.listPrompts()
    expect(prompts.map(({ name }) => name)).toEqual([
      'why_stuck',
      'daily_report',
      'tune_budget',
      'write_plugin',
      'review_approvals',
    ])
    const { messages } = await client.getPrompt({ name: 'why_stuck', arguments: { agent: agent_id } })
    expect(messages[0]).toMatchObject({
      role: 'user',
      content: { type: 'text', text: expect.stringContaining(agent_id) },
    })
    const attached = messages.slice(1).map(({ content }) => (content.type === 'resource' ? content.resource.uri : ''))
    expect(attached).toContain(`svc://agents/${agent_id}/why`)

    expect((await call('svc_kill', { agent: agent_id })).output).toEqual({ result: null })
    await until(() => notified.includes('resources'))
    expect((await client.listResources()).resources.map(({ uri }) => uri)).not.toContain(`svc://agents/${agent_id}`)
  })

  it('lists many resources in pages', async () => {
    const many = definePlugin({
      name: 'many',
      setup(svc) {
        for (let n = 0; n < 1_000; n++)
          svc.add(McpResources, {
            uri: `svc://many/${n}`,
            title: 'One',
            description: 'of many',
            operation: 'agents.list',
          })
      },
    })
    const { client } = await connectClient(overHttp((await startServer({ builtins: [worker, many] })).url))
    const first = await client.listResources()
    const second = await client.listResources({ cursor: first.nextCursor })
    const uris = [...first.resources, ...second.resources].map(({ uri }) => uri)
    expect([first.resources.length, second.nextCursor]).toEqual([1_000, undefined])
    expect(uris.filter(uri => uri.startsWith('svc://many/'))).toHaveLength(1_000)
    expect(new Set(uris).size).toBe(uris.length)
  })

  it('offers every marked operation as a tool, with schemas, and hints for a client to ask its user', async () => {
    const home = await startServer({ builtins: [worker] })
    const { client } = await connectClient(overHttp(home.url))
    const listed = await client.listTools()
    expect(listed.nextCursor).toBeUndefined()
    await expect(client.listTools({ cursor: 'nonsense' })).rejects.toMatchObject({ code: -32602 })

    const tools = new Map(listed.tools.map(tool => [tool.name, tool]))
    const marked = home.kernel.list(Operations).filter(({ mcp }) => mcp)
    expect(marked.filter(({ name }) => !tools.has(name.replace('.', '_')))).toEqual([])
    for (const { name, inputSchema, outputSchema } of tools.values()) {
      expect(name).toMatch(/^[\w-]{1,64}$/)
      expect([inputSchema.type, outputSchema?.type]).toEqual(['object', 'object'])
    }
    expect(tools.get('agents_list')!.annotations).toMatchObject({ readOnlyHint: true, openWorldHint: false })
    const having = (hint: 'destructiveHint' | 'idempotentHint' | 'openWorldHint', value: boolean) =>
      [...tools.values()]
        .filter(({ name, annotations }) => annotations![hint] === value && !/^(many|work)_/.test(name))
        .map(({ name }) => name)
        .toSorted()
    expect(having('destructiveHint', false)).toEqual([
      'agents_nudge',
      'agents_pause',
      'agents_resume',
      'agents_spawn',
      'alarms_set',
      'checkpoints_take',
      'daemon_pause',
      'daemon_resume',
      'goals_add',
      'guardrails_check',
      'mcp_servers_restart',
      'memory_add',
      'messages_send',
      'patterns_start',
      'plugins_reload',
      'questions_answer',
      'recordings_replay',
      'schedules_add',
      'sessions_create',
      'svc_nudge',
      'svc_spawn',
      'tasks_resume',
      'tasks_run',
      'tasks_stream',
    ])
    expect(having('destructiveHint', true)).toEqual([
      'agents_delete',
      'agents_update',
      'alarms_cancel',
      'alarms_update',
      'checkpoints_delete',
      'checkpoints_prune',
      'checkpoints_restore',
      'goals_abandon',
      'goals_update',
      'memory_consolidate',
      'memory_forget',
      'models_forget',
      'patterns_cancel',
      'retention_run',
      'schedules_remove',
      'schedules_update',
      'sessions_close',
      'snapshots_redo',
      'snapshots_undo',
      'svc_kill',
      'tasks_cancel',
      'todos_mark',
      'worktrees_accept',
      'worktrees_discard',
    ])
    expect(having('idempotentHint', true)).toEqual([
      'agents_delete',
      'agents_pause',
      'agents_resume',
      'agents_update',
      'alarms_cancel',
      'alarms_update',
      'checkpoints_delete',
      'daemon_pause',
      'daemon_resume',
      'goals_abandon',
      'goals_update',
      'memory_forget',
      'patterns_cancel',
      'plugins_reload',
      'schedules_remove',
      'schedules_update',
      'sessions_close',
      'svc_kill',
      'tasks_cancel',
      'tasks_resume',
      'todos_mark',
    ])
    expect(having('openWorldHint', true)).toEqual(['tasks_cancel', 'tasks_resume', 'tasks_run', 'tasks_stream'])
    // What decides for people, and what would answer without an end, is no tool.
    for (const name of [
      'approvals_resolve',
      'approvals_grant',
      'budget_reset',
      'config_set',
      'config_unset',
      'events_follow',
    ]) {
      expect(tools.has(name), name).toBe(false)
    }
  })

  it('lists fifty results unless the client sets a limit, and says how to read on', async () => {
    const home = await startServer({ builtins: [worker] })
    const { client, call } = await connectClient(overHttp(home.url))
    const { tools } = await client.listTools()
    expect(tools.find(({ name }) => name === 'svc_status')?.inputSchema.properties?.limit).toMatchObject({
      default: 50,
    })
    const textsOf = async (args: Record<string, unknown>) => {
      const { content } = await client.callTool({ name: 'work_list', arguments: args })
      return (content as { text: string }[]).map(({ text }) => text)
    }
    const [first, note] = await textsOf({})
    expect(JSON.parse(first!)).toHaveLength(50)
    expect(note).toBe('These are results 1 to 50 of 120; set offset to 50 for the next ones.')
    expect((await textsOf({ offset: 100 })).map(text => text.slice(0, 4))).toEqual(['[100'])
    expect((await call('work_list', { limit: 200 })).output.result).toHaveLength(120)
  })

  it('returns an error to the model with message and problem, and reveals nothing internal of a bug', async () => {
    const home = await startServer({ builtins: [worker], env: { SOME_API_KEY: SECRET } })
    const { client, call } = await connectClient(overHttp(home.url))
    const unknown = await client.callTool({ name: 'svc_kill', arguments: { agent: 'nobody' } })
    expect(toolAnswer(unknown)).toMatchObject({ isError: true, text: expect.stringContaining('"nobody"') })
    expect(unknown._meta).toMatchObject({ problem: { status: 404, code: 'agent_not_found' } })
    expect(await call('svc_spawn', { profil: 'worker' })).toMatchObject({
      isError: true,
      text: expect.stringContaining('profil: is not a known field'),
    })
    expect(await call('agents_list', { lmit: 3 })).toMatchObject({
      isError: true,
      text: expect.stringContaining('lmit'),
    })
    expect(await call('agents_list', { limit: 0 })).toMatchObject({
      isError: true,
      text: expect.stringContaining('limit'),
    })
    expect(await call('work_beats')).toMatchObject({ isError: true, text: expect.stringContaining('needs the daemon') })
    const broken = await client.callTool({ name: 'work_breaks', arguments: {} })
    expect(broken).toMatchObject({ isError: true, _meta: { problem: { code: 'internal_error' } } })
    expect(JSON.stringify(broken)).not.toContain('SELECT')
    expect(home.logged('SELECT secret')).toHaveLength(1)
    expect((await call('work_leaks')).text).toBe('the key is ***')

    await expect(call('no_such_tool')).rejects.toMatchObject({
      code: -32602,
      message: expect.stringContaining('no_such_tool'),
    })
    await expect(client.readResource({ uri: 'svc://agents/nobody' })).rejects.toMatchObject({ code: -32002 })
    await expect(client.readResource({ uri: 'svc://nothing' })).rejects.toMatchObject({ code: -32002 })
    await expect(client.subscribeResource({ uri: 'svc://nothing' })).rejects.toMatchObject({ code: -32002 })
    await expect(client.getPrompt({ name: 'why_stuck' })).rejects.toMatchObject({ code: -32602 })
    await expect(client.getPrompt({ name: 'no_such' })).rejects.toMatchObject({ code: -32602 })
  })

  it('sends progress as it comes, to the log if the client did not ask for it, and aborts a cancelled call', async () => {
    const home = await startServer({ builtins: [worker] })
    const { client, call, logged } = await connectClient(overHttp(home.url))
    const seen: (string | undefined)[] = []
    const params = { name: 'work_steps', arguments: { n: 3 } }
    await client.callTool(params, undefined, { onprogress: ({ message }) => void seen.push(message) })
    expect(seen).toEqual(['step 1. ', 'step 2. ', 'step 3. '])
    await call('work_steps', { n: 1 })
    await until(() => logged.some(({ logger, data }) => logger === 'work.steps' && data === 'step 1. '))

    const stop = new AbortController()
    const slow = { name: 'work_slow', arguments: { n: 7 } }
    const running = client.callTool(slow, undefined, { signal: stop.signal, onprogress: () => stop.abort('enough') })
    await expect(running).rejects.toThrow()
    await until(() => cancelled.includes(7))
  })

  it('offers a stream as a tool with its text as progress and its end as the answer', async () => {
    const home = await startServer()
    const { client, call } = await connectClient(overHttp(home.url))
    const { agent_id } = (await call('svc_spawn', { profile: 'worker' })).output
    const seen: (string | undefined)[] = []
    const params = { name: 'tasks_stream', arguments: { id: agent_id, instruction: 'Say hello.' } }
    const { output } = toolAnswer(
      await client.callTool(params, undefined, { onprogress: ({ message }) => void seen.push(message) }),
    )
    expect(output).toMatchObject({ status: 'completed', error: null })
    expect(seen.join('')).not.toBe('')
    const followed = await call('tasks_follow', { task_id: output.task_id })
    expect(followed.output).toMatchObject({ task_id: output.task_id, output: output.output })
  })

  it('reports each step of a task, and returns at once with wait: false', async () => {
    const model = await modelServer({
      script: ({ body }) =>
        body.messages.at(-1)!.role === 'tool' ? text('Done.') : toolCall('search_notes', { query: 'x' }),
    })
    onTestFinished(() => model.close())
    const env = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'k', OPENAI_MODEL: 'scripted' }
    const home = await startServer({ env, config: { tasks: { toolkits: ['memory'] } } })
    const { client, call } = await connectClient(overHttp(home.url))
    const { agent_id } = (await call('svc_spawn', { profile: 'worker' })).output
    const seen: (string | undefined)[] = []
    const params = { name: 'tasks_run', arguments: { id: agent_id, instruction: 'Search.' } }
    const { output } = toolAnswer(
      await client.callTool(params, undefined, { onprogress: ({ message }) => void seen.push(message) }),
    )
    expect(seen).toEqual([`Task ${output.task_id} has started`, 'Step 1 of at most 25: search_notes'])
    const { task_id, status } = (await call('tasks_run', { ...params.arguments, wait: false })).output
    expect(status).toBe('running')
    await until(async () => (await call('tasks_get', { task_id })).output.status === 'completed')
  })

  it('offers only the tools that mcp.tools names', async () => {
    const home = await startServer({ config: { mcp: { tools: ['svc_status', 'tasks_*'] } } })
    const { client, call } = await connectClient(overHttp(home.url))
    const names = (await client.listTools()).tools.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['svc_status', 'tasks_run']))
    expect(names.filter(name => name !== 'svc_status' && !name.startsWith('tasks_'))).toEqual([])
    await expect(call('agents_delete', { id: 'x' })).rejects.toMatchObject({ code: -32602 })
  })

  it('leaves out the schemas of results where mcp.output_schemas is false, and gives the same results', async () => {
    const home = await startServer({ config: { mcp: { output_schemas: false } } })
    const { client, call } = await connectClient(overHttp(home.url))
    const { tools } = await client.listTools()
    expect(tools.filter(({ outputSchema }) => outputSchema !== undefined)).toEqual([])
    expect((await call('budget_status')).output).toMatchObject({ unlimited: true })
  })

  it('reports in the progress that the answer of a stream is started again, and answers with the final output', async () => {
    const model = await modelServer({
      script: ({ n }) => (n === 1 ? fault('cleancut', 'It is fi') : text('It is four.')),
    })
    onTestFinished(() => model.close())
    const env = { OPENAI_BASE_URL: model.url, OPENAI_API_KEY: 'k', OPENAI_MODEL: 'scripted' }
    const home = await startServer({ env, config: { model: { retry_delay: 0 } } })
    const { client, call } = await connectClient(overHttp(home.url))
    const { agent_id } = (await call('svc_spawn', { profile: 'worker' })).output
    const seen: (string | undefined)[] = []
    const params = { name: 'tasks_stream', arguments: { id: agent_id, instruction: 'How many?' } }
    const { output } = toolAnswer(
      await client.callTool(params, undefined, { onprogress: ({ message }) => void seen.push(message) }),
    )
    const reset = seen.findIndex(message => message?.includes('discarded'))
    expect([seen.slice(0, reset).join(''), seen.slice(reset + 1).join('')]).toEqual(['It is fi', 'It is four.'])
    expect(output.output).toBe('It is four.')
  })

  it('announces lists that a plugin changes, also when the plugin is removed', async () => {
    const home = await startServer()
    const { client, call, notified, logged } = await connectClient(overHttp(home.url))
    const file = join(home.root, 'plugins', 'greeter.ts')
    await home.write({
      'plugins/greeter.ts': `import { definePlugin, McpPrompts, z } from 'svc'
        export default definePlugin({ name: 'greeter', setup(svc) {
          svc.operation({ name: 'greet', summary: 'Greets', input: z.object({}), output: z.string(), mcp: true, run: () => 'hello' })
          svc.add(McpPrompts, { name: 'greeting', title: 'Greet', description: 'Greets', arguments: [], text: 'Say hello.' })
        } })`,
    })
    await call('plugins_reload')
    await until(() => notified.includes('tools') && notified.includes('prompts'))
    expect(notified).not.toContain('resources')
    expect((await call('greet')).text).toBe('hello')
    expect((await client.getPrompt({ name: 'greeting' })).messages).toHaveLength(1)
    await until(() => logged.some(({ data }) => data === 'plugin greeter: loaded'))
    notified.length = 0
    await writeFile(file, 'export default {')
    await call('plugins_reload')
    await until(() => logged.some(({ level, data }) => level === 'warning' && data === 'plugin greeter: failed'))
    expect(notified).toEqual([])
    await rm(file)
    await call('plugins_reload')
    await until(() => notified.includes('tools'))
    await expect(call('greet')).rejects.toMatchObject({ code: -32602 })
  })
})
