import { isDeepStrictEqual } from 'node:util'
import { isTree, type Tree } from '#lib/tree'
import type { CheckpointChange } from './contract.ts'

/**
 * Returns the changes from one JSON value to another, field by field, to be applied in this order as JSON Patch (RFC
 * 6902). Items of lists are compared by index.
 */
export function changesBetween(was: unknown, value: unknown, path = ''): CheckpointChange[] {
  if (isDeepStrictEqual(was, value)) return []
  if (Array.isArray(was) && Array.isArray(value)) return diffLists(was, value, path)
  if (isTree(was) && isTree(value)) return diffObjects(was, value, path)
  return [{ op: 'replace', path, value, was }]
}

function diffLists(was: readonly unknown[], value: readonly unknown[], path: string): CheckpointChange[] {
  const both = Math.min(was.length, value.length)
  const changes = value.slice(0, both).flatMap((each, n) => changesBetween(was[n], each, `${path}/${n}`))
  // From the end, so that the indexes of the others stay valid.
  for (let n = was.length - 1; n >= both; n--) changes.push({ op: 'remove', path: `${path}/${n}`, was: was[n] })
  for (let n = both; n < value.length; n++) changes.push({ op: 'add', path: `${path}/${n}`, value: value[n] })
  return changes
}

function diffObjects(was: Tree, value: Tree, path: string): CheckpointChange[] {
  const at = (key: string) => `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
  const gone = Object.keys(was).filter(key => !Object.hasOwn(value, key))
  return [
    ...gone.map(key => ({ op: 'remove' as const, path: at(key), was: was[key] })),
    ...Object.keys(value).flatMap(key =>
      Object.hasOwn(was, key)
        ? changesBetween(was[key], value[key], at(key))
        : [{ op: 'add' as const, path: at(key), value: value[key] }],
    ),
  ]
}
