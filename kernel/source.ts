import type { SvcError } from './errors.ts'
import type { Outcome, PluginState } from './host/state.ts'
import type { Interceptor } from './interceptor.ts'
import type { PluginDefinition } from './plugin.ts'
import type { Undo } from './scope.ts'

/** A plugin that a source found and has not loaded yet. */
export interface FoundPlugin {
  /** Origin, such as its file; the same for all of its versions. */
  origin: string
  /** Label that is shown until its name is known. */
  stem: string
  /** Changes whenever the plugin does. */
  revision: string
}

/** A plugin definition with its origin. */
export interface LoadedPlugin {
  definition: PluginDefinition
  /** `builtin`, `code`, or the origin in its source. */
  origin: string
  /** Label in its source. */
  stem?: string | undefined
  load_ms: number
  /** Side effects of loading it, such as timers: they end with the version and start again if it is restored. */
  remains?: { open(): void; close(): void }
}

/** Returns whether a refused plugin may load now. @param outcomes results of other plugins since then */
export type Retry = (outcomes: readonly Outcome[]) => boolean | Promise<boolean>

/** Finds, loads and watches plugins while the process runs. */
export interface PluginSource {
  /** Plugins that `find` last saw and that may not be loaded in this process. */
  readonly unloaded: readonly PluginState[]
  /** Returns the plugins that may be loaded now. Waits until files that `concerns` selects are completely written. */
  find(concerns?: (plugin: FoundPlugin) => boolean): Promise<FoundPlugin[]>
  /** Loads a found plugin. @param isRequested whether an operator named it @throws if it cannot be loaded */
  load(plugin: FoundPlugin, isRequested: boolean): Promise<LoadedPlugin>
  /** Returns the condition for loading a plugin again that failed for this cause; undefined if only a new revision can help. */
  retryAfter(cause: unknown, plugin: FoundPlugin): Retry | undefined
  /** Calls `apply` whenever changed plugins are to be loaded. */
  onChange(apply: () => Promise<unknown>): Undo
  /** Called once per heartbeat. */
  tick(): void
}

/** Support for plugins beside the modules: their source, the interceptor of their code, and the form of their errors. */
export interface PluginSupport {
  sources: readonly PluginSource[]
  /** Returns a definition that code adds. @throws if it is not valid */
  checkDefinition(definition: unknown): PluginDefinition
  /** Returns the interceptor of a plugin; undefined if its code is called directly. */
  intercept(plugin: LoadedPlugin): Interceptor | undefined
  /** Returns the error to show for what a plugin threw. */
  explain(plugin: string, origin: string, cause: unknown): SvcError
}

/** Returns whether a plugin belongs to the program and not to a source. */
export function isOfProgram(origin: string): boolean {
  return origin === 'builtin' || origin === 'code'
}
