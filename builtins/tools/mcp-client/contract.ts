import { defineError, z } from '#kernel'

export const MCP_SERVER_STATES = ['disabled', 'idle', 'starting', 'connected', 'waiting', 'suspended'] as const

const Tool = z.object({
  name: z
    .string()
    .meta({ examples: ['files__read_text_file'] })
    .describe('As agents call it'),
  tool: z
    .string()
    .meta({ examples: ['read_text_file'] })
    .describe('As the server calls it'),
  description: z.string(),
  offered: z.boolean(),
  problem: z.string().nullable().describe('Why it is not offered'),
})

/** A configured MCP server, as the process that answers knows it. */
export const McpServer = z
  .object({
    name: z.string().meta({ examples: ['files'] }),
    toolkit: z
      .string()
      .meta({ examples: ['mcp_files'] })
      .describe('What profiles name it by; `mcp` means all'),
    transport: z.enum(['stdio', 'http']),
    target: z.string().describe('Its program, or its address without the query'),
    state: z
      .enum(MCP_SERVER_STATES)
      .describe('idle: started when needed; waiting: started again soon; suspended: rests after repeated failures'),
    error: z.string().nullable().describe('What went wrong last, until something goes right'),
    retry_at: z.iso.datetime().nullable().describe('Not started again before'),
    says_it_is: z.string().nullable().describe("The server's own name and version"),
    pid: z.number().int().nullable(),
    profiles: z.array(z.string()).nullable().describe('Presets whose agents get its tools; null for all'),
    pinned: z.boolean(),
    calls: z.number().int().describe('Since this process came up, as the next two'),
    failures: z.number().int(),
    restarts: z.number().int(),
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
  .describe('A tool of an MCP server says something else of itself than before, or is new')
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
  title: 'MCP server down',
  message: (p: { name: string; problem: string }) => `The MCP server "${p.name}" cannot be used now: ${p.problem}.`,
})
export const McpToolHeldError = defineError({
  code: 'mcp_tool_held',
  status: 409,
  title: 'MCP tool held back',
  message: (p: { server: string; tool: string }) =>
    `The tool "${p.tool}" of the MCP server "${p.server}" says something else of itself than before; it is held back until the operator accepts it with: svc mcp-servers accept ${p.server} ${p.tool}`,
})
export const McpToolNotFoundError = defineError({
  code: 'mcp_tool_not_found',
  status: 404,
  title: 'MCP tool not found',
  message: (p: { server: string; tool: string }) =>
    `The MCP server "${p.server}" has listed no tool "${p.tool}"; svc mcp-servers shows what it has.`,
})
