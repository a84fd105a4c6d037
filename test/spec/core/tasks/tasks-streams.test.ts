import { describe, expect, it } from 'vitest'
import { definePlugin, z } from '#kernel'
import { tool } from '#tools/toolkits/contract'
import { fault, type Reply, text, together, toolCall, turn, until } from '../../../support/index.ts'
import { spawn } from '../models/model-host.ts'
import {
  all,
  failedTask,
  finishedTask,
  followTask,
  rows,
  run,
  streamTask,
  taskOf,
  testHostWithTasks,
  textOf,
} from './tasks-host.ts'

const LONG = 'It is four, and it will stay four for as long as anybody counts.'

/** Returns a reply that is held until it is released. */
function heldReply(reply: Reply) {
  let release = () => {}
  const waited = new Promise<void>(resolve => {
    release = resolve
  })
  return { release, script: () => waited.then(() => reply) }
}

describe('the stream of a task', () => {
  it('delivers text as it arrives, in order and whole, and then its end', async () => {
    let onEvent = () => {}
    const until = new Promise<void>(resolve => {
      onEvent = resolve
    })
    await using home = await testHostWithTasks(() => ({ ...text(LONG), until }))
    const events: Awaited<ReturnType<typeof all>> = []
    for await (const event of await streamTask(home, await spawn(home), 'What is two and two?')) {
      events.push(event)
      onEvent()
    }
    expect(events.map(({ event }) => event)).toEqual([...events.slice(1).map(() => 'token'), 'done'])
    expect(events.length).toBeGreaterThan(2)
    expect(textOf(events)).toBe(LONG)
    expect(finishedTask(events)).toMatchObject({ status: 'completed', output: LONG, error: null })
    expect(events.map(({ id }) => Number(id))).toEqual(events.map((_, n) => textOf(events.slice(0, n + 1)).length))
  })

  it('shows the text of one step at a time, and that of the last step is the output', async () => {
    const looks = tool({ name: 'look', description: 'Looks.', parameters: z.object({}), execute: () => 'four sheep' })
    const plugin = definePlugin({ name: 'eyes', setup: svc => svc.toolkit({ name: 'memory', tools: [looks] }) })
    await using home = await testHostWithTasks(() => text('Four.'), { builtins: [plugin] })
    home.server.enqueue(together(text('I look.'), toolCall('look')))
    const events = await all(await streamTask(home, await spawn(home), 'How many?'))
    expect(events.filter(({ event }) => event === 'reset')).toHaveLength(1)
    expect(textOf(events)).toBe('Four.')
    expect(textOf(await all(await followTask(home, finishedTask(events).task_id)))).toBe('Four.')
    expect(finishedTask(events)).toMatchObject({ output: 'Four.', steps_taken: 2, tool_calls_made: 1 })
  })

  it('is repaired by one answer without streaming when the model breaks off', async () => {
    await using home = await testHostWithTasks(() => text(LONG), {
      clock: 'system',
      config: { model: { retry_delay: 0 } },
    })
    home.server.enqueue(fault('cleancut', 'It is fo'))
    const events = await all(await streamTask(home, await spawn(home), 'What is two and two?'))
    expect(events.filter(({ event }) => event === 'reset')).toHaveLength(1)
    expect(textOf(events)).toBe(LONG)
    expect(finishedTask(events)).toMatchObject({ status: 'completed', output: LONG })
    expect(home.server.requests.map(({ body }) => body.stream ?? false)).toEqual([true, false])
  })

  it('ends as failed, with the text shown and the error, when the model breaks off each time', async () => {
    await using home = await testHostWithTasks(() => fault('500'), {
      clock: 'system',
      config: { model: { retry_delay: 0 } },
    })
    home.server.enqueue(fault('cleancut', 'It is fo'))
    const events = await all(await streamTask(home, await spawn(home), 'What is two and two?'))
    expect(textOf(events)).toBe('It is fo')
    expect(failedTask(events)).toMatchObject({ status: 'failed', output: 'It is fo', error: { code: 'model_error' } })
  })

  it.each(['hang', 'stall', 'rst', '500', 'badjson', 'html200', 'empty', 'cleancut', '429'] as const)(
    'has exactly one end when the model fails with %s',
    async mode => {
      await using home = await testHostWithTasks(() => fault(mode), {
        clock: 'system',
        config: { model: { idle_timeout: 0.3, total_timeout: 1, retry_delay: 0 } },
      })
      const events = await all(await streamTask(home, await spawn(home), 'Do it.'))
      expect(events.filter(({ event }) => event === 'done' || event === 'error')).toHaveLength(1)
      expect(failedTask(events)).toMatchObject({
        status: 'failed',
        output: textOf(events),
        error: { code: 'model_error' },
      })
    },
  )

  it('fails with the reason before its first event when it cannot start', async () => {
    await using home = await testHostWithTasks(() => text('Done.'))
    const stream = await streamTask(home, 'nobody', 'Do it.')
    await expect(stream.next()).rejects.toMatchObject({ code: 'agent_not_found' })
  })

  it('comes in few large events for a slow reader, and as it arrives for a quick one', async () => {
    await using home = await testHostWithTasks(() => text(LONG.repeat(20)))
    const quick = await streamTask(home, await spawn(home), 'Say it.')
    const first = await quick.next()
    const { task_id } = (await rows<{ task_id: string }>(home, 'SELECT task_id FROM task_runs'))[0]!
    const slow = await followTask(home, task_id)
    const begun = await slow.next()
    const quickly = [first.value!, ...(await all(quick))]
    const slowly = [begun.value!, ...(await all(slow))]
    expect(textOf(quickly)).toBe(LONG.repeat(20))
    expect(textOf(slowly)).toBe(LONG.repeat(20))
    // Text that arrived while it did not read is one event, or none when all was there at its first read.
    expect(slowly.map(({ event }) => event).join(' ')).toMatch(/^token( token)? done$/)
  })

  it('can be followed later, from any position', async () => {
    await using home = await testHostWithTasks(() => text(LONG))
    const { task_id } = finishedTask(await all(await streamTask(home, await spawn(home), 'What is two and two?')))
    expect(textOf(await all(await followTask(home, task_id)))).toBe(LONG)
    for (const place of [0, 6, LONG.length - 1, LONG.length]) {
      const events = await all(await followTask(home, task_id, { last_event_id: String(place) }))
      expect(textOf(events)).toBe(LONG.slice(place))
      expect(finishedTask(events)).toMatchObject({ output: LONG })
    }
    const odd = await all(await followTask(home, task_id, { last_event_id: 'evt-7' }))
    expect(textOf(odd)).toBe(LONG)
  })

  it('delivers only the end of a task that was not started as a stream', async () => {
    await using home = await testHostWithTasks(() => text(LONG))
    const { task_id, ...response } = await run(home, await spawn(home), 'What is two and two?')
    const events = await all(await followTask(home, task_id))
    expect(events).toEqual([{ id: '0', event: 'done', data: { task_id, ...response } }])
  })

  it('is kept in memory only as far as readers need it, and is otherwise read from the database', async () => {
    const longer = Array.from({ length: 20_000 }, (_, n) => `${n} 🐑 `).join('')
    await using home = await testHostWithTasks(() => text(longer))
    const quick = await streamTask(home, await spawn(home), 'Count.')
    const first = await quick.next()
    const { task_id } = (await rows<{ task_id: string }>(home, 'SELECT task_id FROM task_runs'))[0]!
    const slow = await followTask(home, task_id)
    const events = [first.value!]
    for (let next = await quick.next(); !next.done; next = await quick.next()) {
      events.push(next.value)
      await home.clock.advance(250)
    }
    expect(textOf(events)).toBe(longer)
    expect(textOf(await all(slow))).toBe(longer)
    const middle = await followTask(home, task_id, { last_event_id: '100001' })
    expect(textOf(await all(middle))).toBe(longer.slice(100_001))
  })

  it('keeps text intact, whatever it contains', async () => {
    const odd = `a\r\nb\0c\u2028d${'🐑'.repeat(3000)}\u202ee"\\`
    await using home = await testHostWithTasks(() => text(odd))
    const events = await all(await streamTask(home, await spawn(home), 'Say it.'))
    expect(textOf(events)).toBe(odd)
    expect(textOf(await all(await followTask(home, finishedTask(events).task_id)))).toBe(odd)
  })
})

