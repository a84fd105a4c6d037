import type { FastifyReply, FastifyRequest } from 'fastify'
import { MethodNotAllowedError, RouteNotFoundError } from './contract.ts'
import { type RouteTable, shapeOf } from './routes.ts'

/**
 * What a request is told that found no route: that there is nothing, or which methods its path answers to (RFC 9110,
 * 15.5.6). Looked up only then, so that the other methods of each path need no routes of their own.
 * @returns what throws RouteNotFoundError or MethodNotAllowedError
 */
export function createRefusal(table: RouteTable): (request: FastifyRequest, reply: FastifyReply) => never {
  let places: Place[] | undefined
  return ({ method, url }, reply) => {
    const path = url.split('?')[0]!
    places ??= placesOf(table)
    const methods = new Set(places.flatMap(({ pattern, methods }) => (pattern.test(path) ? [...methods] : [])))
    // A method that it does answer to was refused for another reason, such as a name that is far too long.
    if (methods.size === 0 || methods.has(method)) throw new RouteNotFoundError({ path })
    const allow = [...methods].sort().join(', ')
    reply.header('allow', allow)
    throw new MethodNotAllowedError({ method, path, allow })
  }
}

interface Place {
  pattern: RegExp
  methods: Set<string>
}

function placesOf({ routes, pages, protocols }: RouteTable): Place[] {
  const places = new Map<string, Place>()
  const spoken = protocols.flatMap(({ path, methods }) => methods.map(method => ({ method, path })))
  for (const { method, path } of [...routes, ...spoken, ...pages.map(({ path }) => ({ method: 'GET', path }))]) {
    const shape = shapeOf(path)
    const place = places.get(shape) ?? { pattern: patternOf(shape), methods: new Set() }
    places.set(shape, place)
    place.methods.add(method)
    if (method === 'GET') place.methods.add('HEAD')
  }
  return [...places.values()]
}

/** `/agents/{}` as what finds its paths. A route's paths hold nothing else that means something to an expression but dots. */
function patternOf(shape: string): RegExp {
  return new RegExp(`^${shape.replaceAll('.', '\\.').replaceAll('{}', '[^/]*')}$`)
}
