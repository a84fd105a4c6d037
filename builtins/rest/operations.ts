import { Operations, operation, type PluginHandle, z } from '#kernel'
import { Store } from '../store/contract.ts'
import { openapiDocument } from './openapi.ts'

export function healthCheck(svc: PluginHandle) {
  return operation({
    name: 'health.check',
    summary: 'Whether the server is up and reaches its database',
    input: z.object({}),
    output: z.object({ status: z.enum(['ok', 'degraded']), database: z.boolean() }),
    http: {
      method: 'GET',
      path: '/healthz',
      open: true,
      statusOf: (o: { database: boolean }) => (o.database ? 200 : 503),
    },
    async run() {
      try {
        await svc.use(Store).health()
        return { status: 'ok' as const, database: true }
      } catch {
        return { status: 'degraded' as const, database: false }
      }
    },
  })
}

export function openapiGet(svc: PluginHandle) {
  return operation({
    name: 'openapi.get',
    summary: 'This API as an OpenAPI document',
    input: z.object({}),
    output: z.record(z.string(), z.unknown()),
    http: { method: 'GET', path: '/openapi.json', open: true },
    run: async () => openapiDocument(svc.list(Operations), await versionOf(svc)),
  })
}

/** The package's version. Its package.json is two folders up in the source tree, one up in the bundle. */
async function versionOf({ ports }: PluginHandle): Promise<string> {
  for (const place of ['../package.json', '../../package.json']) {
    const text = await ports.files.readFile(new URL(place, import.meta.url), 'utf8').catch(() => undefined)
    if (text) return z.object({ version: z.string() }).parse(JSON.parse(text)).version
  }
  return '0.0.0'
}
