import {
  type ConfigKeyInfo,
  defineError,
  type FoundPlugin,
  type PluginDefinition,
  type Role,
  type Token,
  token,
} from '#kernel'

export const PluginGoneError = defineError({
  code: 'plugin_gone',
  status: 503,
  title: 'Plugin replaced or removed',
  message: (p: { plugin: string }) => `The plugin "${p.plugin}" was replaced or removed before this call finished.`,
})
export const PluginSuspendedError = defineError({
  code: 'plugin_suspended',
  status: 503,
  title: 'Plugin suspended',
  // The last failure is left out, because it may name files or data of this machine; svc plugins shows it.
  message: (p: { plugin: string; failures: number }) =>
    `The plugin "${p.plugin}" is suspended after ${p.failures} failures in a row; svc plugins shows the last failure. It is tried again later, or at once with: svc plugins reload ${p.plugin}`,
})

/** A plugin cannot be loaded; the message names the file and the line. */
export const PluginError = defineError({
  code: 'plugin_error',
  status: 409,
  title: 'Plugin error',
  message: (p: { plugin: string; where: string; problem: string }) => `Plugin "${p.plugin}" (${p.where}): ${p.problem}`,
})

/** A plugin on disk: its file, and a hash of all its sources. */
export interface PluginFile extends FoundPlugin {
  /** The file, or the index of its folder. */
  file: string
  /** Name of the file without its ending, or of the folder; users refer to the plugin by it. */
  stem: string
  fingerprint: string
  /** When one of its files was last written, in milliseconds of the wall clock. */
  written_ms: number
}

/** What a plugin would register if it were live. */
export interface DryRun {
  definition: PluginDefinition
  /** Names of everything that it registers, in order, as in the list of plugins. */
  registered: string[]
  /** Contributions to points, by their labels in `registered`. */
  contributions: ReadonlyMap<string, unknown>
  config: ConfigKeyInfo[]
  /** The roles of the processes in which each of its resources would start. */
  resources: (readonly Role[])[]
}
/** @deprecated Use `DryRun`. */
export type Rehearsal = DryRun

/** Timers of an npm package that still run after the last plugin that used it was removed. */
export interface LeftTimers {
  /** The plugin that used it last. */
  plugin: string
  package: string
  timers: number
  /** Place at which the package last started a timer, as `file:line`. */
  place: string
}

/** Supervises the code of plugin files; a module may provide it. */
export interface Supervisor {
  /**
   * Called before a file is run.
   * @param isRequested whether an operator named the file
   * @throws the reason why the file must not be run
   */
  admit(file: PluginFile, isRequested: boolean): Promise<void>
  /** Watches a file that is run only to examine it, including one that may not go live. */
  examine(file: PluginFile): void
  /**
   * Called with the code of a plugin that is about to run, and with undefined when it has given back control. Calls
   * nest.
   */
  watch(plugin: string, origin: string, what: string | undefined): void
}
export const SupervisorToken: Token<Supervisor> = token('supervisor')

/**
 * The command that restarts this process; empty if it can only end. Not provided inside a program that embeds the
 * service.
 */
export const RestartToken: Token<readonly string[]> = token('restart')

declare module '#kernel' {
  /** Methods of `HostToken` for plugin files. */
  interface PluginHost {
    /**
     * Returns what a plugin's file would register in this process, without making it live.
     * @throws PluginError with file and line
     */
    check(file: string): Promise<DryRun>
    /**
     * Returns the definition in a plugin's file, in any folder, without making it live.
     * @throws PluginError with file and line
     */
    load(file: string): Promise<PluginDefinition>
    /** Counts an uncaught error as a failure of the plugin that caused it, if the plugin is live. */
    blame(plugin: string, what: string, error: unknown): void
    /** Returns the definitions of live plugins from files, with their own keys, to try them in another project. */
    definitions(): PluginDefinition[]
    /** Returns the timers that packages of removed plugins still run in this process. */
    leftTimers(): LeftTimers[]
    /**
     * Returns why no plugin file may run now; undefined if they may.
     * @param found number of files that do not run for this reason
     */
    blockedReason(found?: number): Promise<string | undefined>
    /** @deprecated Use `blockedReason`. */
    hindrance?: PluginHost['blockedReason']
  }
}
