import { defineError, z } from '#kernel'

export const MCP_SERVER_STATES = ['disabled', 'idle', 'starting', 'connected', 'waiting', 'suspended'] as const

const Tool = z.object({
  name: z
    .string()
    .meta({ examples: ['files__read_text_file'] })
    .describe('Name of the tool for agents'),
  tool: z
    .string()
    .meta({ examples: ['read_text_file'] })
    .describe('Name of the tool on the server'),
  description: z.string(),
  offered: z.boolean(),
  problem: z.string().nullable().describe('Reason why the tool is not offered; null if it is offered'),
})

/** A configured MCP server, as the process that answers knows it. */
export const McpServer = z
  .object({
    name: z.string().meta({ examples: ['files'] }),
    toolkit: z
      .string()
      .meta({ examples: ['mcp_files'] })
      .describe('Name of the toolkit in profiles; `mcp` selects the toolkits of all MCP servers'),
    transport: z.enum(['stdio', 'http']),
    target: z.string().describe('Program or preset of the server, or its URL without the query'),
    state: z
      .enum(MCP_SERVER_STATES)
      .describe(
        'idle: started when needed; waiting: restarted after a short delay; suspended: paused after repeated failures',
      ),
    error: z.string().nullable().describe('Latest error; null after a success'),
    retry_at: z.iso.datetime().nullable().describe('Time before which the server is not started again'),
    says_it_is: z.string().nullable().describe('Name and version that the server reports'),
    pid: z.int().nullable(),
    profiles: z
      .array(z.string())
      .nullable()
      .describe('Agent presets whose agents get the tools of the server; null for all'),
    pinned: z.boolean(),
    calls: z
      .int()
      .describe('Number of calls since this process started; failures and restarts are counted in the same way'),
    failures: z.int(),
    restarts: z.int(),
    tools: z.array(Tool),
  })
  .meta({ id: 'McpServer' })
export type McpServer = z.output<typeof McpServer>

/** A tool is new or its listing has changed. `held`: a pinned server's tool, until the operator accepts it. */
export const McpToolChanged = z
  .object({
    server: z.string(),
    tool: z.string(),
    change: z.enum(['changed', 'added']),
    held: z.boolean(),
  })
  .describe('The definition of a tool of an MCP server has changed, or the tool is new')
export type McpToolChanged = z.output<typeof McpToolChanged>

declare module '#kernel' {
  interface Events {
    mcp_tool_changed: McpToolChanged
  }
}

export const McpServerNotFoundError = defineError({
  code: 'mcp_server_not_found',
  status: 404,
  title: 'MCP server not found',
  message: (p: { name: string; known: string[] }) =>
    `mcp.servers has no "${p.name}"; it has: ${p.known.join(', ') || 'none'}.`,
})
export const McpServerDownError = defineError({
  code: 'mcp_server_down',
  status: 503,
  title: 'MCP server unavailable',
  message: (p: { name: string; problem: string }) => `The MCP server "${p.name}" cannot be used now: ${p.problem}.`,
})
export const McpToolHeldError = defineError({
  code: 'mcp_tool_held',
  status: 409,
  title: 'MCP tool held back',
  message: (p: { server: string; tool: string }) =>
    `The definition of the tool "${p.tool}" of the MCP server "${p.server}" has changed; the tool is held back until the operator accepts it with: svc mcp-servers accept ${p.server} ${p.tool}`,
})
export const McpToolNotFoundError = defineError({
  code: 'mcp_tool_not_found',
  status: 404,
  title: 'MCP tool not found',
  message: (p: { server: string; tool: string }) =>
    `The MCP server "${p.server}" has listed no tool "${p.tool}"; list its tools with: svc mcp-servers`,
})
