/**
 * Puts the fields of an input into the path of a route, and the others into its query or its body.
 * @param check called with each path parameter; a missing one is ''
 */
export function routeRequest(
  { method, path }: { method: string; path: string },
  input: Readonly<Record<string, unknown>>,
  check: (name: string, value: unknown) => void = () => {},
): { target: string; body: string | undefined } {
  const rest = new Map(Object.entries(input).filter(([, value]) => value !== undefined))
  const target = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest.get(name) ?? ''
    rest.delete(name)
    check(name, value)
    return encodeURIComponent(String(value))
  })
  if (rest.size === 0) return { target, body: undefined }
  if (method !== 'GET' && method !== 'DELETE') return { target, body: JSON.stringify(Object.fromEntries(rest)) }
  const query = new URLSearchParams()
  for (const [name, value] of rest) for (const each of [value].flat()) query.append(name, queryText(each))
  return { target: `${target}?${query}`, body: undefined }
}

function queryText(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
