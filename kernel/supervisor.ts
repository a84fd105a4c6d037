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
  /** Told what code of a plugin is about to run, and with undefined that it gave back control. Calls nest. */
  watch(plugin: string, origin: string, what: string | undefined): void
}
export const SupervisorToken: Token<Supervisor> = token('supervisor')

/** The command that starts this process again. Nobody provides it inside a program of somebody else. */
export const RestartToken: Token<readonly string[]> = token('restart')
