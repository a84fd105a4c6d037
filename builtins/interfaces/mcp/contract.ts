import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { defineError, type Operation, type OperationCall, type Ports, point, token, type Undo, z } from '#kernel'

/** The configuration section `mcp`: what the server offers, and its limits over HTTP. Read only at start. */
export const McpConfig = z.object({
  tools: z
    .array(z.string().min(1).max(200))
    .default(['*'])
    .describe('Names of the tools that svc offers to MCP clients; * matches anything, as in tasks_*'),
  output_schemas: z
    .boolean()
    .default(true)
    .describe('Whether the list of tools has the schemas of their results; without them it is a third as large'),
  max_sessions: z
    .int()
    .min(1)
    .max(10_000)
    .default(64)
    .describe('Maximum number of MCP sessions over HTTP at the same time'),
  session_idle_s: z
    .number()
    .positive()
    .max(604_800)
    .default(1800)
    .describe('Seconds without a request or an open stream after which a session over HTTP ends'),
})
export type McpConfig = z.infer<typeof McpConfig>

/** Resource that MCP clients may read: the output of an operation, as JSON. */
export interface McpResource {
  /** URI such as `svc://runs`, or with parameters: `svc://runs/{run}`. */
  uri: string
  /** Short title for people. */
  title: string
  description: string
  /** Name of the operation that returns the content. */
  operation: string
  /** Input of the operation; a string `{run}` is replaced by the parameter of that name. */
  input?: Readonly<Record<string, unknown>>
  /** Whether each value of the parameter is listed as its own resource. */
  listed?: boolean
  /** Prefixes of event types that change the content. A resource of an agent changes with any event of that agent. */
  changes?: readonly string[]
}
export const McpResources = point<McpResource>('mcp_resources', {
  key: resource => resource.uri,
  has: { uri: 'text', title: 'text', description: 'text', operation: 'text' },
})

/** Prompt for a job that an operator may give to a client's model. */
export interface McpPrompt {
  name: string
  title: string
  description: string
  arguments: readonly { name: string; description: string; required: boolean }[]
  /** Text of the prompt; `{agent}` is replaced by the argument of that name. */
  text: string
  /** URIs of resources to attach, with the same placeholders. One whose argument is missing is left out. */
  attach?: readonly string[]
}
export const McpPrompts = point<McpPrompt>('mcp_prompts', {
  key: prompt => prompt.name,
  has: { name: 'text', title: 'text', description: 'text', arguments: 'list', text: 'text' },
})

/** What a client is offered; read anew at each request. */
export interface McpOffer {
  /** Whether tools are listed with the schemas of their results. */
  output_schemas: boolean
  /** Returns the operations that are tools. */
  operations(): readonly Operation[]
  resources(): readonly McpResource[]
  prompts(): readonly McpPrompt[]
  /**
   * Runs one of the operations.
   * @throws what the operation throws, and DaemonNotRunningError
   */
  run(operation: Operation, input: unknown, call: OperationCall): Promise<unknown>
  /**
   * Calls a tool in the project's daemon; undefined where this process has to run it.
   */
  callElsewhere?(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    call: OperationCall,
  ): Promise<CallToolResult | undefined>
  /**
   * Runs any operation by name, a tool or not.
   * @throws UnknownOperationError, and what the operation throws
   */
  invoke(name: string, input: unknown, call: OperationCall): Promise<unknown>
  /** Masks secrets in JSON. */
  hide(json: string): string
  /** Logs an error: its message if it may be shown to clients, else also its cause. */
  reportError(error: unknown, what: string, request_id: string): void
}

/** The client's side of one connection. */
export interface McpPeer {
  /** Replaces what the client is offered. */
  offer(offer: McpOffer): void
  /** Notifies the client that lists have changed. */
  notifyChanged(lists: readonly McpList[]): void
  /** Sends a log message to the client. */
  log(level: 'info' | 'warning' | 'error', message: string): void
}
export type McpList = 'tools' | 'resources' | 'prompts'

/** Serves the project to MCP clients. */
export interface Mcp {
  /**
   * Offers the project to a client, with operations that only this process has, and notifies the client of changes.
   * While a daemon runs in another process, it carries out all others.
   * @returns a function that ends this
   */
  serve(peer: McpPeer, more?: readonly Operation[]): Undo
}
export const Mcp = token<Mcp>('mcp')

/** One client, over standard input and output. */
export interface McpStdio extends McpPeer {
  /** Resolves when the client is gone: it closed our standard input, or stopped reading. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

/** Streams that carry the protocol. */
export interface McpPipes {
  input: NodeJS.ReadableStream
  /**
   * Writes text, and resolves once the text was read.
   * @throws when the reader is gone
   */
  write(text: string): Promise<void>
}

/** MCP entry point of the command line, which works before a project exists. */
export interface McpStdioModule {
  /** Connects to the client on the pipes, and offers it these operations. */
  speak(
    pipes: McpPipes,
    parts: { operations: readonly Operation[]; ports: Pick<Ports, 'clock' | 'ids' | 'env'>; version: string },
  ): Promise<McpStdio>
}

export const TooManyMcpSessionsError = defineError({
  code: 'too_many_mcp_sessions',
  status: 503,
  title: 'Too many MCP sessions',
  message: (p: { max: number }) =>
    `${p.max} MCP sessions are in use, the maximum that mcp.max_sessions allows; try again when one has ended.`,
})
