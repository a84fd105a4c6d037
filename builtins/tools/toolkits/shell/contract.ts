import { defineError, type Effect, token } from '#kernel'
import type { Reach } from '#safety/sandbox/contract'

/** Result of a command. */
export interface ShellResult {
  /** Exit code; null when a signal or the time limit ended the command. */
  code: number | null
  /** Output and exit status, formatted for a model. */
  text: string
}

/** Runs commands by the rules of `shell_exec`: the same programs, sandbox and time limit. */
export interface Shell {
  /** @throws CommandError when the command is invalid, or its program is not allowed */
  check(command: string): Promise<void>
  /** @throws CommandError, OutsideError, PathError, NoSandboxError, ProgramError when the command cannot run */
  run(command: string, at: Reach & { signal: AbortSignal }): Promise<ShellResult>
}
export const Shell = token<Shell>('shell')

/** Wakes an agent with a message about its background process. */
export interface Reminders {
  /**
   * Returns the writes that create a reminder.
   * @param at time in milliseconds
   */
  make(reminder: {
    agent_id: string
    description: string
    at: number
    created_by: 'process'
  }): Promise<{ alarm_id: string; effects: Effect[] }>
  /** Returns the writes that remove a reminder, unless the agent has read it. */
  withdraw(reminder: { alarm_id: string; agent_id: string }): Effect[]
}
export const Reminders = token<Reminders>('reminders')

export const CommandError = defineError({
  code: 'command_refused',
  name: 'CommandError',
  status: 422,
  title: 'Command refused',
  message: (p: { problem: string }) => `Nothing was run: ${p.problem}.`,
})