describe('a client that disconnects', () => {
  it('ends its task and the model call at once', async () => {
    await using home = await testHostWithTasks(() => fault('stall', 'It is'))
    const gone = new AbortController()
    const stream = await streamTask(home, await spawn(home), 'Do it.', {}, { signal: gone.signal })
    const first = await stream.next()
    expect(first.value).toMatchObject({ event: 'token' })
    gone.abort()
    expect(await home.server.requests[0]?.ended).toBe('dropped')
    const [{ task_id }] = (await rows<{ task_id: string }>(home, 'SELECT task_id FROM task_runs')) as [
      { task_id: string },
    ]
    await until(async () => (await taskOf(home, task_id)).status !== 'running')
    expect(await taskOf(home, task_id)).toMatchObject({
      status: 'failed',
      output: textOf([first.value!]),
      error: { code: 'task_cancelled' },
    })
    expect((await rows<{ n: number }>(home, 'SELECT sum(input_tokens) AS n FROM spend'))[0]?.n).toBeGreaterThan(0)
  })

  it('also ends its task by leaving the stream', async () => {
    const { release, script } = heldReply(text('It is'))
    await using home = await testHostWithTasks(n =>
      n.n === 1 ? text('Let me see. ', { tool_calls: [{ name: 'x', arguments: '{}' }] }) : script(),
    )
    const stream = await streamTask(home, await spawn(home), 'Do it.')
    await stream.next()
    await stream.return?.()
    release()
    const [{ task_id }] = (await rows<{ task_id: string }>(home, 'SELECT task_id FROM task_runs')) as [
      { task_id: string },
    ]
    await until(async () => (await taskOf(home, task_id)).status !== 'running')
    expect(await taskOf(home, task_id)).toMatchObject({ error: { code: 'task_cancelled' } })
  })

  it('ends nothing when it only followed the task', async () => {
    const { release, script } = heldReply(text(LONG))
    await using home = await testHostWithTasks(script)
    const owner = all(await streamTask(home, await spawn(home), 'Do it.'))
    await home.server.request(1)
    const [{ task_id }] = (await rows<{ task_id: string }>(home, 'SELECT task_id FROM task_runs')) as [
      { task_id: string },
    ]
    const gone = new AbortController()
    const follower = all(await followTask(home, task_id, { signal: gone.signal })).catch(error => error)
    await turn()
    gone.abort()
    await follower
    release()
    expect(finishedTask(await owner)).toMatchObject({ status: 'completed' })
  })

  it('leaves a task with an Idempotency-Key running', async () => {
    const { release, script } = heldReply(text(LONG))
    await using home = await testHostWithTasks(script)
    const gone = new AbortController()
    const call = { signal: gone.signal, idempotency_key: 'k-1' }
    const id = await spawn(home)
    const asked = run(home, id, 'Do it.', {}, call).catch(error => error)
    await home.server.request(1)
    gone.abort()
    await asked
    release()
    expect(await run(home, id, 'Do it.', {}, { idempotency_key: 'k-1' })).toMatchObject({ output: LONG })
    expect(home.server.requests).toHaveLength(1)
  })
})

