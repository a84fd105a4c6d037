import { expect, it } from 'vitest'
// @ts-expect-error It is no TypeScript: the build needs it before there is any.
import { withSharedShapes } from '../build/shared-shapes.js'

const rewrite = withSharedShapes as (code: string) => string

it('object literals that begin with a copy and go on are rewritten, and mean the same', () => {
  const cases: [before: string, after: string][] = [
    ['({ ...a, b: 1 })', '({ ...null, ...a, b: 1 })'],
    ['({ ...a, ...(b ? { ...c, d } : {}), x: 3 })', '({ ...null, ...a, ...(b ? { ...null, ...c, d } : {}), x: 3 })'],
    ['({ ...a })', '({ ...a })'],
    ['({ x: 3, ...a })', '({ x: 3, ...a })'],
    ['[...e, 1, (({ x, ...rest }) => rest)(a)]', '[...e, 1, (({ x, ...rest }) => rest)(a)]'],
    [
      '({ ...u, ...a, get y() { return { ...c, d } } }).y',
      '({ ...null, ...u, ...a, get y() { return { ...null, ...c, d } } }).y',
    ],
  ]
  const run = (code: string) =>
    new Function('a', 'b', 'c', 'd', 'e', 'u', `return ${code}`)(
      JSON.parse('{ "x": 1, "__proto__": 2 }'),
      true,
      { z: [0] },
      4,
      [5],
      undefined,
    )
  for (const [before, after] of cases) {
    expect(rewrite(before)).toBe(after)
    expect(run(after)).toEqual(run(before))
    expect(Object.keys(run(after))).toEqual(Object.keys(run(before)))
  }
})
