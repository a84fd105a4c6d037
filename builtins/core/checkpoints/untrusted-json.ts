/** Maximum depth, far beyond what agents write, so that recursion cannot overflow the stack. */
const DEEPEST = 100

/** Returns why untrusted parsed JSON is refused: it is nested too deeply, or has a key with a meaning in JavaScript. */
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
