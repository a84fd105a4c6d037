import type { z } from 'zod'
import type { PluginHandle } from './handle.ts'
import type { OperationCall } from './operations.ts'
import type { Undo } from './scope.ts'

export const ROLES = ['daemon', 'joined', 'server', 'mcp', 'cli'] as const
/** What a process is for. One process may have several roles; `joined` is a daemon that may run beside the project's own. */
export type Role = (typeof ROLES)[number]

export interface PluginDefinition<C extends z.ZodObject = z.ZodObject> {
  name: string
  description?: string
  version?: string
  /** The range of the public face that it was written for. */
  requires?: string
  /** Plugins that must be live before this one. */
  needs?: readonly string[]
  /** Its configuration; the values stand under `plugins.config.<name>`, for a builtin under `section`. */
  config?: C
  section?: string
  /** The shape of what `svc.handOver` gives to the next version of this plugin. What does not fit it is left behind. */
  state?: z.ZodType
  /** Declares what the plugin adds. Runs in every process; holds no resource. */
  setup(svc: PluginHandle, config: z.output<C>): void
}

/** Keeps the types of one plugin together: what a plugin file exports as its default. */
export function definePlugin<C extends z.ZodObject>(definition: PluginDefinition<C>): PluginDefinition {
  return definition as unknown as PluginDefinition
}

/** Where things lie in the project. */
export interface Project {
  /** The folder that holds `.svc/`, `plugins/` and `profiles/`. */
  readonly root: string
  readonly svc: string
  readonly config: string
  readonly database: string
  readonly workspaces: string
  readonly plugins: readonly string[]
}

/** What rooms may ask of the loop. */
export interface HeartbeatFace {
  readonly live: boolean
  readonly inFlight: readonly string[]
  readonly lastTick: number
  readonly fault: string | undefined
  start(): void
  stop(): Promise<void>
  hint(): void
}
export type Invoke = (name: string, input: unknown, call?: Partial<OperationCall>) => Promise<unknown>

export interface Resource {
  start: (signal: AbortSignal) => Promise<Undo | void> | Undo | void
  in: readonly Role[]
}
