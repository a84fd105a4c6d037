import type { Operation, PointRules } from '#kernel'
import { requireFields, requireJson } from '#lib/operation-fields'
import { type HttpRoute, shapeOf } from './contract.ts'

const METHODS: readonly string[] = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'] satisfies HttpRoute['method'][]

/** Rules for routes: each is valid, and no two operations have the same. */
export const httpInterface: PointRules<Operation> = {
  shape: { parse: operation => operation.http && checkRoute(operation, operation.http) },
  claims: ({ http }) => (http ? [`${http.method} ${shapeOf(http.path)}`] : []),
}

/**
 * Checks a route.
 * @throws TypeError with an example of a valid route
 */
function checkRoute(operation: Operation, { method, path, idempotent }: HttpRoute): void {
  if (operation.events && idempotent === true)
    throw new TypeError(
      `the operation "${operation.name}" is a stream, whose answer is not stored: set idempotent to 'self', or leave it out`,
    )
  if (!METHODS.includes(method) || !/^\/(?:[\w.~/-]|\{\w+\})*$/.test(path)) {
    throw new TypeError(
      `the operation "${operation.name}" has no valid route in "${method} ${path}"; write one such as GET /weather/{city}`,
    )
  }
  const fields = [...path.matchAll(/\{(\w+)\}/g)].map(match => match[1]!)
  requireFields(operation, `path ${path}`, fields)
  requireJson(operation)
}
