import { defineError, type Effect, token } from '#kernel'
import type { Reach } from '#safety/sandbox/contract'

/** Result of a command. */
export interface ShellResult {
  /** Exit code; null when a signal or the time limit ended the command. */
  code: number | null
  /** Output and exit status, formatted for a model. */
  text: string
  /** Whether the command was stopped at its time limit. */
  timed_out: boolean
}

/** Runs commands by the rules of `shell_exec`: the same programs and sandbox. */
export interface Shell {
  /** @throws CommandError when the command is invalid, or its program is not allowed */
  check(command: string): Promise<void>
  /**
   * Runs a command for at most `time_limit_ms`, by default the limit of `shell_exec`.
   * @throws CommandError, OutsideError, PathError, NoSandboxError, ProgramError when the command cannot run
   */
  run(command: string, at: Reach & { signal: AbortSignal; time_limit_ms?: number }): Promise<ShellResult>
}
export const Shell = token<Shell>('shell')

/** Wakes an agent with a message about its background process, in the conversation of one goal. */
export interface Reminders {
  /**
   * Returns the writes that create a reminder; none if the goal is not active.
   * @param at time in milliseconds
   */
  make(reminder: {
    agent_id: string
    goal_id: string
    description: string
    at: number
    created_by: 'process'
  }): Promise<{ alarm_id: string; effects: Effect[] }>
  /** Returns the writes that remove a reminder, unless the agent has read it. */
  withdraw(reminder: { alarm_id: string; agent_id: string }): Effect[]
}
export const Reminders = token<Reminders>('reminders')

/** Name of the tool that reads the output of a background process. */
export const PROCESS_OUTPUT = 'process_output'

/** The background processes of agents. */
export interface Processes {
  /**
   * Returns for each running process of a goal the writes of a message, which asks later whether it is still needed;
   * its end comes as a message too.
   * @param onlyAsked whether to return those of processes alone for which a call asked to wait longer than it could
   */
  waitFor(goal_id: string, onlyAsked?: boolean): Promise<Effect[][]>
}
export const Processes = token<Processes>('processes')

export const CommandError = defineError({
  code: 'command_refused',
  name: 'CommandError',
  status: 422,
  title: 'Command refused',
  message: (p: { problem: string }) => `Nothing was run: ${p.problem}.`,
})
