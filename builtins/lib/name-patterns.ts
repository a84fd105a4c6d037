/**
 * Returns whether a name matches one of the patterns; `*` matches anything. Runs in linear time, without backtracking.
 */
export function isAmong(patterns: readonly string[], name: string): boolean {
  return patterns.some(pattern => matchesPattern(pattern, name))
}

function matchesPattern(pattern: string, name: string): boolean {
  const parts = pattern.split('*')
  const [first = ''] = parts
  if (parts.length === 1) return name === first
  const last = parts.at(-1)!
  if (!name.startsWith(first) || !name.endsWith(last)) return false
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return name.length - last.length >= at
}
