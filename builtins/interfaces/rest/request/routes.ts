import type { Operation } from '#kernel'
import type { HttpRoute, ProtocolRoute, StaticRoute } from '../contract.ts'

/** A place in the URL space, and the name of the operation that answers there; the name is resolved at each request. */
interface Route {
  method: HttpRoute['method']
  path: string
  operation: string
  open: boolean
  body_bytes: number | undefined
}

export interface RouteTable {
  routes: Route[]
  pages: readonly StaticRoute[]
  protocols: readonly ProtocolRoute[]
}

/** Everything that has a place. No two have the same one: each is a claim of its point. */
export function routeTable(
  operations: readonly Operation[],
  pages: readonly StaticRoute[],
  protocols: readonly ProtocolRoute[],
): RouteTable {
  const routes = operations.flatMap(({ name, http }) =>
    http
      ? [
          {
            ...{ method: http.method, path: http.path, operation: name },
            open: http.open ?? false,
            body_bytes: http.body_bytes,
          },
        ]
      : [],
  )
  return { routes, pages, protocols }
}

/** The names of the parameters in a path such as `/agents/{id}`. */
export function pathNames(path: string): readonly string[] {
  const known = named.get(path)
  if (known) return known
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(match => match[1]!)
  // There are as many as there are routes, over all reloads hardly more.
  if (named.size >= REMEMBERED) named.clear()
  named.set(path, names)
  return names
}

const named = new Map<string, readonly string[]>()
const REMEMBERED = 1_000
