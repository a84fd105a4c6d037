import { type HttpFace, type Operation, shapeOf } from '#kernel'
import type { ProtocolRoute, StaticRoute } from './contract.ts'

/** A place in the URL space, and the name of the operation that answers there; the name is resolved at each request. */
export interface Route {
  method: HttpFace['method']
  path: string
  operation: string
  open: boolean
}

export interface RouteTable {
  routes: Route[]
  pages: readonly StaticRoute[]
  protocols: readonly ProtocolRoute[]
  /** Operations that get no place, each with a sentence that says why. */
  refused: { operation: string; why: string }[]
}

/** Everything that has a place. Where two want the same one, pages and protocols win over operations. */
export function routeTable(
  operations: readonly Operation[],
  pages: readonly StaticRoute[],
  protocols: readonly ProtocolRoute[],
): RouteTable {
  const taken = new Map(pages.map(page => [`GET ${page.path}`, `the page ${page.path}`]))
  for (const { methods, path } of protocols)
    for (const method of methods) taken.set(`${method} ${shapeOf(path)}`, `the protocol at ${path}`)
  const table: RouteTable = { routes: [], pages, protocols, refused: [] }
  for (const { name, http } of operations) {
    if (!http) continue
    const { method, path } = http
    const owner = taken.get(`${method} ${shapeOf(path)}`)
    if (owner) table.refused.push({ operation: name, why: `${method} ${path} already belongs to ${owner}` })
    else table.routes.push({ method, path, operation: name, open: http.open ?? false })
  }
  return table
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
