import { describe, expect, it } from 'vitest'
import type { Task } from '#core/tasks/contract'
import { definePlugin, z } from '#kernel'
import { DatabaseLockedError, Store } from '#platform/store/contract'
import { tool } from '#tools/toolkits/contract'
import { fault, type Script, type TestHostOptions, tempDir, text, toolCall, until } from '../../../support/index.ts'
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

/** Longer than the lease of a task whose process gives no sign of life. */
const LEASE_MS = 20_000

/**
 * Opens two servers of one project, each with a clock of its own: one whose clock stands still gives no sign of life.
 */
async function two(script: Script, options: TestHostOptions = {}) {
  const dir = await tempDir()
  let n = 0
  // Each has ids of its own, like a separate process.
  const open = (more: Script) => testHostWithTasks(more, { ...options, root: dir.path, seed: ++n })
  const first = await open(script)
  return {
    first,
    second: (more: Script = () => text('Taken up.')) => open(more),
    async [Symbol.asyncDispose]() {
      await first.close()
      await dir[Symbol.asyncDispose]()
    },
  }
}

const only = async (home: Awaited<ReturnType<typeof testHostWithTasks>>) =>
  (await rows<{ task_id: string }>(home, 'SELECT task_id FROM task_runs'))[0]!.task_id

describe('a task on several servers', () => {
  it('can be followed on any of them, while it runs and from any position', async () => {
    let release = () => {}
    const waited = new Promise<void>(resolve => {
      release = resolve
    })
    const looks = tool({ name: 'look', description: 'Looks.', parameters: z.object({}), execute: () => waited })
    const plugin = definePlugin({ name: 'eyes', setup: svc => svc.toolkit({ name: 'memory', tools: [looks] }) })
    await using servers = await two(({ n }) => (n === 1 ? toolCall('look') : text('Four.')), { builtins: [plugin] })
    const { first } = servers
    await using second = await servers.second()
    first.server.enqueue({ ...text('I look.'), tool_calls: [{ name: 'look', arguments: '{}' }] })
    const there = all(await streamTask(first, await spawn(first), 'How many?'))
    await until(async () => (await rows(first, 'SELECT 1 FROM task_texts')).length > 0)
    const stream = await followTask(second, await only(first))
    expect((await stream.next()).value).toEqual({ id: '7', event: 'token', data: { text: 'I look.' } })
    const here = all(stream)
    const later = followTask(second, await only(first), { last_event_id: '2' }).then(all)
    release()
    const events = await there
    await second.clock.advance(1000)
    await until(async () => (await taskOf(second, await only(first))).status === 'completed')
    await second.clock.advance(1000)
    expect(finishedTask(await here)).toEqual(finishedTask(events))
    expect(textOf(await here)).toBe('Four.')
    expect(textOf(await later)).toBe('Four.')
  })

  it('is awaited by the server that a retry with its Idempotency-Key reaches', async () => {
    const call = { idempotency_key: 'k-1' }
    await using servers = await two(() => text('From one of them.'), { clock: 'system' })
    await using second = await servers.second(() => text('From one of them.'))
    const id = await spawn(servers.first)
    const responses = await Promise.all([servers.first, second].map(home => run(home, id, 'Do it.', {}, call)))
    expect(responses[1]).toEqual(responses[0])
    expect(second.server.requests.length + servers.first.server.requests.length).toBe(1)
  })
})

