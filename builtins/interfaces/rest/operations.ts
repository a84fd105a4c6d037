import { HostToken, Operations, operation, type PluginHandle, token, z } from '#kernel'
import { packageVersion } from '#lib/package-version'
import { Store } from '#platform/store/contract'
import { ProtocolRoutes, StaticRoutes } from './contract.ts'
import { openapiDocument } from './openapi/openapi.ts'
import type { Json } from './openapi/schemas.ts'
import { routeTable } from './request/routes.ts'

const HEALTHY = Object.freeze({ status: 'ok' as const, database: true })
const DEGRADED = Object.freeze({ status: 'degraded' as const, database: false })
/** Minimum interval between checks of the database, in milliseconds, however many requests ask. */
const LOOK_MS = 50

type Health = typeof HEALTHY | typeof DEGRADED

/** Cached answers of the server about itself. */
interface AboutServer {
  health?: { at: number; health: Promise<Health> }
  openapi?: Promise<Json>
  /** Whether requests need a key. */
  keyed: boolean
}
export const AboutServer = token<AboutServer>('rest/about')

/** Creates the cache of the server's answers about itself; the OpenAPI document is rebuilt when operations change. */
export function aboutServer(svc: PluginHandle, keyed: boolean): AboutServer {
  const about: AboutServer = { keyed }
  svc.onChange(Operations, () => {
    delete about.openapi
  })
  return about
}

export const healthCheck = operation({
  name: 'health.check',
  summary: 'Check that the server reaches its database',
  description: 'This check is for load balancers and monitors, and needs no key.',
  input: z.object({}),
  output: z.object({ status: z.enum(['ok', 'degraded']), database: z.boolean() }),
  http: {
    method: 'GET',
    path: '/healthz',
    open: true,
    statuses: { 503: 'The server does not reach its database' },
    statusOf: (o: { database: boolean }) => (o.database ? 200 : 503),
  },
  run(_, { svc }) {
    const about = svc.use(AboutServer)
    const now = svc.clock.monotonic()
    if (!about.health || now - about.health.at > LOOK_MS) about.health = { at: now, health: readHealth(svc) }
    return about.health.health
  },
})

async function readHealth(svc: PluginHandle): Promise<Health> {
  try {
    await svc.use(Store).health()
    return HEALTHY
  } catch {
    return DEGRADED
  }
}

export const openapiGet = operation({
  name: 'openapi.get',
  summary: 'Show this API as an OpenAPI document',
  description: 'The document is in OpenAPI 3.1, and needs no key.',
  input: z.object({}),
  output: z.record(z.string(), z.unknown()),
  http: { method: 'GET', path: '/openapi.json', open: true },
  run(_, { svc }) {
    const about = svc.use(AboutServer)
    about.openapi ??= openApiDocument(svc, about.keyed)
    return about.openapi
  },
})

async function openApiDocument(svc: PluginHandle, keyed: boolean): Promise<Json> {
  const { routes } = routeTable(svc.list(Operations), svc.list(StaticRoutes), svc.list(ProtocolRoutes))
  const modules = svc.use(HostToken).list()
  return openapiDocument({
    version: await packageVersion(svc.ports),
    operations: routes.flatMap(({ operation }) => svc.find(Operations, operation) ?? []),
    keyed,
    pause: () => svc.clock.yield(),
    moduleOf({ name }) {
      const label = `${Operations.name}: ${name}`
      const module = modules.find(({ registered }) => registered.includes(label))
      return { name: module?.name ?? name.split('.')[0]!, description: module?.description ?? '' }
    },
  })
}
