import { defineError, type Operation, type OperationCall, type Ports, point, token, type Undo, z } from '#kernel'

/** The section `mcp`: limits of the server over HTTP. It is read at start. */
export const McpConfig = z.object({
  max_sessions: z.number().int().min(1).max(10_000).default(64).describe('Sessions of MCP clients over HTTP at once'),
  session_idle_s: z
    .number()
    .positive()
    .max(604_800)
    .default(1800)
    .describe('Seconds without a request or an open stream after which a session over HTTP ends'),
})
export type McpConfig = z.infer<typeof McpConfig>

/** Something that MCP clients may read: what an operation says, as JSON. */
export interface McpResource {
  /** `svc://runs`, or with parameters: `svc://runs/{run}`. */
  uri: string
  /** A few words, for people. */
  title: string
  description: string
  /** The operation that is read. */
  operation: string
  /** Its input; a text `{run}` stands for the parameter of that name. */
  input?: Readonly<Record<string, unknown>>
  /** Each one that the parameter may name is listed by itself. */
  listed?: boolean
  /** Types of events after which it reads differently, by how they begin. What is an agent's changes with any event of it. */
  changes?: readonly string[]
}
export const McpResources = point<McpResource>('mcp_resources', {
  key: resource => resource.uri,
  has: { uri: 'text', title: 'text', description: 'text', operation: 'text' },
})

/** A job that an operator may hand to a client's model. */
export interface McpPrompt {
  name: string
  title: string
  description: string
  arguments: readonly { name: string; description: string; required: boolean }[]
  /** What the model is asked; `{agent}` stands for the argument of that name. */
  text: string
  /** URIs of resources that go with it, written like the text. One whose argument was not given is left out. */
  attach?: readonly string[]
}
export const McpPrompts = point<McpPrompt>('mcp_prompts', {
  key: prompt => prompt.name,
  has: { name: 'text', title: 'text', description: 'text', arguments: 'list', text: 'text' },
})

/** What a client is offered, asked anew at each request. */
export interface McpOffer {
  /** Those that are tools. */
  operations(): readonly Operation[]
  resources(): readonly McpResource[]
  prompts(): readonly McpPrompt[]
  /** Runs one of the operations. @throws what it throws, and DaemonNotRunningError */
  run(operation: Operation, input: unknown, call: OperationCall): Promise<unknown>
  /** Runs any operation by name, a tool or not. @throws UnknownOperationError, and what it throws */
  invoke(name: string, input: unknown, call: OperationCall): Promise<unknown>
  /** Takes secrets out of JSON. */
  hide(json: string): string
  /** An error that may be shown is not logged; of any other the cause is logged. */
  reportError(error: unknown, what: string, request_id: string): void
}

/** The other end of one connection. */
export interface McpPeer {
  /** Offers it something else from now on. */
  offer(offer: McpOffer): void
  /** Notifies the client that lists have changed. */
  notifyChanged(lists: readonly McpList[]): void
  /** A line for the client's log. */
  log(level: 'info' | 'warning' | 'error', message: string): void
}
export type McpList = 'tools' | 'resources' | 'prompts'

/** The project as MCP clients see it. */
export interface Mcp {
  /**
   * Offers the project to a client, with operations that only this process has, and notifies it of changes.
   * @returns a function that ends it
   */
  serve(peer: McpPeer, more?: readonly Operation[]): Undo
}
export const Mcp = token<Mcp>('mcp')

/** One client, over standard input and output. */
export interface McpStdio extends McpPeer {
  /** Resolves when the client is gone: it closed our standard input, or reads no more. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

/** What the protocol passes over. */
export interface McpPipes {
  input: NodeJS.ReadableStream
  /** Writes text, and resolves when it was read. @throws when the reader is gone */
  write(text: string): Promise<void>
}

/** What the command line speaks MCP with: it is there before any project is. */
export interface McpStdioModule {
  /** Speaks with the client at the other end, and offers it these operations. */
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
    `${p.max} MCP sessions are in use, as many as mcp.max_sessions allows; try again when one has ended.`,
})