describe('a task whose process died', () => {
  it('has failed when it has no Idempotency-Key: the next process that looks records that', async () => {
    await using servers = await two(() => fault('hang'))
    const { first } = servers
    const asked = run(first, await spawn(first), 'Do it.')
    await first.server.request(1)
    const task_id = await only(first)
    await using second = await servers.second()
    expect(await taskOf(second, task_id)).toMatchObject({ status: 'running' })
    const following = followTask(second, task_id).then(all)
    await second.clock.advance(LEASE_MS)
    expect(await taskOf(second, task_id)).toMatchObject({
      status: 'failed',
      error: { code: 'task_interrupted', detail: expect.stringContaining('Idempotency-Key') },
      duration_ms: 15_000,
    })
    expect(failedTask(await following)).toMatchObject({ status: 'failed' })
    expect(second.server.requests).toEqual([])
    // The slow process notices that its task was settled, and changes nothing.
    await first.close()
    expect(await asked).toMatchObject({ status: 'failed', error: { code: 'task_interrupted' } })
  })

  it.each([
    ['repeats an idempotent call', 'again', ['again', 'again', 'later'], 'again is done'],
    ['repeats no other call', 'once', ['once', 'later'], expect.stringContaining('unknown')],
  ])('continues on another server when it has an Idempotency-Key, and %s', async (_, name, runs, result) => {
    const ran: string[] = []
    const tools = [name, 'later'].map(name =>
      tool({
        name,
        description: 'The first call takes long.',
        parameters: z.object({}),
        idempotent: name === 'again',
        execute: () => (ran.push(name) === 1 ? new Promise(() => {}) : `${name} is done`),
      }),
    )
    const plugin = definePlugin({ name: 'slow', setup: svc => svc.toolkit({ name: 'memory', tools }) })
    const both = {
      ...text('I begin.'),
      tool_calls: [
        { name, arguments: '{}' },
        { name: 'later', arguments: '{}' },
      ],
    }
    await using servers = await two(() => both, { builtins: [plugin], config: { daemon: { tool_timeout: 0 } } })
    const { first } = servers
    const call = { idempotency_key: 'k-1' }
    const id = await spawn(first)
    const asked = run(first, id, 'Do it.', {}, call).catch(error => error)
    await until(() => ran.length === 1)
    await using second = await servers.second()
    await second.clock.advance(LEASE_MS)
    const { request } = second.server
    await request(1)
    const task_id = await only(second)
    await until(async () => (await taskOf(second, task_id)).status !== 'running')
    expect(await taskOf(second, task_id)).toMatchObject({ status: 'completed', output: 'Taken up.', steps_taken: 2 })
    expect(ran).toEqual(runs)
    const results = second.server.requests[0]!.body.messages.filter(({ role }) => role === 'tool')
    expect(results.map(({ content }) => content)).toEqual([result, 'later is done'])
    expect(await run(second, id, 'Do it.', {}, call)).toMatchObject({ output: 'Taken up.' })
    await first.close()
    await asked
    expect(await rows(second, "SELECT 1 FROM task_runs WHERE status = 'completed'")).toHaveLength(1)
  })

  it('is given up after its process has died several times', async () => {
    await using servers = await two(() => fault('hang'))
    const homes = [servers.first]
    const asked = run(servers.first, await spawn(servers.first), 'Do it.', {}, { idempotency_key: 'k' }).catch(() => {})
    await servers.first.server.request(1)
    for (let n = 1; n <= 5; n++) {
      const home = await servers.second(() => fault('hang'))
      homes.push(home)
      await home.clock.advance(LEASE_MS * n)
      await home.server.request(1)
    }
    await using last = await servers.second()
    await last.clock.advance(LEASE_MS * 6)
    const task_id = await only(last)
    await until(async () => (await taskOf(last, task_id)).status === 'failed')
    expect(last.server.requests).toEqual([])
    for (const home of homes) await home.close()
    await asked
  })
})

