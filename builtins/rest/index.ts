import type { IncomingMessage } from 'node:http'
import { definePlugin, Operations, ROLES } from '#kernel'
import { Apps } from './apps.ts'
import { type Listening, Rest, ServerConfig, StaticRoutes } from './contract.ts'
import type { Door } from './hosts.ts'
import { Keys } from './keys.ts'
import { listen } from './listener.ts'
import { healthCheck, openapiGet } from './operations.ts'

export default definePlugin({
  name: 'rest',
  description: 'Serves operations over HTTP, on a port and on the daemon’s socket.',
  section: 'server',
  config: ServerConfig,
  setup(svc, config) {
    const doors = new WeakMap<IncomingMessage, Door>()
    const doorOf = (request: IncomingMessage) => doors.get(request)!
    const apps = new Apps({ svc, config, keys: new Keys(svc.clock), doorOf })
    const open = new Set<Listening>()

    svc.provide(Rest, {
      async listen(address) {
        const listening = await listen({ svc, config, apps, doors }, address)
        open.add(listening)
        return {
          url: listening.url,
          close: () => listening.close().finally(() => open.delete(listening)),
        }
      },
    })
    svc.onChange(Operations, () => apps.outdate())
    svc.onChange(StaticRoutes, () => apps.outdate())
    svc.operation(healthCheck(svc))
    svc.operation(openapiGet(svc))
    svc.start(() => async () => void (await Promise.all([...open].map(listening => listening.close()))), { in: ROLES })
  },
})
