import { Role, type Task, TaskState } from '@a2a-js/sdk'
import { describe, expect, it } from 'vitest'
import memory from '#core/memory/index'
import questions from '#safety/questions/index'
import toolkitMemory from '#tools/toolkits/memory/index'
import { fault, text, toolCall, until } from '../support/index.ts'
import { clientOf, OPEN, request, sayOf, spawn, startA2aServer } from './a2a-server.ts'

describe('the public Agent2Agent protocol', () => {
  it('is not served unless it is enabled', async () => {
    await using home = await startA2aServer(() => text('hello'), { config: {} })
    const agent = await spawn(home)
    for (const path of ['/.well-known/agent-card.json', `/a2a/${agent}/.well-known/agent-card.json`])
      expect((await home.ask(path)).status).toBe(404)
    expect((await home.rpc('/a2a', 'SendMessage', {})).status).toBe(404)
  })

  it('describes the service and each agent on a card with its address', async () => {
    await using home = await startA2aServer(() => text('hello'))
    const agent = await spawn(home)
    const card = (await home.ask('/.well-known/agent-card.json')).json
    expect(card).toMatchObject({
      capabilities: { streaming: true, pushNotifications: false },
      skills: [{ id: agent, description: expect.stringContaining(`${home.url}/a2a/${agent}`) }],
      supportedInterfaces: [{ url: `${home.url}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }, {}],
      securitySchemes: {},
    })
    const own = (await home.ask(`/a2a/${agent}/.well-known/agent-card.json`)).json
    expect(own).toMatchObject({ name: 'worker', url: `${home.url}/a2a/${agent}`, protocolVersion: '0.3.0' })
    expect((await home.ask('/a2a/nobody/.well-known/agent-card.json')).json).toMatchObject({ code: 'agent_not_found' })
  })

  it("lets the protocol's own client send a message, and returns the answer of the agent's task", async () => {
    await using home = await startA2aServer(({ prompt }) =>
      text(prompt.includes('sum') ? 'Forty-two.' : 'And two more.'),
    )
    const id = await spawn(home)
    await home.kernel.invoke('goals.add', { id, objective: 'Count the jars of jam' })
    const client = await clientOf(home.url, id)
    const first = (await client.sendMessage(request('What is the sum?'))) as Task
    expect(first.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
    expect(sayOf(first)).toBe('Forty-two.')
    expect(first.history.map(({ role }) => role)).toEqual([Role.ROLE_USER, Role.ROLE_AGENT])
    const again = (await client.sendMessage(request('What is the sum?'))) as Task
    expect([again.id, home.server.requests.length]).toEqual([first.id, 1])
    const next = (await client.sendMessage(request('more?', { contextId: first.contextId }))) as Task
    expect([next.contextId, next.id === first.id]).toEqual([first.contextId, false])
    expect(home.server.requests[1]!.prompt).toContain('Forty-two.')
    // The client is another party, so it cannot learn what the agent works on.
    expect(home.server.requests.filter(({ prompt }) => prompt.includes('jars'))).toEqual([])
    const found = await client.getTask({ tenant: '', id: first.id, historyLength: 0 })
    expect([sayOf(found), found.history]).toEqual(['Forty-two.', []])
  })

  it('gives its tasks no memory, which stands in all prompts of the agent', async () => {
    await using home = await startA2aServer(() => text('Noted.'), { builtins: [memory, questions, toolkitMemory] })
    const agent = await spawn(home)
    await home.kernel.invoke('tasks.run', { id: agent, instruction: 'Remember tea.' })
    await (await clientOf(home.url, agent)).sendMessage(request('Remember the password.'))
    const tools = home.server.requests.map(({ body }) => body.tools?.map(({ function: { name } }) => name))
    expect(tools).toEqual([['memory_get', 'memory_set'], ['ask_operator']])
  })

  it('streams the task, its text as it is generated, and its final status', async () => {
    await using home = await startA2aServer(() => text('It is a long story about sheep.'))
    const client = await clientOf(home.url, await spawn(home))
    const seen: string[] = []
    const last: boolean[] = []
    let said = ''
    for await (const { payload } of client.sendMessageStream(request('Tell me a story'))) {
      seen.push(payload!.$case)
      if (payload?.$case === 'artifactUpdate') {
        const [part] = payload.value.artifact!.parts
        last.push(payload.value.lastChunk)
        if (part?.content?.$case === 'text') said += part.content.value
      }
      if (payload?.$case === 'statusUpdate') expect(payload.value.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
    }
    expect([seen[0], seen.at(-1), said]).toEqual(['task', 'statusUpdate', 'It is a long story about sheep.'])
    expect([last.indexOf(true), last.at(-1)]).toEqual([last.length - 1, true])
  })

  it('streams the failure of a task as its last status', async () => {
    await using home = await startA2aServer(() => fault('rst'), { config: { ...OPEN, model: { retry_delay: 0 } } })
    const client = await clientOf(home.url, await spawn(home))
    const states: unknown[] = []
    for await (const { payload } of client.sendMessageStream(request('What is the sum?')))
      if (payload?.$case === 'statusUpdate') states.push(payload.value.status?.state)
    expect(states).toEqual([TaskState.TASK_STATE_FAILED])
    const task = (await client.sendMessage(request('And now?'))) as Task
    expect(task.status?.state).toBe(TaskState.TASK_STATE_FAILED)
  })

  it('lets a task go on without a listener, and be followed again and cancelled', async () => {
    await using home = await startA2aServer(({ prompt }) => (prompt.includes('slow') ? fault('hang') : text('done')))
    const client = await clientOf(home.url, await spawn(home))
    const begun = (await client.sendMessage(request('slow work', {}, true))) as Task
    expect(begun.status?.state).toBe(TaskState.TASK_STATE_WORKING)
    const followed: string[] = []
    const follow = (async () => {
      for await (const { payload } of client.resubscribeTask({ tenant: '', id: begun.id }))
        followed.push(payload!.$case)
    })()
    await until(() => followed.length === 1)
    const ended = await client.cancelTask({ tenant: '', id: begun.id, metadata: undefined })
    expect(ended.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
    await follow
    expect(followed).toEqual(['task', 'statusUpdate'])
    await expect(client.cancelTask({ tenant: '', id: begun.id, metadata: undefined })).rejects.toThrow(
      /cannot be cancelled: its status is failed/,
    )
  })

  it('makes a task wait for the operator where a call needs approval, and lets it be cancelled there too', async () => {
    await using home = await startA2aServer(
      ({ body }) =>
        body.messages.some(({ role }) => role === 'tool') ? text('noted') : toolCall('write_notepad', { text: 'x' }),
      {
        config: {
          ...OPEN,
          tasks: { toolkits: ['notepad'] },
          approval: { enabled: true, require_for: ['write_notepad'] },
        },
      },
    )
    const client = await clientOf(home.url, await spawn(home))
    const [first, second] = [
      (await client.sendMessage(request('note this'))) as Task,
      (await client.sendMessage(request('note that'))) as Task,
    ]
    expect(first.status?.state).toBe(TaskState.TASK_STATE_AUTH_REQUIRED)
    const followed: (TaskState | undefined)[] = []
    const follow = (async () => {
      for await (const { payload } of client.resubscribeTask({ tenant: '', id: first.id }))
        if (payload?.$case !== 'artifactUpdate') followed.push((payload!.value as Task).status?.state)
    })()
    await until(() => followed.length === 1)
    const ended = await client.cancelTask({ tenant: '', id: second.id, metadata: undefined })
    expect(ended.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
    const pending = (await home.kernel.invoke('approvals.queue', {})) as { approval_id: string; agent_id: string }[]
    const decided = pending.map(({ approval_id, agent_id: id }) =>
      home.kernel.invoke('approvals.resolve', { id, approval_id, decision: 'approve' }),
    )
    // The approval request of the second task was cancelled with it.
    expect((await Promise.allSettled(decided)).map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    const state = async ({ id }: Task) => (await client.getTask({ tenant: '', id })).status?.state
    await until(async () => (await state(first)) === TaskState.TASK_STATE_COMPLETED)
    expect(await state(second)).toBe(TaskState.TASK_STATE_CANCELED)
    await follow
    expect(followed).toEqual([TaskState.TASK_STATE_AUTH_REQUIRED, TaskState.TASK_STATE_COMPLETED])
    const resubscribed = await home.rpc('/a2a', 'SubscribeToTask', { id: first.id })
    expect(resubscribed.json.error).toMatchObject({ code: -32004, message: expect.stringContaining('has ended') })
  })

  it("keeps the client's ids: of messages, also to several agents, and of sessions that others began", async () => {
    await using home = await startA2aServer(() => text('hello'))
    const [one, other] = [await spawn(home), await spawn(home)]
    const send = async (agent: string, said: string, contextId?: string) => {
      const message = { messageId: 'cm-1', role: 'ROLE_USER', parts: [{ text: said }], contextId }
      return (await home.rpc(`/a2a/${agent}`, 'SendMessage', { message })).json
    }
    const { task } = (await send(one, 'hi')).result
    expect(task.history.map((each: { messageId: string }) => each.messageId)).toEqual(['cm-1', `${task.id}-answer`])
    expect((await send(one, 'hi')).result.task.id).toBe(task.id)
    expect((await send(one, 'something else')).error.message).toMatch(/^This messageId was used by a different message/)
    expect((await send(other, 'hi')).result.task).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } })

    const begun = (await home.kernel.invoke('tasks.run', { id: one, instruction: 'x' })) as Record<string, string>
    const shown = (await home.rpc('/a2a', 'GetTask', { id: begun.task_id })).json.result
    const message = { messageId: 'cm-2', role: 'ROLE_USER', parts: [{ text: 'on' }], contextId: shown.contextId }
    const next = (await home.rpc(`/a2a/${one}`, 'SendMessage', { message })).json.result.task
    const { session_id } = (await home.kernel.invoke('tasks.get', { task_id: next.id })) as Record<string, string>
    expect([next.contextId, session_id]).toEqual([begun.session_id, begun.session_id])
  })

  it('speaks version 0.3 with clients of that version', async () => {
    await using home = await startA2aServer(() => text('hello'))
    await spawn(home)
    const asked = { messageId: 'old-1', role: 'user', kind: 'message', parts: [{ kind: 'text', text: 'Greet me' }] }
    const { json } = await home.rpc('/a2a', 'message/send', { message: asked })
    expect(json).toMatchObject({
      jsonrpc: '2.0',
      id: 7,
      result: {
        kind: 'task',
        status: { state: 'completed' },
        artifacts: [{ parts: [{ kind: 'text', text: 'hello' }] }],
        history: [{ kind: 'message', role: 'user' }, { role: 'agent' }],
      },
    })
    const { text: streamed } = await home.rpc('/a2a', 'message/stream', { message: { ...asked, messageId: 'old-2' } })
    const events = streamed
      .split('\n\n')
      .flatMap(line => (line.startsWith('data: ') ? [JSON.parse(line.slice(6))] : []))
    expect(events.at(-1).result).toMatchObject({ kind: 'status-update', final: true, status: { state: 'completed' } })
    expect((await home.rpc('/a2a', 'tasks/get', { id: json.result.id })).json.result.status.state).toBe('completed')
  })

  it("refuses requests with the protocol's own error codes and a message", async () => {
    await using home = await startA2aServer(() => text('hello'))
    const [one, other] = [await spawn(home), await spawn(home)]
    const code = async (...asked: Parameters<typeof home.rpc>) => (await home.rpc(...asked)).json.error?.code
    const at = `/a2a/${one}`
    const hello = { message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'hi' }] } }
    expect(await code(at, 'Dance', {})).toBe(-32601)
    expect(await code(at, 'SendMessage', { message: { parts: [] } })).toBe(-32602)
    expect(await code(at, 'SendMessage', { message: { ...hello.message, parts: [{ raw: 'AAAA' }] } })).toBe(-32005)
    expect(await code(at, 'GetTask', { id: 'task-nope' })).toBe(-32001)
    expect(await code(at, 'CreateTaskPushNotificationConfig', {})).toBe(-32003)
    const push = { url: 'https://a.example/hook' }
    for (const [method, configuration] of [
      ['SendMessage', { taskPushNotificationConfig: push }],
      ['SendStreamingMessage', { taskPushNotificationConfig: push }],
      ['message/send', { pushNotificationConfig: push }],
    ] as const)
      expect(await code(at, method, { ...hello, configuration })).toBe(-32003)
    expect(await home.kernel.invoke('tasks.list', { id: one })).toEqual([])
    expect(await code(at, 'SendMessage', hello, { 'a2a-version': '9.9' })).toBe(-32009)
    expect((await home.rpc('/a2a', 'SendMessage', hello)).json.error.message).toContain('There are 2 live agents')
    expect((await home.ask(at, { method: 'POST', body: { jsonrpc: '1.0', id: 1 } })).json.error.code).toBe(-32600)
    // A method may have no parameters.
    const bare = { jsonrpc: '2.0', id: 1, method: 'Dance' }
    expect((await home.ask(at, { method: 'POST', body: bare })).json.error.code).toBe(-32601)
    const headers = { 'content-type': 'application/json' }
    const badly = await Promise.all(['{', '', '[]'].map(body => home.ask(at, { method: 'POST', headers, body })))
    expect(badly.map(({ status, json }) => [status, json.id, json.error.code])).toEqual([
      [200, null, -32700],
      [200, null, -32700],
      [200, null, -32600],
    ])
    const { json } = await home.rpc(at, 'SendMessage', hello, { 'x-svc-user': 'alice' })
    const { id } = json.result.task
    // A task belongs to its user and to its agent.
    expect(await code(at, 'GetTask', { id })).toBe(-32001)
    expect(await code(`/a2a/${other}`, 'GetTask', { id }, { 'x-svc-user': 'alice' })).toBe(-32001)
    expect(await code(at, 'GetTask', { id }, { 'x-svc-user': 'alice' })).toBeUndefined()
  })

  it('requires the same key and origins as everything else, and says so on the card', async () => {
    await using home = await startA2aServer(() => text('hello'), { env: { SVC_API_KEY: 'a key of this server' } })
    const agent = await spawn(home)
    expect((await home.ask('/.well-known/agent-card.json')).status).toBe(401)
    expect((await home.rpc(`/a2a/${agent}`, 'GetTask', { id: 'x' })).status).toBe(401)
    const headers = { 'x-svc-key': 'a key of this server' }
    const evil = { ...headers, origin: 'https://evil.example' }
    expect((await home.rpc(`/a2a/${agent}`, 'GetTask', { id: 'x' }, evil)).status).toBe(403)
    const client = await clientOf(home.url, agent, headers)
    const card = await client.getAgentCard()
    expect(card.securitySchemes.key?.scheme).toMatchObject({ value: { name: 'X-Svc-Key', location: 'header' } })
    expect(sayOf((await client.sendMessage(request('hi'))) as Task)).toBe('hello')
  })
})
