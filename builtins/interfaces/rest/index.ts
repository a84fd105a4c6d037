import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyRequest } from 'fastify'
import { definePlugin, errorMessage, Operations, ROLES, type Undo } from '#kernel'
import { DoctorChecks } from '#lib/doctor-check'
import { secretMasker } from '#lib/secrets'
import { DaemonListener } from '#platform/daemon/contract'
import { Effects } from '#platform/store/contract'
import { keyCheck } from './checks.ts'
import {
  type Listening,
  ProtocolRoutes,
  problemOf,
  Rest,
  ServerConfig,
  StaticRoutes,
  type TcpAddress,
} from './contract.ts'
import { Apps } from './listener/apps.ts'
import type { ListenerKind } from './listener/hosts.ts'
import { Keys, weaknessOf } from './listener/keys.ts'
import { listen } from './listener/listener.ts'
import { capacityFor, openFilesLimit } from './listener/open-files.ts'
import { describeServer } from './listener/servers.ts'
import { AboutServer, aboutServer, healthCheck, openapiGet } from './operations.ts'
import { KEY_EFFECTS } from './request/idempotency.ts'
import { reportError } from './request/problem.ts'
import { Streams } from './stream/stream.ts'

export default definePlugin({
  name: 'rest',
  description: 'Serves operations over HTTP, on a port and on the daemon’s socket.',
  fixed: true,
  section: 'server',
  config: ServerConfig,
  setup(svc, config) {
    const listeners = new WeakMap<Socket, ListenerKind>()
    const listenerOf = ({ socket }: IncomingMessage) => listeners.get(socket)!
    const problem = (thrown: unknown, request: FastifyRequest) =>
      problemOf(reportError(svc, thrown, request), request.id)
    const hide = secretMasker(svc)
    // The configured maximum applies until the first address is served.
    let capacity = capacityFor(config, Number.POSITIVE_INFINITY)
    let measured: Promise<void> | undefined
    const measure = async () => {
      capacity = capacityFor(config, await openFilesLimit(svc.ports))
      if (capacity.streams < config.max_streams) {
        svc.log.warn(
          {},
          `at most ${capacity.streams} streams at once instead of server.max_streams (${config.max_streams}), because of ${capacity.limit}; raise that limit for more`,
        )
      }
    }
    const streams = new Streams({ svc, config, capacity: () => capacity, problem, hide })
    const apps = new Apps({ svc, config, keys: new Keys(svc.clock), streams, listenerOf, hide })
    const open = new Set<Listening>()

    const describe = (address: TcpAddress): Promise<Undo> => {
      const weakness = weaknessOf(config.api_key)
      const needs_key = config.api_key !== ''
      const server = { ...address, needs_key, ...(weakness === undefined ? {} : { weakness }) }
      return describeServer(svc.ports, svc.project.svc, server).catch(error => {
        svc.log.warn({}, `this server could not be recorded for svc doctor: ${errorMessage(error)}`)
        return () => {}
      })
    }
    const addresses = () => [...open].flatMap(({ tcp }) => tcp ?? [])
    const rest: Rest = {
      async listen(address, { described = false } = {}) {
        measured ??= measure()
        await measured
        const listening = await listen({ svc, config, capacity, apps, streams, listeners }, address)
        const forget = described && listening.tcp ? await describe(listening.tcp) : () => {}
        const served: Listening = {
          ...listening,
          async close() {
            await forget()
            await listening.close().finally(() => open.delete(served))
          },
        }
        open.add(served)
        return served
      },
      addresses,
    }
    svc.provide(Rest, rest)
    svc.provide(DaemonListener, rest)
    svc.onChange(Operations, () => apps.invalidate())
    svc.onChange(StaticRoutes, () => apps.invalidate())
    svc.onChange(ProtocolRoutes, () => apps.invalidate())
    for (const effect of KEY_EFFECTS) svc.add(Effects, effect.kind)
    svc.add(DoctorChecks, keyCheck(svc, config, addresses))
    svc.provide(AboutServer, aboutServer(svc, config.api_key !== ''))
    for (const operation of [healthCheck, openapiGet]) svc.operation(operation)
    svc.start(() => async () => void (await Promise.all([...open].map(listening => listening.close()))), { in: ROLES })
  },
})
