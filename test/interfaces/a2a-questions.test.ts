import { Role, type Task, TaskState } from '@a2a-js/sdk'
import { describe, expect, it } from 'vitest'
import type { Question } from '#safety/questions/contract'
import questions from '#safety/questions/index'
import { heldClock, type Script, text, toolCall, until } from '../support/index.ts'
import { clientOf, request, sayOf, spawn, startA2aServer } from './a2a-server.ts'

const BRANCH = 'Which branch is released?'

/** Script that asks one question, and repeats the answer. */
const asks =
  (more: Record<string, unknown> = {}): Script =>
  ({ body }) => {
    const answered = body.messages.findLast(({ role }) => role === 'tool')
    return answered
      ? text(`I release it. ${answered.content}`)
      : toolCall('ask_operator', { question: BRANCH, ...more })
  }

const start = (script: Script) => startA2aServer(script, { builtins: [questions] })
const open = async ({ kernel }: Awaited<ReturnType<typeof start>>) =>
  (await kernel.invoke('questions.list', {})) as Question[]
const wordsOf = ({ status }: Task) =>
  (status?.message?.parts ?? []).map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')

describe('a question of an agent to an Agent2Agent client', () => {
  it('makes the task input-required, and is answered by a message to the same task', async () => {
    await using home = await start(asks({ options: ['main', 'stable'] }))
    const client = await clientOf(home.url, await spawn(home))
    const waiting = (await client.sendMessage(request('Release it.'))) as Task
    expect(waiting.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
    expect(wordsOf(waiting)).toBe(
      `${BRANCH}\n\nAnswer with one of these options, or with any other text:\n1. main\n2. stable`,
    )
    expect((await client.getTask({ tenant: '', id: waiting.id })).status?.state).toBe(
      TaskState.TASK_STATE_INPUT_REQUIRED,
    )
    expect(home.server.requests).toHaveLength(1)

    const done = (await client.sendMessage(request('2', { taskId: waiting.id }))) as Task
    expect([done.id, done.contextId]).toEqual([waiting.id, waiting.contextId])
    expect(done.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
    expect(sayOf(done)).toBe('I release it. The answer: stable')
    expect([done.history[0]!.messageId, done.history[2]!.messageId]).toEqual(['m-Release it.', 'm-2'])
    expect(done.history.map(({ role }) => role)).toEqual([
      Role.ROLE_USER,
      Role.ROLE_AGENT,
      Role.ROLE_USER,
      Role.ROLE_AGENT,
    ])
    // Sending the same message again returns the same answer.
    const again = (await client.sendMessage(request('2', { taskId: waiting.id }))) as Task
    expect([sayOf(again), home.server.requests.length]).toEqual([sayOf(done), 2])
  })

  it('is streamed as the last status, and the answer streams what follows', async () => {
    await using home = await start(asks())
    const client = await clientOf(home.url, await spawn(home))
    const states: (TaskState | undefined)[] = []
    let id = ''
    for await (const { payload } of client.sendMessageStream(request('Release it.'))) {
      if (payload?.$case === 'task') id = payload.value.id
      if (payload?.$case === 'statusUpdate') states.push(payload.value.status?.state)
    }
    let said = ''
    for await (const { payload } of client.sendMessageStream(request('main', { taskId: id }))) {
      if (payload?.$case === 'statusUpdate') states.push(payload.value.status?.state)
      if (payload?.$case !== 'artifactUpdate') continue
      const [part] = payload.value.artifact!.parts
      if (part?.content?.$case === 'text') said = payload.value.append ? said + part.content.value : part.content.value
    }
    expect(states).toEqual([TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_COMPLETED])
    expect(said).toBe('I release it. The answer: main')
  })

  it('works the same in version 0.3', async () => {
    await using home = await start(asks())
    await spawn(home)
    const said = (words: string, more: object = {}) => ({
      message: { messageId: `m-${words}`, role: 'user', parts: [{ kind: 'text', text: words }], ...more },
    })
    const { result } = (await home.rpc('/a2a', 'message/send', said('Release it.'))).json
    expect(result.status).toMatchObject({
      state: 'input-required',
      message: { role: 'agent', parts: [{ kind: 'text', text: BRANCH }] },
    })
    const { text: streamed } = await home.rpc('/a2a', 'message/stream', said('main', { taskId: result.id }))
    expect(streamed).toContain('"final":true')
    expect((await home.rpc('/a2a', 'tasks/get', { id: result.id })).json.result.status.state).toBe('completed')
  })

  it('can be answered by the operator too, and the task goes on by itself', async () => {
    await using home = await start(asks())
    const client = await clientOf(home.url, await spawn(home))
    const { id } = (await client.sendMessage(request('Release it.'))) as Task
    const [asked] = await open(home)
    expect(asked).toMatchObject({ task_id: id, goal_id: null, question: BRANCH, status: 'open' })
    await home.kernel.invoke('questions.answer', { question_id: asked!.question_id, answer: 'main' })
    await until(async () => (await client.getTask({ tenant: '', id })).status?.state === TaskState.TASK_STATE_COMPLETED)
    expect(await open(home)).toEqual([])
    await expect(client.sendMessage(request('stable', { taskId: id }))).rejects.toThrow(/has no open question/)
  })

  it('is answered with the stated default after the stated time', async () => {
    await using home = await startA2aServer(asks({ default: 'main', default_after_minutes: 30 }), {
      builtins: [questions],
      clock: heldClock(),
    })
    const client = await clientOf(home.url, await spawn(home))
    const waiting = (await client.sendMessage(request('Release it.'))) as Task
    expect(wordsOf(waiting)).toMatch(/Without an answer by .+, the task continues with: main$/)
    await home.clock.advance(31 * 60_000)
    await until(async () =>
      sayOf(await client.getTask({ tenant: '', id: waiting.id })).includes('your default applies'),
    )
  })

  it('accepts only its options if it says so, and only from the user whose task it is', async () => {
    await using home = await start(asks({ options: ['main', 'stable'], free_text: false }))
    const agent = await spawn(home)
    const client = await clientOf(home.url, agent, { 'x-svc-user': 'alice' })
    const { id, contextId } = (await client.sendMessage(request('Release it.'))) as Task
    await expect(client.sendMessage(request('what?', { taskId: id }))).rejects.toThrow(/1\. main; 2\. stable/)
    const stranger = await clientOf(home.url, agent, { 'x-svc-user': 'bob' })
    await expect(stranger.sendMessage(request('main', { taskId: id }))).rejects.toThrow(/no task/)
    await expect(client.sendMessage(request('main', { taskId: id, contextId: 'another' }))).rejects.toThrow(
      new RegExp(`belongs to the context "${contextId}"`),
    )
    const ended = await client.cancelTask({ tenant: '', id, metadata: undefined })
    expect(ended.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
    expect(await open(home)).toEqual([])
  })
})
