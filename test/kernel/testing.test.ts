import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { definePlugin } from '#kernel'
import { beat, heldClock, house, memoryScheduler, modelServer, tempDir, until } from '../support/index.ts'

it('a held clock stands still, and fires what falls due in its order, also what is set on the way', async () => {
  const clock = heldClock()
  const began = clock.ms()
  const told: string[] = []
  const tell = (name: string) => () => void told.push(`${name} at ${clock.monotonic()}`)
  clock.after(300, tell('late'))
  clock.after(100, () => {
    tell('early')()
    clock.after(100, tell('set on the way'))
  })
  clock.after(200, tell('middle'))
  clock.after(250, tell('cancelled'))()
  await clock.advance(250)
  expect(told).toEqual(['early at 100', 'middle at 200', 'set on the way at 200'])
  await clock.advance(50)
  expect(told.at(-1)).toBe('late at 300')
  expect([clock.ms() - began, clock.pending]).toEqual([300, 0])
})

it('a jump moves the wall and nothing else', async () => {
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

it('one seed gives one house: the same ids and the same randomness', async () => {
  const drawn = async (seed: number) => {
    await using home = await house({ seed })
    const { ids, random } = home.kernel.ports
    return [ids.make('goal', 8), ids.make('goal', 8), random.number('mood', 'ada')]
  }
  expect(await drawn(7)).toEqual(await drawn(7))
  expect(await drawn(7)).not.toEqual(await drawn(8))
})

it('a house sees nothing of the environment that it stands in', async () => {
  await using home = await house({ env: { ONLY: 'this' } })
  expect(home.kernel.ports.env).toEqual({ ONLY: 'this' })
})

it('a temporary project goes with its house; one that was there stays', async () => {
  await using dir = await tempDir({ 'profiles/coder.yaml': 'name: coder\n' })
  const visited = await house({ root: dir.path })
  const own = await house()
  await Promise.all([visited.close(), own.close()])
  await expect(access(join(dir.path, 'profiles', 'coder.yaml'))).resolves.toBeUndefined()
  await expect(access(own.root)).rejects.toMatchObject({ code: 'ENOENT' })
})

it('a house whose start fails leaves no project behind', async () => {
  let root = ''
  const bad = definePlugin({
    name: 'bad',
    setup(svc) {
      root = svc.project.root
      throw new Error('no luck')
    },
  })
  await expect(house({ builtins: [bad] })).rejects.toThrow('no luck')
  await expect(access(root)).rejects.toMatchObject({ code: 'ENOENT' })
})

it('one beat is one cycle for every agent, however many are allowed at once', async () => {
  const leases = memoryScheduler(Array.from({ length: 20 }, (_, n) => `agent${n}`))
  await using home = await house({ builtins: [leases.plugin], config: { daemon: { max_concurrent_agents: 3 } } })
  for (let beats = 1; beats <= 3; beats++) {
    await beat(home)
    expect(leases.commits).toHaveLength(20 * (beats + 1))
  }
})

it('until resolves with the event that matches', async () => {
  await using home = await house()
  const { hooks } = home.kernel
  const second = until(home, 'beat', ({ beat: count }) => count === 2)
  for (const count of [1, 2, 3]) await hooks.emit('beat', { beat: count })
  await expect(second).resolves.toEqual({ beat: 2 })
  expect(hooks.get('beat').taps).toEqual([])
})

it('a model on a port that is in use is refused, and ends no process', async () => {
  await using first = await modelServer()
  const port = Number(new URL(first.url).port)
  await expect(modelServer({ port })).rejects.toMatchObject({ code: 'EADDRINUSE' })
})
