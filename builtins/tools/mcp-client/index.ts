import { ProfileShapes } from '#core/agents/contract'
import { LateTools } from '#core/runtime/contract'
import { definePlugin, ROLES } from '#kernel'
import { DoctorChecks } from '#lib/doctor-check'
import { Mirrors } from '#observability/recordings/contract'
import { DaemonStatusParts } from '#platform/daemon/contract'
import { McpClientConfig } from './config.ts'
import { McpToolChanged } from './contract.ts'
import { mcpServerOperations } from './operations.ts'
import { OwnServers, Servers } from './servers.ts'
import { isOfServer } from './toolkit.ts'

export default definePlugin({
  name: 'mcp-client',
  description: 'Tools of the MCP servers in the configuration, as toolkits of agents.',
  needs: ['store', 'runtime', 'sandbox'],
  setup(svc) {
    const servers = new Servers(svc, svc.section('mcp', McpClientConfig))
    svc.event('mcp_tool_changed', McpToolChanged)
    svc.provide(OwnServers, servers)
    for (const operation of mcpServerOperations) svc.operation(operation)
    svc.add(ProfileShapes, { name: 'mcp-client', shape: (agent, profile) => servers.profileFor(agent, profile) })
    svc.on('config_changed', ({ keys }) => (keys.includes('mcp.servers') ? servers.apply() : undefined))
    svc.on('beat', () => servers.look())
    svc.add(LateTools, { name: 'mcp-client', brings: (kind, name) => isOfServer(kind, name, servers.names()) })
    svc.add(Mirrors, { name: 'mcp-client', look: () => servers.look() })
    svc.add(DoctorChecks, { name: 'mcp_servers', run: async () => servers.finding() })
    svc.add(DaemonStatusParts, { name: 'mcp-client', read: async () => ({ problems: servers.problems() }) })
    svc.start(
      async () => {
        await servers.apply()
        return () => servers.close()
      },
      { in: ROLES },
    )
  },
})
