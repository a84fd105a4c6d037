import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  type CallToolResult,
  type LoggingMessageNotification,
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { onTestFinished } from 'vitest'

/** The official client, and the notifications that it received. */
export interface ConnectedClient {
  client: Client
  /** `tools`, `resources` and `prompts` for lists that changed, and the URIs of resources that did. */
  notified: string[]
  logged: LoggingMessageNotification['params'][]
  /** Calls a tool and returns its answer. */
  call(name: string, input?: Record<string, unknown>): Promise<ToolAnswer>
}

export interface ToolAnswer {
  isError: boolean
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of it is its own business.
  output: any
}

export async function connectClient(transport: Transport): Promise<ConnectedClient> {
  const client = new Client({ name: 'test', version: '1' }, { capabilities: {} })
  const notified: string[] = []
  const logged: LoggingMessageNotification['params'][] = []
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void notified.push('tools'))
  client.setNotificationHandler(ResourceListChangedNotificationSchema, () => void notified.push('resources'))
  client.setNotificationHandler(PromptListChangedNotificationSchema, () => void notified.push('prompts'))
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void notified.push(params.uri))
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void logged.push(params))
  await client.connect(transport)
  onTestFinished(() => client.close())
  return {
    client,
    notified,
    logged,
    call: async (name, input = {}) => toolAnswer(await client.callTool({ name, arguments: input })),
  }
}

export function toolAnswer(result: unknown): ToolAnswer {
  const { isError = false, content, structuredContent } = result as CallToolResult
  const text = content.map(each => (each.type === 'text' ? each.text : each.type)).join('\n')
  return { isError, text, output: structuredContent }
}

/** Transport over HTTP that sends these headers with every request. */
export function overHttp(url: string, headers: Record<string, string> = {}): StreamableHTTPClientTransport {
  return new StreamableHTTPClientTransport(new URL('/mcp', url), { requestInit: { headers } })
}