describe('a process that stops or does not stay', () => {
  it('ends the tasks of its clients when it stops, and leaves the others to the next server', async () => {
    await using servers = await two(() => fault('hang'))
    const { first } = servers
    const id = await spawn(first)
    const carried = run(first, id, 'Do one thing.')
    const detached = run(first, id, 'Do another.', {}, { idempotency_key: 'k' }).catch(error => error.code)
    await first.server.request(2)
    await first.close()
    expect(await carried).toMatchObject({ status: 'failed', error: { code: 'task_interrupted' } })
    expect(await detached).toBe('stopping')
    await using second = await servers.second()
    await second.server.request(1)
    expect(await run(second, id, 'Do another.', {}, { idempotency_key: 'k' })).toMatchObject({ output: 'Taken up.' })
    expect(second.server.requests).toHaveLength(1)
  })

  it('also records which tasks were lost when it is a command line', async () => {
    await using servers = await two(() => fault('hang'))
    const { first } = servers
    const id = await spawn(first)
    const asked = run(first, id, 'Do it.')
    await first.server.request(1)
    await using cli = await testHostWithTasks(() => text('Never.'), { root: first.root, roles: ['cli'], seed: 9 })
    const list = async () => (await cli.kernel.invoke('tasks.list', { id })) as { status: string }[]
    expect(await list()).toMatchObject([{ status: 'running' }])
    await cli.clock.advance(LEASE_MS)
    expect(await list()).toMatchObject([{ status: 'failed', error: { code: 'task_interrupted' } }])
    await first.close()
    await asked
  })

  it('leaves an interrupted task to a server when it is a command line', async () => {
    await using servers = await two(() => fault('hang'))
    const { first } = servers
    const asked = run(first, await spawn(first), 'Do it.', {}, { idempotency_key: 'k' }).catch(error => error)
    await first.server.request(1)
    await first.close()
    await asked
    await using cli = await testHostWithTasks(() => text('Never.'), { root: first.root, roles: ['cli'] })
    expect(await taskOf(cli, await only(cli))).toMatchObject({ status: 'running' })
    await cli.clock.advance(LEASE_MS)
    expect(cli.server.requests).toEqual([])
  })

  it('keeps a task when the machine has slept for longer than its lease', async () => {
    let answer = () => {}
    const waited = new Promise<void>(resolve => {
      answer = resolve
    })
    await using servers = await two(() => waited.then(() => text('Done.')))
    const { first } = servers
    await using second = await servers.second()
    const id = await spawn(first)
    const asked = run(first, id, 'Do it.')
    await first.server.request(1)
    for (const home of [first, second]) home.clock.jump(8 * 3_600_000)
    expect(await first.kernel.invoke('tasks.list', { id })).toMatchObject([{ status: 'running' }])
    await first.clock.advance(300)
    await second.clock.advance(5_000)
    expect(await second.kernel.invoke('tasks.list', { id })).toMatchObject([{ status: 'running' }])
    answer()
    expect(await asked).toMatchObject({ status: 'completed', output: 'Done.' })
  })
})

describe('a task whose end cannot be written', () => {
  it('returns the error to its client, and is recorded with it and its spend later', async () => {
    let locked = true
    const broken = definePlugin({
      name: 'broken-disk',
      needs: ['store'],
      setup: svc =>
        svc.start(
          () => {
            const store = svc.use(Store)
            const apply: Store['apply'] = effects => {
              if (locked && effects.some(({ effect }) => effect === 'tasks.end')) throw new DatabaseLockedError()
              return store.apply(effects)
            }
            return svc.provide(
              Store,
              new Proxy(store, { get: (_, key) => (key === 'apply' ? apply : bound(store, key)) }),
            )
          },
          { in: ['server'] },
        ),
    })
    await using home = await testHostWithTasks(() => text('Done.'), { builtins: [broken] })
    const id = await spawn(home)
    await expect(run(home, id, 'Do it.')).rejects.toMatchObject({ code: 'database_locked', status: 503 })
    const stream = await streamTask(home, id, 'Do it.')
    await expect(all(stream)).rejects.toMatchObject({ code: 'database_locked' })
    locked = false
    await home.clock.advance(LEASE_MS)
    const list = (await home.kernel.invoke('tasks.list', { id })) as (Task & { error: { code: string } })[]
    expect(list.map(({ status, error, tokens }) => [status, error.code, tokens > 0])).toEqual([
      ['failed', 'database_locked', true],
      ['failed', 'database_locked', true],
    ])
  })
})

function bound(store: Store, key: string | symbol): unknown {
  const value: unknown = Reflect.get(store, key)
  return typeof value === 'function' ? value.bind(store) : value
}
