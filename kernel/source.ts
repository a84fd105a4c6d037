import type { SvcError } from './errors.ts'
import type { Outcome, PluginState } from './host/state.ts'
import type { Interceptor } from './interceptor.ts'
import type { PluginDefinition } from './plugin.ts'
import type { Undo } from './scope.ts'

/** A plugin that a source has, before it is loaded. */
export interface FoundPlugin {
  /** Where it comes from, such as its file; the same for all of its versions. */
  origin: string
  /** How people refer to it while its name is not known. */
  stem: string
  /** Changes whenever the plugin does. */
  revision: string
}

/** A definition with where it came from. */
export interface LoadedPlugin {
  definition: PluginDefinition
  /** `builtin`, `code`, or the origin in its source. */
  origin: string
  /** How its source calls it. */
  stem?: string | undefined
  load_ms: number
  /** What came into being by loading it, such as timers: it ends with the version, and begins again if that is brought back. */
  remains?: { open(): void; close(): void }
}

/** Returns whether what a refused plugin waits for may have come by now. @param outcomes what became of others since */
export type Retry = (outcomes: readonly Outcome[]) => boolean | Promise<boolean>

/** Where plugins come from and go to while the process runs. */
export interface PluginSource {
  /** Plugins that are there and may not be loaded in this process, as `find` saw them last. */
  readonly unloaded: readonly PluginState[]
  /** Returns the plugins that may be loaded now, once those that `concerns` picks out are written to their end. */
  find(concerns?: (plugin: FoundPlugin) => boolean): Promise<FoundPlugin[]>
  /** Loads what was found. @param asked whether an operator named it @throws why it cannot be loaded */
  load(plugin: FoundPlugin, asked: boolean): Promise<LoadedPlugin>
  /** Returns when a plugin that was refused for this cause is tried again; undefined where only a new revision can help. */
  retryAfter(cause: unknown, plugin: FoundPlugin): Retry | undefined
  /** Calls `apply` whenever plugins changed and that is to be live. */
  changed(apply: () => Promise<unknown>): Undo
  /** Called once per heartbeat. */
  tick(): void
}

/** What a process has beside its builtins: where plugins come from, what stands around their code, and how failures read. */
export interface PluginSupport {
  sources: readonly PluginSource[]
  /** Returns undefined for a plugin whose code is called as it is. */
  intercept(plugin: LoadedPlugin): Interceptor | undefined
  /** Returns the error that people are shown for what a plugin threw. */
  explain(plugin: string, origin: string, cause: unknown): SvcError
}

/** Whether a plugin is a part of the program, or came from a source. */
export function isOfProgram(origin: string): boolean {
  return origin === 'builtin' || origin === 'code'
}
