import { basename, dirname } from 'node:path'
import { INDEX_FILES } from '#lib/plugin-file'

// Definitions shared by the main thread and the watchdog thread.

/** Indexes of the shared cells: a counter that must advance, the running code (0 for none), and two flags. */
export const CELL = { round: 0, code: 1, debugged: 2, ending: 3 } as const
export const CELLS = 4
/** Number of steps without progress of the event loop after which the process counts as blocked. */
export const STEPS = 15
/** Factor for the time limit when no plugin caused the block: the service itself may be busy. */
export const PATIENCE = 4

/** Parameters of the watchdog thread. */
export interface Watch {
  cells: Int32Array
  /** Interval of the checks, in milliseconds. */
  step_ms: number
  quarantine: string
  /** Path of the file with the PID of the process that is being stopped. */
  stop: string
  log: string
  /** The command that starts the process again. */
  command: readonly string[]
  /** What waits for this process: a terminal, the process that it replaced, or nothing. */
  parent: 'terminal' | 'predecessor' | 'none'
  /** Whether to write to standard error; false when that is the log file. */
  echo: boolean
}

/** Messages to the watchdog thread: a file that is about to run, or the code that a cell value stands for. */
export type Notice =
  | { kind: 'file'; plugin: string; file: string; fingerprint: string }
  | { kind: 'code'; id: number; plugin: string; file: string; what: string }

/** Returns whether a path belongs to the plugin of this file. All files in the folder belong to its index file. */
export function isOf(path: string, file: string): boolean {
  return path === file || (INDEX_FILES.includes(basename(file)) && path.startsWith(`${dirname(file)}/`))
}
