import { expect, it } from 'vitest'
import { ConflictError, definePlugin, point, z } from '#kernel'
import { Toolkits, tool } from '#tools/toolkits/contract'
import { testHost } from '../support/index.ts'

interface Colour {
  name: string
  likes?: string
}
const Colours = point<Colour>('colours', {
  key: colour => colour.name,
  ask: async (colour, food: string) => (colour.likes === food ? colour.name : undefined),
})
const painter = (name: string, ...colours: Colour[]) =>
  definePlugin({
    name,
    setup(svc) {
      for (const colour of colours) svc.add(Colours, colour)
    },
  })

it('a duplicate name is a conflict that names both owners, and nothing of the second plugin stays', async () => {
  await using home = await testHost({ builtins: [painter('first', { name: 'red' })] })
  const { host, points } = home.kernel
  const adding = host.add(painter('second', { name: 'blue' }, { name: 'red' }))
  await expect(adding).rejects.toBeInstanceOf(ConflictError)
  await expect(adding).rejects.toThrow(/"second" adds "red" to colours, but "first" already did/)
  expect(points.list(Colours).map(({ key, owner }) => [key, owner])).toEqual([['red', 'first']])
})

it('a snapshot of a point never changes when contributions are added or removed', async () => {
  await using home = await testHost({ builtins: [painter('first', { name: 'red' })] })
  const { host, points } = home.kernel
  const before = points.list(Colours)
  await host.add(painter('second', { name: 'blue' }))
  const during = points.list(Colours)
  await host.remove('first')
  expect(before.map(({ key }) => key)).toEqual(['red'])
  expect(during.map(({ key }) => key)).toEqual(['red', 'blue'])
  expect(points.list(Colours).map(({ key }) => key)).toEqual(['blue'])
  expect(() => (before as unknown[]).push('green')).toThrow(TypeError)
  expect(points.find(Colours, 'red')).toBeUndefined()
})

it('asking a point returns the answer of the first contribution that has one', async () => {
  const builtins = [
    painter('first', { name: 'red' }, { name: 'green', likes: 'apple' }),
    painter('second', { name: 'blue', likes: 'apple' }),
  ]
  await using home = await testHost({ builtins })
  expect(await home.kernel.points.ask(Colours, 'apple')).toBe('green')
  expect(await home.kernel.points.ask(Colours, 'plum')).toBeUndefined()
})

it('a watcher of a point is called for each addition and removal, until it is removed itself', async () => {
  const seen: number[] = []
  const watcher = definePlugin({
    name: 'watcher',
    setup: svc => void svc.onChange(Colours, () => seen.push(svc.list(Colours).length)),
  })
  await using home = await testHost({ builtins: [watcher] })
  const { host } = home.kernel
  await host.add(painter('first', { name: 'red' }, { name: 'blue' }))
  await host.remove('first')
  expect(seen).toEqual([1, 2, 1, 0])
  await host.remove('watcher')
  await host.add(painter('first', { name: 'red' }))
  expect(seen).toEqual([1, 2, 1, 0])
})

it('a contribution that its point does not accept is refused with the reason', async () => {
  const bad = definePlugin({
    name: 'bad',
    setup(svc) {
      const broken = tool({ name: 'two words', description: '', parameters: z.object({}), execute: () => '' })
      svc.toolkit({ name: 'broken', tools: [broken] })
    },
  })
  await using home = await testHost()
  await expect(home.kernel.host.add(bad)).rejects.toThrow(/"two words" of toolkit "broken" is not/)
  expect(home.kernel.list(Toolkits)).toEqual([])
})

it('a contribution may be removed before its owner is', async () => {
  let undo: () => unknown = () => {}
  const fickle = definePlugin({
    name: 'fickle',
    setup(svc) {
      undo = svc.add(Colours, { name: 'red' })
    },
  })
  await using home = await testHost({ builtins: [fickle] })
  expect(home.kernel.list(Colours)).toHaveLength(1)
  await undo()
  expect(home.kernel.list(Colours)).toHaveLength(0)
})
