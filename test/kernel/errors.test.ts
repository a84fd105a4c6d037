import { expect, it } from 'vitest'
import { errorMessage } from '#kernel'

const hostile = new Proxy(
  {},
  {
    get() {
      throw new Error('no')
    },
  },
)

it.each([
  [new Error('plain'), 'plain'],
  ['a string', 'a string'],
  [undefined, 'undefined'],
  [{ code: 7 }, '{"code":7}'],
  [Object.defineProperty(new Error('x'), 'message', { get: () => hostile.toString() }), 'a value that cannot be read'],
  [hostile, 'a value that cannot be read'],
])('anything that is thrown has a message: %#', (thrown, message) => {
  expect(errorMessage(thrown)).toBe(message)
})
