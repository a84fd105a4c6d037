import { isDeepStrictEqual } from 'node:util'

/** Nested mappings, as JSON and YAML have them. */
export type Tree = Record<string, unknown>

export const same = isDeepStrictEqual

/** Returns whether a value is a mapping, such as an object of JSON, and no array. */
export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Parses JSON; returns a string that is not JSON, such as truncated JSON, as it is. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Returns all values of a tree with their paths; an empty mapping counts as a value. */
export function leaves(tree: unknown, path: readonly string[] = []): [path: string[], value: unknown][] {
  if (path.length > 0 && (!isTree(tree) || Object.keys(tree).length === 0)) return [[[...path], tree]]
  return Object.entries(tree as Tree).flatMap(([key, value]) => leaves(value, [...path, key]))
}

/** Returns the value at a path, looking at own keys only; undefined when there is none. */
export function getIn(tree: unknown, path: readonly string[]): unknown {
  let at = tree
  for (const step of path) {
    if (!isTree(at) || !Object.hasOwn(at, step)) return undefined
    at = at[step]
  }
  return at
}

/** Sets the value at a path; replaces values on the way that are not mappings. */
export function setIn(tree: Tree, path: readonly string[], value: unknown): void {
  const [step, ...rest] = path
  if (step === undefined) return
  if (rest.length > 0) {
    const below = Object.hasOwn(tree, step) && isTree(tree[step]) ? tree[step] : {}
    setIn(below, rest, value)
    value = below
  }
  Object.defineProperty(tree, step, { value, enumerable: true, writable: true, configurable: true })
}

/** Deletes the value at a path, and the mappings that become empty. */
export function deleteIn(tree: Tree, path: readonly string[]): void {
  const [step, ...rest] = path
  if (step === undefined || !Object.hasOwn(tree, step)) return
  const below = tree[step]
  if (rest.length > 0 && isTree(below)) deleteIn(below, rest)
  if (rest.length === 0 || (isTree(below) && Object.keys(below).length === 0)) delete tree[step]
}
