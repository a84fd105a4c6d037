import type { PluginHandle } from '#kernel'
import { type DoctorCheck, finding } from '#lib/doctor-check'
import { Daemon } from '#platform/daemon/contract'
import type { FoundServer, ServerConfig, TcpAddress } from './contract.ts'
import { resolveHost } from './listener/hosts.ts'
import { MAKE_A_KEY, weaknessOf } from './listener/keys.ts'
import { findServers } from './listener/servers.ts'

const { ok, warn, fail } = finding

/**
 * Checks that the API key is strong enough where other machines can reach a server.
 * @param here returns the addresses that this process serves
 */
export function keyCheck(svc: PluginHandle, config: ServerConfig, here: () => readonly TcpAddress[]): DoctorCheck {
  return {
    name: 'api_key',
    async run() {
      const servers = await findServers(svc.ports, svc.project.svc)
      for (const { host, port, weakness } of servers) {
        if (weakness !== undefined && (await resolveHost(host)).shared) return weak(weakness, host, port)
      }
      if (config.api_key === '') return ok(keysOf(servers) || 'none is set')
      const weakness = weaknessOf(config.api_key)
      if (!weakness) return ok('the key is long enough')
      const found = svc.has(Daemon) ? await svc.use(Daemon).list() : []
      const served = found.flatMap(({ alive, holder }) => (alive && holder.serves ? [holder.serves] : []))
      for (const { host, port } of [...here(), ...served]) {
        const { shared } = await resolveHost(host)
        if (shared) return weak(weakness, host, port)
      }
      return warn(`${weakness} once other machines can reach a server`, MAKE_A_KEY)
    },
  }
}

/** Lists the servers whose key comes from their own environment; empty when there are none. */
function keysOf(servers: readonly FoundServer[]): string {
  const keyed = servers.filter(({ needs_key }) => needs_key).map(({ host, port }) => `${host}:${port}`)
  return keyed.length === 0
    ? ''
    : `none is set in this process; ${keyed.join(', ')} got one from the environment of its process`
}

function weak(weakness: string, host: string, port: number) {
  return fail(`${weakness}, and ${host}:${port} can be reached from other machines`, MAKE_A_KEY)
}
