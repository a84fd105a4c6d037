import type { Operation } from '#kernel'
import type { HttpRoute, ProtocolRoute, StaticRoute } from '../contract.ts'

/** Method and path, with the name of the operation that answers; the name is resolved at each request. */
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

/** Collects all routes. No two are the same, which the rules of their points ensure. */
export function routeTable(
  operations: readonly Operation[],
  pages: readonly StaticRoute[],
  protocols: readonly ProtocolRoute[],
): RouteTable {
  const routes = operations.flatMap(({ name, http }) =>
    http
      ? [
          {
            method: http.method,
            path: http.path,
            operation: name,
            open: http.open ?? false,
            body_bytes: http.body_bytes,
          },
        ]
      : [],
  )
  return { routes, pages, protocols }
}

/** Returns the names of the parameters in a path such as `/agents/{id}`. */
export function pathNames(path: string): readonly string[] {
  const known = named.get(path)
  if (known) return known
  const names = [...path.matchAll(/\{(\w+)\}/g)].map(match => match[1]!)
  // The cache holds one entry per route, and hardly more after many reloads.
  if (named.size >= REMEMBERED) named.clear()
  named.set(path, names)
  return names
}

const named = new Map<string, readonly string[]>()
const REMEMBERED = 1_000
