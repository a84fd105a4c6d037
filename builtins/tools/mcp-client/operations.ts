import { operation, z } from '#kernel'
import { pluralize } from '#lib/pluralize'
import { McpServer, McpServerDownError, McpServerNotFoundError, McpToolNotFoundError } from './contract.ts'
import { OwnServers } from './servers.ts'

const name = z
  .string()
  .min(1)
  .max(32)
  .meta({ examples: ['files'] })
  .describe('Name of the server in mcp.servers')

export const mcpServersList = operation({
  name: 'mcp_servers.list',
  summary: 'List MCP servers, their state and their tools',
  description: 'Returns each configured server with its state, its tools and its last error.',
  input: z.strictObject({}),
  output: z.array(McpServer),
  http: { method: 'GET', path: '/mcp-servers' },
  cli: { usage: 'mcp-servers' },
  mcp: true,
  render,
  async run(_, { svc }) {
    await svc.use(OwnServers).look()
    return svc
      .use(OwnServers)
      .list()
      .map(({ state }) => state)
  },
})

export const mcpServersRestart = operation({
  name: 'mcp_servers.restart',
  summary: 'Restart an MCP server',
  description: 'Ends the process or session of the server, starts the server at once and lists its tools again.',
  input: z.strictObject({ name }),
  output: McpServer,
  http: { method: 'POST', path: '/mcp-servers/{name}/restart' },
  cli: { usage: 'mcp-servers restart <name>' },
  mcp: true,
  errors: [McpServerNotFoundError, McpServerDownError],
  render: server => render([server]),
  async run({ name }, { svc }) {
    const server = svc.use(OwnServers).get(name)
    await server.restart()
    return server.state
  },
})

export const mcpServersAccept = operation({
  name: 'mcp_servers.accept',
  summary: 'Accept changed tools of a pinned MCP server',
  description: 'Stores the current definition of one tool, or of all tools of the server, as the accepted one.',
  input: z.strictObject({
    name,
    tool: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .meta({ examples: ['read_text_file'] })
      .describe('Name of the tool on the server (default: all tools)'),
  }),
  output: McpServer,
  http: { method: 'POST', path: '/mcp-servers/{name}/accept' },
  cli: { usage: 'mcp-servers accept <name> [tool]' },
  errors: [McpServerNotFoundError, McpToolNotFoundError],
  render: server => render([server]),
  async run({ name, tool }, { svc }) {
    const server = svc.use(OwnServers).get(name)
    await server.accept(tool)
    return server.state
  },
})

export const mcpServerOperations = [mcpServersList, mcpServersRestart, mcpServersAccept]

/** Formats each server with its tools and its problems. */
function render(servers: readonly McpServer[]): string {
  if (servers.length === 0)
    return 'No MCP servers. Add one under mcp.servers in .svc/config.yaml, or add a browser with: svc config set mcp.servers.browser.preset playwright'
  return servers.map(block).join('\n\n')
}

function block({ name, state, target, pid, error, retry_at, tools, ...server }: McpServer): string {
  const offered = tools.filter(tool => tool.offered).length
  const facts = [
    `${offered} of ${tools.length} tools offered`,
    pluralize(server.calls, 'call'),
    ...(server.failures > 0 ? [`${server.failures} failed`] : []),
    ...(server.restarts > 0 ? [pluralize(server.restarts, 'restart')] : []),
    ...(pid === null ? [] : [`pid ${pid}`]),
  ]
  const says = server.says_it_is ? ` (${server.says_it_is})` : ''
  const lines = tools.map(tool => {
    const summary = tool.description.split('\n')[0]!.slice(0, 90)
    return `  ${tool.name.padEnd(32)}  ${tool.problem ? `[${tool.problem}]` : summary}`
  })
  return [
    `${name}: ${state} · ${target}${says}`,
    `  ${facts.join(' · ')}`,
    ...(error ? [`  last error: ${error}${retry_at ? `; not started before ${retry_at}` : ''}`] : []),
    ...lines,
  ].join('\n')
}
