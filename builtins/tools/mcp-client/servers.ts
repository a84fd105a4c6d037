import { isDeepStrictEqual } from 'node:util'
import type { NewAgent } from '#core/agents/contract'
import type { Profile } from '#core/profiles/contract'
import { type PluginHandle, token } from '#kernel'
import { type DoctorFinding, finding } from '#lib/doctor-check'
import { type Toolkit, Toolkits } from '#tools/toolkits/contract'
import type { McpClientConfig } from './config.ts'
import { type McpServer, McpServerNotFoundError } from './contract.ts'
import { withPreset } from './presets.ts'
import { allKnown } from './repository.ts'
import { Server } from './server.ts'
import { toolkitName } from './toolkit.ts'

export const OwnServers = token<Servers>('mcp-client/servers')

/** All servers of the current configuration. */
export class Servers {
  readonly #svc: PluginHandle
  readonly #config: McpClientConfig
  readonly #servers = new Map<string, Server>()
  #applying: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(svc: PluginHandle, config: McpClientConfig) {
    this.#svc = svc
    this.#config = config
  }

  /** Closes servers that were removed or changed in the configuration, and opens new and changed ones. */
  apply(): Promise<void> {
    const applied = this.#applying.then(() => this.#apply())
    this.#applying = applied.catch(() => {})
    return applied
  }

  /** Returns the names of configured servers, including those not opened yet. */
  names(): string[] {
    return Object.keys(this.#config.servers)
  }

  /** Returns the servers, sorted by name. */
  list(): Server[] {
    return [...this.#servers.values()].sort((a, b) => a.name.localeCompare(b.name))
  }

  /** @throws McpServerNotFoundError */
  get(name: string): Server {
    const server = this.#servers.get(name)
    if (server) return server
    throw new McpServerNotFoundError({ name, known: this.list().map(each => each.name) })
  }

  /** Takes over the stored state that other processes of the project have learned. */
  async look(): Promise<void> {
    if (this.#servers.size === 0) return
    const known = await allKnown(this.#svc)
    for (const server of this.#servers.values()) server.take(known.get(server.name))
  }

  /** Describes each suspended server in a sentence. */
  problems(): string[] {
    return this.#suspended().map(
      ({ name }) => `MCP server ${name} is suspended because it keeps failing; see why with: svc mcp-servers`,
    )
  }

  /** Checks for suspended servers. */
  finding(): DoctorFinding {
    const suspended = this.#suspended()
    const [first] = suspended
    if (!first) return finding.ok(this.names().length === 0 ? 'none is set' : 'no server is suspended')
    const problems = suspended.map(({ name, error }) => `${name} is suspended: ${error}`)
    return finding.warn(problems.join('; '), `when it is repaired: svc mcp-servers restart ${first.name}`)
  }

  #suspended(): McpServer[] {
    return this.list().flatMap(({ state }) => (state.state === 'suspended' ? state : []))
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#applying
    await Promise.all(this.list().map(server => server.close()))
  }

  /** Returns the profile without toolkits of servers that are not for the agent's preset. */
  profileFor({ preset }: NewAgent, profile: Profile): Profile {
    const kept = new Set(
      this.list()
        .filter(({ settings: { profiles } }) => profiles && !profiles.includes(preset))
        .map(({ name }) => toolkitName(name)),
    )
    if (kept.size === 0) return profile
    const { toolkits } = profile
    const has = ({ name, group = name }: Toolkit) => !toolkits || toolkits.includes(name) || toolkits.includes(group)
    const given = this.#svc.list(Toolkits).filter(each => has(each) && !kept.has(each.name))
    return { ...profile, toolkits: given.map(({ name }) => name) }
  }

  async #apply(): Promise<void> {
    if (this.#isClosed) return
    const wanted = Object.fromEntries(
      Object.entries(this.#config.servers).map(([name, settings]) => [name, withPreset(settings)]),
    )
    const gone = this.list().filter(({ name, settings }) => !isDeepStrictEqual(wanted[name], settings))
    for (const { name } of gone) this.#servers.delete(name)
    await Promise.all(gone.map(server => server.close()))
    const fresh = Object.entries(wanted).filter(([name]) => !this.#servers.has(name))
    if (fresh.length === 0) return
    const known = await allKnown(this.#svc)
    // One-shot commands start no server that they may not need.
    const asks = (['daemon', 'joined', 'server'] as const).some(role => this.#svc.roles.has(role))
    for (const [name, settings] of fresh) {
      const server = new Server(this.#svc, name, settings)
      this.#servers.set(name, server)
      server.open(known.get(name), asks)
    }
  }
}
