import type { Tool } from '@modelcontextprotocol/sdk/types.js'
import type { Operation } from '#kernel'
import { schemasOf } from './schemas.ts'

/** Longer names are refused by some providers of models. */
const LONGEST_NAME = 64

/** What removes or undoes something, whatever HTTP method it has. */
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
/** What does nothing more when it is done again. */
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

/** The name of an operation as a tool: `agents_spawn`. Dots are refused by some clients. */
export function toolName({ name }: Operation): string {
  return name.replace(/[^\w-]/g, '_').slice(0, LONGEST_NAME)
}

/** Operations by the names of their tools, in the order in which they are shown. Of two with one name the first is shown. */
export function toolsOf(operations: readonly Operation[]): ReadonlyMap<string, Operation> {
  const tools = new Map<string, Operation>()
  for (const operation of operations) {
    const name = toolName(operation)
    if (!tools.has(name)) tools.set(name, operation)
  }
  return tools
}

/** Returns a tool in the form for clients. */
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

/** What a client may conclude before it asks its user: from the HTTP method, and from the verb where that says more. */
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
    // An agent at work may reach whatever its tools do.
    openWorldHint: name.startsWith('tasks.') && !readOnlyHint,
  }
}
