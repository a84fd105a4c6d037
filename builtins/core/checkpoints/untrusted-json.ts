/** Deeper is nothing that agents do: recursion over it must not end the process. */
const DEEPEST = 100

/** What keeps parsed JSON of a stranger from being looked at any closer: its depth, or keys that mean something to JavaScript. */
export function findDanger(value: unknown): string | undefined {
  const open: [unknown, number][] = [[value, 0]]
  for (let next = open.pop(); next; next = open.pop()) {
    const [each, depth] = next
    if (typeof each !== 'object' || each === null) continue
    if (depth > DEEPEST) return `it is nested deeper than ${DEEPEST} levels`
    if (Object.hasOwn(each, '__proto__')) return 'it has a key "__proto__"'
    for (const inner of Object.values(each)) open.push([inner, depth + 1])
  }
  return undefined
}
