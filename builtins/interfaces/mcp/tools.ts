import type { Tool } from '@modelcontextprotocol/sdk/types.js'
import type { Operation } from '#kernel'
import { schemasOf } from './schemas.ts'

/** Maximum length of a tool name; some model providers refuse longer ones. */
const LONGEST_NAME = 64

/** Verbs that remove or undo something, whatever the HTTP method. */
const DESTRUCTIVE = new Set([
  'abandon',
  'abandon_all',
  'reset',
  'forget',
  'restore',
  'remove',
  'cancel',
  'revoke',
  'stop',
])
/** Verbs that have no further effect when repeated. */
const IDEMPOTENT = new Set([
  'pause',
  'resume',
  'init',
  'start',
  'stop',
  'reload',
  'abandon',
  'reset',
  'revoke',
  'close',
])

/** Returns the tool name of an operation, as in `agents_spawn`. Some clients refuse dots. */
export function toolName({ name }: Operation): string {
  return name.replace(/[^\w-]/g, '_').slice(0, LONGEST_NAME)
}

/** Returns operations by tool name, in the order in which they are listed. Of two with one name, the first is taken. */
export function toolsOf(operations: readonly Operation[]): ReadonlyMap<string, Operation> {
  const tools = new Map<string, Operation>()
  for (const operation of operations) {
    const name = toolName(operation)
    if (!tools.has(name)) tools.set(name, operation)
  }
  return tools
}

/** Returns a tool in the form of MCP. */
export function toolOf(name: string, operation: Operation): Tool {
  const { summary, description } = operation
  const { input, output } = schemasOf(operation)
  return {
    name,
    title: summary,
    description: description === undefined ? summary : `${summary}. ${description}`,
    inputSchema: input,
    outputSchema: output,
    annotations: annotationsOf(operation),
  } as Tool
}

/**
 * Returns hints by which a client decides whether to ask its user: from the HTTP method, or the verb where that is more
 * precise.
 */
function annotationsOf({ name, summary, http }: Operation): NonNullable<Tool['annotations']> {
  const verb = name.slice(name.indexOf('.') + 1)
  const method = http?.method
  const readOnlyHint = method === 'GET'
  const replaces = method === 'DELETE' || method === 'PATCH' || method === 'PUT'
  return {
    title: summary,
    readOnlyHint,
    ...(readOnlyHint
      ? {}
      : { destructiveHint: replaces || DESTRUCTIVE.has(verb), idempotentHint: replaces || IDEMPOTENT.has(verb) }),
    // The tools of a working agent may reach anything.
    openWorldHint: name.startsWith('tasks.') && !readOnlyHint,
  }
}
