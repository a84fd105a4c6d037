import { HostToken, Operations, operation, type PluginHandle, z } from '#kernel'
import { packageVersion } from '#lib/package-version'
import { Store } from '#platform/store/contract'
import { ProtocolRoutes, StaticRoutes } from './contract.ts'
import { openapiDocument } from './openapi/openapi.ts'
import type { Json } from './openapi/schemas.ts'
import { routeTable } from './request/routes.ts'

const HEALTHY = Object.freeze({ status: 'ok' as const, database: true })
const DEGRADED = Object.freeze({ status: 'degraded' as const, database: false })
/** The database is looked at this often, in milliseconds, however many ask. */
const LOOK_MS = 50

export function healthCheck(svc: PluginHandle) {
  const checkHealth = async () => {
    try {
      await svc.use(Store).health()
      return HEALTHY
    } catch {
      return DEGRADED
    }
  }
  let looked: { at: number; health: ReturnType<typeof checkHealth> } | undefined
  return operation({
    name: 'health.check',
    summary: 'Check that the server reaches its database',
    description: 'For load balancers and monitors. Needs no key.',
    input: z.object({}),
    output: z.object({ status: z.enum(['ok', 'degraded']), database: z.boolean() }),
    http: {
      method: 'GET',
      path: '/healthz',
      open: true,
      statuses: { 503: 'It does not reach its database' },
      statusOf: (o: { database: boolean }) => (o.database ? 200 : 503),
    },
    run() {
      const now = svc.clock.monotonic()
      if (!looked || now - looked.at > LOOK_MS) looked = { at: now, health: checkHealth() }
      return looked.health
    },
  })
}

export function openapiGet(svc: PluginHandle, keyed: boolean) {
  let made: Promise<Json> | undefined
  svc.onChange(Operations, () => {
    made = undefined
  })
  return operation({
    name: 'openapi.get',
    summary: 'Show this API as an OpenAPI document',
    description: 'OpenAPI 3.1. Needs no key.',
    input: z.object({}),
    output: z.record(z.string(), z.unknown()),
    http: { method: 'GET', path: '/openapi.json', open: true },
    run() {
      made ??= openApiDocument(svc, keyed)
      return made
    },
  })
}

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
