import { imagesOf } from '#core/images/contract'
import { together } from '../context/conversation.ts'
import type { SentMessage as Message, ModelRequest, ToolSpec } from '../contract.ts'

const HOW_TO = `# Tools

You can call tools. A call is a block of this form, with the tool's name and its arguments as JSON:

\`\`\`tool_call
{"name": "the_tool", "arguments": {"key": "value"}}
\`\`\`

To make several calls, write several blocks one after another. End your answer after the last block: the results come in the next message. Never write a result yourself. The arguments follow the JSON Schema of the tool. An answer without a block is plain text and calls no tool.

The tools are:`

/**
 * Returns the request for a model without native tools: the system prompt describes them, earlier calls are written
 * into their answers' text, and results into user messages. Consecutive messages of one role are merged, because the
 * templates of many models require alternating roles.
 */
export function promptedRequest(request: ModelRequest): ModelRequest {
  const { tools, messages } = request
  const isSystem = messages[0]?.role === 'system'
  const conversation = isSystem ? messages.slice(1) : messages
  const system = [isSystem ? messages[0]!.content : '', tools.length > 0 ? describeTools(tools) : '']
  const first: Message[] = system.some(Boolean)
    ? [{ role: 'system', content: system.filter(Boolean).join('\n\n') }]
    : []
  return { ...request, tools: [], messages: [...first, ...inTurns(conversation.map(plainMessage))] }
}

function describeTools(tools: readonly ToolSpec[]): string {
  const each = tools.map(({ name, description, parameters }) => {
    return `## ${name}\n${description}\nArguments: ${JSON.stringify(parameters)}`
  })
  return [HOW_TO, ...each].join('\n\n')
}

function plainMessage({ role, content, tool_calls = [], name = 'tool', is_error, images = [] }: Message): Message {
  if (role === 'tool') return { role: 'user', content: `${is_error ? 'Failure' : 'Result'} of ${name}:\n${content}` }
  const calls = tool_calls.map(call => {
    const written = JSON.stringify({ name: call.name, arguments: call.arguments })
    return `\`\`\`tool_call\n${written}\n\`\`\``
  })
  return { role, content: [content, ...calls].filter(Boolean).join('\n\n'), ...imagesOf(images) }
}

function inTurns(messages: readonly Message[]): Message[] {
  const turns: Message[] = []
  for (const message of messages) {
    const last = turns.at(-1)
    if (last?.role === message.role) turns[turns.length - 1] = together(last, message)
    else turns.push(message)
  }
  return turns
}
