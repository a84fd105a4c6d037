import type { PluginFile } from './plugin.ts'
import { type Token, token } from './services.ts'

/** Whoever watches over the code of plugin files: a room may provide it. */
export interface Supervisor {
  /**
   * Asked before a file is run.
   * @param asked whether an operator named it
   * @throws with the reason, when it must not be run
   */
  admit(file: PluginFile, asked: boolean): Promise<void>
  /** Watches a file that is about to be run to examine it, also one that may not go live. */
  examine(file: PluginFile): void
  /** Told what code of a plugin is about to run, and with undefined that it gave back control. Calls nest. */
  watch(plugin: string, origin: string, what: string | undefined): void
}
export const SupervisorToken: Token<Supervisor> = token('supervisor')

/**
 * The command that starts this process again; empty where it only ends. Not provided inside a program that embeds the service.
 */
export const RestartToken: Token<readonly string[]> = token('restart')
