import { defineError, type Effect, token } from '#kernel'
import type { Reach } from '#safety/sandbox/contract'

/** What came of a command. */
export interface ShellResult {
  /** The exit code; null when a signal or the time limit ended it. */
  code: number | null
  /** What it wrote and how it ended, as a model reads it. */
  text: string
}

/** Runs commands by the rules of `shell_exec`: the same programs, sandbox and time limit. */
export interface Shell {
  /** @throws CommandError when the command is none, or its program may not be run */
  check(command: string): Promise<void>
  /** @throws CommandError, OutsideError, PathError, NoSandboxError, ProgramError when it is not run */
  run(command: string, at: Reach & { signal: AbortSignal }): Promise<ShellResult>
}
export const Shell = token<Shell>('shell')

/** What wakes an agent at a time with a message. */
export interface Reminders {
  /** Returns the writes that do so. @param at milliseconds */
  make(reminder: {
    agent_id: string
    description: string
    at: number
    created_by: 'agent'
  }): Promise<{ effects: Effect[] }>
}
export const Reminders = token<Reminders>('reminders')

export const CommandError = defineError({
  code: 'command_refused',
  name: 'CommandError',
  status: 422,
  title: 'Command refused',
  message: (p: { problem: string }) => `Nothing was run: ${p.problem}.`,
})
