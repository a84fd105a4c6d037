import type { FastifyReply, FastifyRequest } from 'fastify'
import { MethodNotAllowedError, RouteNotFoundError, shapeOf } from '../contract.ts'
import type { RouteTable } from './routes.ts'

type Refuse = (request: FastifyRequest, reply: FastifyReply) => never

/**
 * Creates the answer to a request without a route: not found, or the methods that its path has (RFC 9110, 15.5.6).
 * These are looked up on demand, so that the other methods of each path need no routes.
 * @param disabled returns the disabled modules @returns a function that throws RouteNotFoundError or MethodNotAllowedError
 */
export function createRefusal(table: RouteTable, disabled: () => readonly string[]): Refuse {
  let places: Place[] | undefined
  return (request, reply) => {
    const path = pathOf(request)
    places ??= placesOf(table).sort((a, b) => a.parameters - b.parameters)
    const place = places.find(({ pattern }) => pattern.test(path))
    // The method exists, so the request was refused for another reason, such as a name that is too long.
    if (!place || place.methods.has(request.method)) throw new RouteNotFoundError({ path, disabled: disabled() })
    return notAllowed(place, request, reply)
  }
}

/**
 * Returns paths such as `/goals/abandon` that another route, `/goals/{id}`, would match with a method that they do not
 * have. The path with fewer parameters takes precedence (OpenAPI 3.1, 4.8.8.2), so these get routes that answer 405.
 */
export function shadowedRoutes(table: RouteTable): { path: string; methods: string[]; refuse: Refuse }[] {
  const places = placesOf(table)
  const general = places.filter(({ parameters }) => parameters > 0)
  return places.flatMap(place => {
    const { path, shape, methods } = place
    const others = general.filter(other => other.shape !== shape && other.pattern.test(shape))
    const taken = new Set(others.flatMap(other => [...other.methods]))
    const refused = [...taken].filter(method => !methods.has(method))
    const refuse: Refuse = (request, reply) => notAllowed(place, request, reply)
    return refused.length > 0 ? [{ path, methods: refused, refuse }] : []
  })
}

function notAllowed({ methods }: Place, request: FastifyRequest, reply: FastifyReply): never {
  const allow = [...methods].sort().join(', ')
  reply.header('allow', allow)
  throw new MethodNotAllowedError({ method: request.method, path: pathOf(request), allow })
}

function pathOf({ url }: FastifyRequest): string {
  return url.split('?')[0]!
}

interface Place {
  path: string
  shape: string
  parameters: number
  pattern: RegExp
  methods: Set<string>
}

function placesOf({ routes, pages, protocols }: RouteTable): Place[] {
  const places = new Map<string, Place>()
  const spoken = protocols.flatMap(({ path, methods }) => methods.map(method => ({ method, path })))
  for (const { method, path } of [...routes, ...spoken, ...pages.map(({ path }) => ({ method: 'GET', path }))]) {
    const shape = shapeOf(path)
    const place = places.get(shape) ?? {
      path,
      shape,
      parameters: shape.split('{}').length - 1,
      pattern: patternOf(shape),
      methods: new Set(),
    }
    places.set(shape, place)
    place.methods.add(method)
    if (method === 'GET') place.methods.add('HEAD')
  }
  return [...places.values()]
}

/** Returns an expression that matches the paths of `/agents/{}`. Apart from parameters, only dots need escaping. */
function patternOf(shape: string): RegExp {
  return new RegExp(`^${shape.replaceAll('.', '\\.').replaceAll('{}', '[^/]*')}$`)
}
