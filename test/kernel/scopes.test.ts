import { expect, it } from 'vitest'
import { Scope, ScopeClosedError } from '#kernel'

it('closing a scope undoes everything in reverse order, and awaits each step', async () => {
  const scope = new Scope('demo')
  const undone: number[] = []
  for (const n of [1, 2, 3]) scope.hold(`thing ${n}`, async () => void undone.push(n))
  expect(scope.labels).toEqual(['thing 1', 'thing 2', 'thing 3'])
  await expect(scope.close()).resolves.toEqual([])
  expect(undone).toEqual([3, 2, 1])
  expect(scope.labels).toEqual([])
})

it('closing a scope twice undoes once', async () => {
  const scope = new Scope('demo')
  let undone = 0
  scope.hold('thing', () => void undone++)
  await Promise.all([scope.close(), scope.close()])
  await scope.close()
  expect(undone).toBe(1)
})

it('an undo runs at most once, whether by hand or by the scope', async () => {
  const scope = new Scope('demo')
  let undone = 0
  const undo = scope.hold('thing', () => void undone++)
  await undo()
  await undo()
  await scope.close()
  expect(undone).toBe(1)
})

it('an undo that fails does not stop the others and is reported', async () => {
  const scope = new Scope('demo')
  const undone: string[] = []
  const failure = new Error('stuck')
  scope.hold('first', () => void undone.push('first'))
  scope.hold('second', () => {
    throw failure
  })
  scope.hold('third', () => void undone.push('third'))
  await expect(scope.close()).resolves.toEqual([failure])
  expect(undone).toEqual(['third', 'first'])
})

it('what is added to a closed scope is undone at once, and the error names it', async () => {
  const scope = new Scope('demo')
  await scope.close()
  let undone = 0
  expect(() => scope.hold('a late timer', () => void undone++)).toThrow(ScopeClosedError)
  expect(() => scope.hold('a late timer', () => {})).toThrow(
    'Plugin "demo" was removed and cannot register a late timer.',
  )
  expect(undone).toBe(1)
})
