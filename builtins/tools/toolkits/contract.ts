/** Contract of toolkits: tools that agents may use, and the point where plugins add them. */
import { ConflictError, defineError, type Effect, point, type Undo, z } from '#kernel'
import { findNotJson } from '#lib/not-json'

/** The agent and the limits for which a tool runs. */
export interface ToolCall {
  readonly call_id: string
  readonly agent_id: string
  readonly goal_id: string | null
  /** The one-shot task for which the tool runs, if it is one. */
  readonly task_id?: string | undefined
  readonly cycle_num: number
  /** Aborted at the tool's time limit, or when the cycle ends. */
  readonly signal: AbortSignal
  /** Absolute path of the workspace: the agent's own folder, or one that the operator assigned. */
  readonly workspace: string
  /** The agent's own folder if the workspace is a different one; and the folders assigned to the agent. */
  readonly scratch?: string
  readonly folders?: readonly {
    path: string
    access: 'read-only' | 'read-write'
    purpose?: 'worktree' | 'objects' | 'packages' | undefined
  }[]
  /** `agent:epoch:step`, for services that take an idempotency key. */
  readonly idempotency_key: string
  /**
   * Maximum tokens of the result that the current model reads; the rest is cut off. At most 8,000, which is also the
   * default.
   */
  readonly result_tokens?: number
  /** Adds a write that is committed exactly once, together with the call's outcome. `check` cannot add any. */
  effect(effect: Effect): void
}

export interface Tool<P extends z.ZodType = z.ZodType> {
  name: string
  /** Description of the tool and of when to use it, in words that a small model understands. */
  description: string
  parameters: P
  /** Whether a call may run again when its outcome is unknown. */
  idempotent?: boolean
  /**
   * Whether a call changes nothing. It may then also run again, and neighbouring calls of one answer run at the same
   * time; other calls run one after another.
   */
  read_only?: boolean
  /** Why a call can do harm, in a few words, such as `runs programs`; shown to the operator. */
  danger?: string
  /** Whether a person must approve each call; in a project only where `approval.enabled` is on. */
  requires_approval?: boolean
  /** Arguments that a shell runs. The patterns of an approval rule grant only single commands in them. */
  shell_arguments?: readonly string[]
  /**
   * Whether the tool is left out of prompts until `find_tools` finds it, even if the rest of its toolkit is visible.
   */
  hidden?: boolean
  /** Where alone agents have the tool: while they pursue a `goal`, or in a one-shot `task`. By default in both. */
  only_in?: 'goal' | 'task'
  /** Whether results stay in view while the goal lasts, such as instructions for its work; others are cleared with time. */
  keeps_result?: boolean
  /**
   * Throws if the call cannot succeed; the model receives the error instead of waiting for an approval. Called
   * only before a person would be asked. Must change nothing.
   */
  check?(args: z.output<P>, call: ToolCall): unknown
  /**
   * Returns what a call would do, in lines for the person who decides on it, such as a diff. Called while the call waits.
   * Must change nothing.
   */
  preview?(args: z.output<P>, call: ToolCall): string | Promise<string>
  /**
   * Returns the result for the model: a string, or a value that is converted to JSON. The model receives thrown errors.
   */
  execute(args: z.output<P>, call: ToolCall): unknown
}

/** Preserves the argument types of one tool. */
export function tool<P extends z.ZodType>(definition: Tool<P>): Tool {
  return definition as unknown as Tool
}

/**
 * A tool cannot do what was asked; the model reads the message. Does not count as a failure of the plugin, unlike any
 * other thrown error.
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
  /** Name that selects several toolkits at once: `plugins` for those of plugin files. */
  group?: string
  /** One line for the system prompt of agents that see the toolkit. */
  instructions?: string
  /**
   * Whether agents whose profile lists no toolkits see it; true for plugin files by default. Other toolkits are found
   * with `find_tools`.
   */
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
          `the parameters of the tool "${name}" of toolkit "${toolkit.name}" are not an object, which models require: write parameters: z.object({ … })`,
        )
      }
      const field = findNotJson(parameters)
      if (field) {
        throw new TypeError(
          `the parameter "${field.path}" of the tool "${name}" of toolkit "${toolkit.name}" is a ${field.type}, which no model can send as JSON: declare a string or a number, and convert it with .transform()`,
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

/** Runs an intercepted call, with these arguments or the model's, and returns the tool's result. */
export type NextCall = (args?: unknown) => Promise<unknown>

/** Code around the tool calls of agents, such as to refuse them, or to change their arguments or results. */
export interface ToolInterceptor {
  name: string
  /** Interceptors of lower stages are called first and get the results of the others. Default: 0. */
  stage?: number
  /** Returns whether the calls of a tool are intercepted. Default: all. */
  applies?(tool: Tool): boolean
  /** Throws a `ToolError` to refuse a call. Called before a person would be asked, and before the call runs. */
  check?(args: unknown, call: ToolCall, tool: Tool): unknown
  /** Returns the result for the model, usually that of `next`. Arguments given to `next` are validated again. */
  intercept?(args: unknown, call: ToolCall, next: NextCall, tool: Tool): unknown
}
export const ToolInterceptors = point<ToolInterceptor>('tool_interceptors', {
  key: interceptor => interceptor.name,
  has: { name: 'text' },
  check({ name, check, intercept }) {
    if (!check && !intercept) throw new TypeError(`the tool interceptor "${name}" needs check() or intercept()`)
  },
})

declare module '#kernel' {
  interface PluginHandle {
    /** Adds tools that agents may be given. */
    toolkit(toolkit: Toolkit): Undo
    /** Adds code around the tool calls of agents. */
    interceptTools(interceptor: ToolInterceptor): Undo
  }
}
