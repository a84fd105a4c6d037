import type { Tool } from '@modelcontextprotocol/sdk/types.js'
import type { Operation } from '#kernel'
import { schemasOf } from './schemas.ts'

/** Maximum length of a tool name; some model providers refuse longer ones. */
const LONGEST_NAME = 64

/** Operations that write, but neither remove nor overwrite. Others count as destructive, as where MCP has no hint. */
const ADDITIVE = new Set([
  'svc.init',
  'svc.start',
  'svc.spawn',
  'svc.nudge',
  'agents.spawn',
  'agents.nudge',
  'agents.pause',
  'agents.resume',
  'daemon.pause',
  'daemon.resume',
  'goals.add',
  'memory.add',
  'schedules.add',
  'alarms.set',
  'messages.send',
  'questions.answer',
  'patterns.start',
  'checkpoints.take',
  'sessions.create',
  'tasks.run',
  'tasks.stream',
  'tasks.resume',
  'recordings.replay',
  'guardrails.check',
  'mcp_servers.restart',
  'plugins.reload',
])
/** Operations that have no further effect when repeated, in addition to those of PATCH, PUT and DELETE. */
const IDEMPOTENT = new Set([
  'svc.init',
  'svc.start',
  'svc.stop',
  'agents.pause',
  'agents.resume',
  'daemon.pause',
  'daemon.resume',
  'goals.abandon',
  'tasks.resume',
  'tasks.cancel',
  'patterns.cancel',
  'plugins.reload',
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
export function toolOf(name: string, operation: Operation, output_schemas: boolean): Tool {
  const { summary, description } = operation
  const { input, output } = schemasOf(operation)
  return {
    name,
    title: summary,
    description: description === undefined ? summary : `${summary}. ${description}`,
    inputSchema: input,
    ...(output_schemas ? { outputSchema: output } : {}),
    annotations: annotationsOf(operation),
  } as Tool
}

/** Returns hints by which a client decides whether to ask its user. */
function annotationsOf({ name, summary, http }: Operation): NonNullable<Tool['annotations']> {
  const method = http?.method
  const readOnlyHint = method === 'GET'
  const replaces = method === 'DELETE' || method === 'PATCH' || method === 'PUT'
  return {
    title: summary,
    readOnlyHint,
    ...(readOnlyHint ? {} : { destructiveHint: !ADDITIVE.has(name), idempotentHint: replaces || IDEMPOTENT.has(name) }),
    // The tools of a working agent may reach anything.
    openWorldHint: name.startsWith('tasks.') && !readOnlyHint,
  }
}
