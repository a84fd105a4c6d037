/** Returns text on one line, cut to a maximum length. */
export function brief(text: string, longest = 160): string {
  const line = text
    .slice(0, 4 * longest)
    .replace(/\s+/g, ' ')
    .trim()
  return line.length > longest ? `${line.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…` : line
}

/** Returns the arguments of a call with short ones first, so that a long one does not push them out of a cut text. */
export function shortestFirst(args: unknown): unknown {
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return args
  const lengthOf = (value: unknown) => JSON.stringify(value).length
  return Object.fromEntries(Object.entries(args).sort(([, a], [, b]) => lengthOf(a) - lengthOf(b)))
}
