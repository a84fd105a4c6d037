import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { definePlugin, Operations, ROLES, secretMasker } from '#kernel'
import { Apps } from './apps.ts'
import { type Listening, ProtocolRoutes, problemOf, Rest, ServerConfig, StaticRoutes } from './contract.ts'
import type { Door } from './hosts.ts'
import { Keys } from './keys.ts'
import { listen } from './listener.ts'
import { healthCheck, openapiGet } from './operations.ts'
import { toldError } from './problem.ts'
import { Streams } from './stream.ts'

export default definePlugin({
  name: 'rest',
  description: 'Serves operations over HTTP, on a port and on the daemon’s socket.',
  section: 'server',
  config: ServerConfig,
  setup(svc, config) {
    const doors = new WeakMap<Socket, Door>()
    const doorOf = ({ socket }: IncomingMessage) => doors.get(socket)!
    const problem = (thrown: unknown, request: FastifyRequest) => problemOf(toldError(svc, thrown, request), request.id)
    const hide = secretMasker(svc)
    const streams = new Streams({ svc, config, problem, hide })
    const apps = new Apps({ svc, config, keys: new Keys(svc.clock), streams, doorOf, hide })
    const open = new Set<Listening>()

    svc.provide(Rest, {
      async listen(address) {
        const listening = await listen({ svc, config, apps, streams, doors }, address)
        open.add(listening)
        return { ...listening, close: () => listening.close().finally(() => open.delete(listening)) }
      },
      addresses: () => [...open].flatMap(({ tcp }) => tcp ?? []),
    })
    svc.onChange(Operations, () => apps.outdate())
    svc.onChange(StaticRoutes, () => apps.outdate())
    svc.onChange(ProtocolRoutes, () => apps.outdate())
    svc.operation(healthCheck(svc))
    svc.operation(openapiGet(svc, config.api_key !== ''))
    svc.start(() => async () => void (await Promise.all([...open].map(listening => listening.close()))), { in: ROLES })
  },
})
