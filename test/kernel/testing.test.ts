import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { definePlugin } from '#kernel'
import * as testing from '../support/index.ts'
import { heldClock, memoryScheduler, modelServer, runHeartbeat, tempDir, testHost, until } from '../support/index.ts'

it('a held clock advances only when asked, and fires timers in the order in which they are due', async () => {
  const clock = heldClock()
  const began = clock.ms()
  const calls: string[] = []
  const recordAs = (name: string) => () => void calls.push(`${name} at ${clock.monotonic()}`)
  clock.after(300, recordAs('late'))
  clock.after(100, () => {
    recordAs('early')()
    clock.after(100, recordAs('set on the way'))
  })
  clock.after(200, recordAs('middle'))
  clock.after(250, recordAs('cancelled'))()
  await clock.advance(250)
  expect(calls).toEqual(['early at 100', 'middle at 200', 'set on the way at 200'])
  await clock.advance(50)
  expect(calls.at(-1)).toBe('late at 300')
  expect([clock.ms() - began, clock.pending]).toEqual([300, 0])
})

it('a clock jump moves the date and fires no timer', async () => {
  const clock = heldClock()
  const began = clock.now().getTime()
  let fired = false
  clock.after(1000, () => {
    fired = true
  })
  clock.jump(3_600_000)
  await clock.advance(999)
  expect([clock.now().getTime() - began, clock.monotonic(), fired]).toEqual([3_600_999, 999, false])
})

it('test hosts with the same seed give the same ids and random numbers', async () => {
  const drawWithSeed = async (seed: number) => {
    await using home = await testHost({ seed })
    const { ids, random } = home.kernel.ports
    return [ids.make('goal', 8), ids.make('goal', 8), random.number('mood', 'ada')]
  }
  expect(await drawWithSeed(7)).toEqual(await drawWithSeed(7))
  expect(await drawWithSeed(7)).not.toEqual(await drawWithSeed(8))
})

it('a test host sees only the environment that it is given', async () => {
  await using home = await testHost({ env: { ONLY: 'this' } })
  expect(home.kernel.ports.env).toEqual({ ONLY: 'this' })
})

it('closing a test host removes a temporary project and keeps an existing one', async () => {
  await using dir = await tempDir({ 'profiles/coder.yaml': 'name: coder\n' })
  const visited = await testHost({ root: dir.path })
  const own = await testHost()
  await Promise.all([visited.close(), own.close()])
  await expect(access(join(dir.path, 'profiles', 'coder.yaml'))).resolves.toBeUndefined()
  await expect(access(own.root)).rejects.toMatchObject({ code: 'ENOENT' })
})

it('a test host that fails to start leaves no project behind', async () => {
  let root = ''
  const bad = definePlugin({
    name: 'bad',
    setup(svc) {
      root = svc.project.root
      throw new Error('no luck')
    },
  })
  await expect(testHost({ builtins: [bad] })).rejects.toThrow('no luck')
  await expect(access(root)).rejects.toMatchObject({ code: 'ENOENT' })
})

it('a heartbeat runs one cycle of every agent, also with more agents than max_concurrent_agents', async () => {
  const leases = memoryScheduler(Array.from({ length: 20 }, (_, n) => `agent${n}`))
  await using home = await testHost({ builtins: [leases.plugin], config: { daemon: { max_concurrent_agents: 3 } } })
  for (let beats = 1; beats <= 3; beats++) {
    await runHeartbeat(home)
    expect(leases.commits).toHaveLength(20 * (beats + 1))
  }
})

it('until resolves with the first event that matches', async () => {
  await using home = await testHost()
  const { hooks } = home.kernel
  const second = until(home, 'beat', ({ beat: count }) => count === 2)
  for (const count of [1, 2, 3]) await hooks.emit('beat', { beat: count })
  await expect(second).resolves.toEqual({ beat: 2 })
  expect(hooks.get('beat').taps).toEqual([])
})

it('a model server on a port that is in use rejects instead of ending the process', async () => {
  await using first = await modelServer()
  const port = Number(new URL(first.url).port)
  await expect(modelServer({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
})

it('the earlier names of svc/testing still work', () => {
  const { house, House, beat, settled, turns, replayed } = testing
  expect([house, House, beat, settled]).toEqual([
    testing.testHost,
    testing.TestHost,
    testing.runHeartbeat,
    testing.waitUntilIdle,
  ])
  expect([turns, replayed]).toEqual([testing.turnEventLoop, testing.replayRecording])
})
