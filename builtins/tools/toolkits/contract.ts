/** Tools that agents may be given: what a toolkit is, and where plugins add theirs. */
import { ConflictError, defineError, type Effect, point, type Undo, z } from '#kernel'

/** For whom, and under which limits, a tool runs. */
export interface ToolCall {
  readonly call_id: string
  readonly agent_id: string
  readonly goal_id: string | null
  readonly cycle_num: number
  /** Aborted at the tool's time limit, or when the cycle ends. */
  readonly signal: AbortSignal
  /** Where the agent works, absolute: its own folder, or one that the operator gave it. */
  readonly workspace: string
  /** The agent's own folder, where that is another; and the folders that it was given. */
  readonly scratch?: string
  readonly folders?: readonly { path: string; access: 'read-only' | 'read-write' }[]
  /** `agent:epoch:step`, for services that take an idempotency key. */
  readonly idempotency_key: string
  /** Tokens of its result that the model in use reads; the rest is cut off. Up to 8,000, which holds where it is absent. */
  readonly result_tokens?: number
  /** Adds a write that is committed together with the outcome of this call: exactly once. */
  effect(effect: Effect): void
}

export interface Tool<P extends z.ZodType = z.ZodType> {
  name: string
  /** What it does and when to use it, in words that a small model understands. */
  description: string
  parameters: P
  /** May be run again when it is unknown whether it ran. */
  idempotent?: boolean
  /** What it can do harm to, in a word: shown to the operator. */
  danger?: string
  /** Whether a person is to agree to each call first; in a project they are asked where `approval.enabled` is on. */
  requires_approval?: boolean
  /** Whether it is left out of prompts until `find_tools` finds it, also where the rest of its toolkit is in view. */
  hidden?: boolean
  /** The result for the model: text, or something that becomes JSON. A throw becomes an error that the model reads. */
  execute(args: z.output<P>, call: ToolCall): unknown
}

/** Keeps the types of one tool together. */
export function tool<P extends z.ZodType>(definition: Tool<P>): Tool {
  return definition as unknown as Tool
}

/**
 * What a tool cannot do, as the model should read it: an answer, and no failure of the plugin that the tool is from. Any other
 * error that is thrown reaches the model too, and is also logged and counted.
 * @example throw new ToolError({ problem: 'There is no city of this name; list them with list_cities.' })
 */
export const ToolError = defineError({
  code: 'tool_error',
  status: 422,
  title: 'Tool error',
  message: (p: { problem: string }) => p.problem,
})

export interface Toolkit {
  name: string
  /** A name by which several are meant at once: `plugins` for those of plugin files. */
  group?: string
  /** One line for the system prompt of agents that have it in view. */
  instructions?: string
  /** Whether it is in view for agents whose profile names no toolkits; true for plugin files by default. Others are found with `find_tools`. */
  everyday?: boolean
  tools: readonly Tool[]
}
export const Toolkits = point<Toolkit>('toolkits', {
  key: toolkit => toolkit.name,
  has: { name: 'text', tools: 'list' },
  check(toolkit, others) {
    for (const { name, description, parameters, execute } of toolkit.tools) {
      if (typeof description !== 'string' || !(parameters instanceof z.ZodType) || typeof execute !== 'function') {
        throw new TypeError(
          `the tool "${name}" of toolkit "${toolkit.name}" needs description: '…', parameters: z.object({ … }) with the z of 'svc', and execute()`,
        )
      }
      if (!isOfObjects(parameters)) {
        throw new TypeError(
          `the tool "${name}" of toolkit "${toolkit.name}" takes no object, and models give nothing else: write parameters: z.object({ … })`,
        )
      }
      if (toolkit.tools.filter(tool => tool.name === name).length > 1) {
        throw new ConflictError({
          message: `The toolkit "${toolkit.name}" has two tools "${name}"; give one of them another name.`,
        })
      }
      const taken = others.find(
        other => other.key !== toolkit.name && other.value.tools.some(tool => tool.name === name),
      )
      if (taken) {
        throw new ConflictError({
          message: `The toolkit "${toolkit.name}" has a tool "${name}", but "${taken.key}" of "${taken.owner}" already does; give one of them another name.`,
        })
      }
      if (!/^[a-zA-Z0-9_-]{1,64}$/.test(name)) {
        throw new TypeError(
          `A tool's name is 1 to 64 letters, digits, "_" or "-"; "${name}" of toolkit "${toolkit.name}" is not.`,
        )
      }
    }
  },
})

function isOfObjects(schema: z.ZodType): boolean {
  if (schema instanceof z.ZodObject) return true
  return z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }).type === 'object'
}

declare module '#kernel' {
  interface PluginHandle {
    /** Adds tools that agents may be given. */
    toolkit(toolkit: Toolkit): Undo
  }
}