describe('an Idempotency-Key', () => {
  const call = { idempotency_key: 'k-1' }

  it('returns the first answer again, as a response and as a stream', async () => {
    await using home = await testHostWithTasks(({ n }) => text(`Answer ${n}.`))
    const id = await spawn(home)
    const first = await run(home, id, 'Do it.', {}, call)
    expect(await run(home, id, 'Do it.', {}, call)).toEqual(first)
    expect(finishedTask(await all(await streamTask(home, id, 'Do it.', {}, call)))).toEqual(first)
    expect(home.server.requests).toHaveLength(1)
  })

  it('also returns a failed answer again, without a second attempt', async () => {
    await using home = await testHostWithTasks(() => text(''))
    const id = await spawn(home)
    const first = await run(home, id, 'Do it.', {}, call)
    expect(first).toMatchObject({ status: 'failed' })
    expect(await run(home, id, 'Do it.', {}, call)).toEqual(first)
  })

  it.each([
    ['instruction', 'Do that.', {}],
    ['max_steps', 'Do it.', { max_steps: 3 }],
    ['session_key', 'Do it.', { session_key: 's' }],
  ])('is rejected with another %s', async (_, instruction, more) => {
    await using home = await testHostWithTasks(() => text('Done.'))
    const id = await spawn(home)
    const { task_id } = await run(home, id, 'Do it.', {}, call)
    await expect(run(home, id, instruction, more, call)).rejects.toMatchObject({
      code: 'idempotency_key_reused',
      status: 422,
      message: expect.stringContaining(task_id),
    })
  })

  it('is separate for each user and agent', async () => {
    await using home = await testHostWithTasks(({ n }) => text(`Answer ${n}.`))
    const [a, b] = [await spawn(home), await spawn(home)]
    const outputs = []
    for (const [id, tenant] of [
      [a, 'alice'],
      [a, 'bob'],
      [b, 'alice'],
    ] as const)
      outputs.push((await run(home, id, 'Do it.', {}, { ...call, tenant })).output)
    expect(outputs).toEqual(['Answer 1.', 'Answer 2.', 'Answer 3.'])
  })

  it('makes twenty parallel requests run a single task', async () => {
    const { release, script } = heldReply(text(LONG))
    await using home = await testHostWithTasks(script)
    const id = await spawn(home)
    const asked = Array.from({ length: 20 }, (_, n) =>
      n % 2
        ? run(home, id, 'Do it.', { session_key: 's' }, call)
        : streamTask(home, id, 'Do it.', { session_key: 's' }, call).then(all).then(finishedTask),
    )
    await home.server.request(1)
    release()
    const responses = await Promise.all(asked)
    expect(new Set(responses.map(({ task_id }) => task_id)).size).toBe(1)
    expect(home.server.requests).toHaveLength(1)
    expect(await rows(home, 'SELECT 1 FROM task_runs')).toHaveLength(1)
  })
})
