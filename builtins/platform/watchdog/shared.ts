import { basename, dirname } from 'node:path'
import { INDEX_FILES } from '#lib/plugin-file'

// What the main thread and the watching one have in common.

/** The shared cells: a count that must move, the code that runs (0 for none), and two flags. */
export const CELL = { round: 0, code: 1, debugged: 2, ending: 3 } as const
export const CELLS = 4
/** Number of steps without a beat of the event loop after which the process counts as blocked. */
export const STEPS = 15
/** Factor of patience when no plugin is to blame: the service itself may be at hard work. */
export const PATIENCE = 4

/** What the thread is started with. */
export interface Watch {
  cells: Int32Array
  /** How often it looks, in milliseconds. */
  step_ms: number
  quarantine: string
  /** The file with the PID of the process that is being stopped. */
  stop: string
  log: string
  /** The command that starts the process again. */
  command: readonly string[]
  /** Who waits for this process: a terminal, the process that it replaced, or no one. */
  parent: 'terminal' | 'predecessor' | 'none'
  /** Whether standard error is read, and not the log itself. */
  echo: boolean
}

/** Notices to the thread: a file that is about to run, or the name of a cell's code. */
export type Notice =
  | { kind: 'file'; plugin: string; file: string; fingerprint: string }
  | { kind: 'code'; id: number; plugin: string; file: string; what: string }

/** Returns whether a path belongs to the plugin of this file; to a folder's index belongs everything in the folder. */
export function isOf(path: string, file: string): boolean {
  return path === file || (INDEX_FILES.includes(basename(file)) && path.startsWith(`${dirname(file)}/`))
}
