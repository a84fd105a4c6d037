import { defineError, type OperationCall, type z } from '#kernel'

/** A command with which the command line runs an operation. */
export interface CliCommand {
  /** Words and arguments: `nudge <agent> <message>`; `[x]` is optional, `<x...>` takes the rest of the line. Other inputs become `--options`. */
  usage: string
  /** Summary of the command if several commands share an operation; the operation's summary by default. */
  summary?: string
  /** Input values that the command sets, if several commands share an operation. */
  preset?: Record<string, unknown>
  /** Inputs that do not apply to this command and become no options. */
  hidden?: readonly string[]
  /** Default values of options that differ from those over HTTP. */
  defaults?: Record<string, unknown>
  /** Options that name a JSON file which holds the value of a field: `{ response_schema: 'schema' }` is `--schema <file>`. */
  files?: Record<string, string>
  /**
   * Repeatable options that name files. The file names and base64 contents form a field's array: `{ images: 'image' }`
   * is `--image <file>`.
   */
  attachments?: Record<string, string>
  /** Options that name local files or folders, relative to the current folder. Options of an array may be repeated. */
  paths?: Record<string, string>
  /**
   * Repeatable options, each of which adds an object with one key to a field's array: `{ acceptance: { 'accept-file':
   * 'file' } }`.
   */
  lists?: Record<string, Record<string, string>>
  /** Short names of options: `{ limit: 'n' }`. */
  short?: Record<string, string>
  /** Example in help, if the words with a value for each required argument are not enough: `pause --all`. */
  example?: string
}

declare module '#kernel' {
  interface Operation<I extends z.ZodObject = z.ZodObject, O extends z.ZodType = z.ZodType, C = OperationCall> {
    cli?: CliCommand | CliCommand[]
  }
}

/**
 * How a command-line string is converted for the operation. `list`: the option may be repeated. `file`: names a JSON
 * file.
 */
export type ValueType = 'text' | 'number' | 'boolean' | 'list' | 'json' | 'file' | 'files' | 'path' | 'paths'

/** A positional argument, written `<id>`, `[id]` or `<message...>`. */
export interface ArgumentSpec {
  field: string
  type: ValueType
  /** Type of the values of a list, where they are no text. */
  items?: 'number' | 'boolean' | 'json'
  required: boolean
  /** Whether it takes the rest of the line. */
  rest: boolean
  choices?: readonly string[]
  description: string
}

/** A named option, written `--max-steps 5` or `-n 5`. */
export interface OptionSpec {
  field: string
  /** Name without dashes. */
  name: string
  short: string | null
  type: ValueType
  /** Type of the values of a list, where they are no text. */
  items?: 'number' | 'boolean' | 'json'
  required: boolean
  default: unknown
  choices: readonly string[] | null
  /** Limits of a number, for a command without an operation, whose schema would check it. */
  range?: { min: number; max: number; integer?: boolean }
  /** Placeholder for the value in help, where the type alone is not clear enough. */
  hint?: string
  /** Key under which each value becomes an object in the field's list. */
  key?: string
  description: string
}

/** Which operation a command runs, and how to reach it in a running daemon. */
export interface OperationRef {
  name: string
  preset: Readonly<Record<string, unknown>>
  http: { method: string; path: string } | null
  reach: 'config' | 'store' | 'daemon'
  /** Whether the operation has its own text rendering; otherwise a table is printed. */
  rendered: boolean
  /** Whether some answers have their own exit code. */
  judged?: boolean
  /** Singular name of the rows that the list hides unless `--all` is given. */
  hides?: string
  /** Whether the stream never ends by itself, so that a stopping daemon interrupts nothing. */
  endless?: boolean
}

/** One command as data: all that parsing and help need. */
export interface CommandSpec {
  path: readonly string[]
  summary: string
  description: string
  arguments: readonly ArgumentSpec[]
  options: readonly OptionSpec[]
  /** Example call of the command, as typed in a shell. */
  example: string
  /** Operation that the command runs; null for a handwritten command. */
  operation: OperationRef | null
}

/** `dist/commands.json` for the builtins, `.svc/commands.json` for a project's plugins. */
export interface CommandTree {
  version: string
  commands: readonly CommandSpec[]
  /** Names of the program's modules. */
  modules: readonly string[]
  /** The module of each operation. */
  owners?: Readonly<Record<string, string>>
  /** Exit codes by error code, where the exit code is not 1. */
  exits: Readonly<Record<string, number>>
  /** Services that the project's plugins provide. */
  provides?: readonly { service: string; plugin: string; file: string }[]
}

export const UnknownCommandError = defineError({
  code: 'unknown_command',
  status: 400,
  exit: 2,
  title: 'Unknown command',
  message: (p: { words: string; near: string[] }) =>
    `There is no command "${p.words}"; ${p.near.length > 0 ? `did you mean "svc ${p.near.join('" or "svc ')}"?` : 'list them with: svc --help'}`,
})
/** An argument or option of the command is missing or invalid. */
export const UsageError = defineError({
  code: 'usage',
  status: 400,
  exit: 2,
  title: 'Invalid usage',
  message: (p: { problem: string; usage: string }) => `${p.problem}\nUsage: ${p.usage}`,
})
export const NoProjectError = defineError({
  code: 'no_project',
  status: 404,
  title: 'No project',
  message: (p: { at: string; searched: 'upwards' | 'there'; remedy?: string }) =>
    `There is no project in ${p.at}${p.searched === 'upwards' ? ' or a folder above it' : ''}; ${p.remedy ?? 'make one with: svc init'}`,
})
/** A file or folder belongs to another user, as in the project of a service that another user runs. */
export const NotPermittedError = defineError({
  code: 'not_permitted',
  status: 403,
  title: 'Not permitted',
  message: (p: { path: string }) =>
    `${p.path} cannot be opened: this user may not; run svc as the user to whom it belongs, or change its permissions.`,
})
export const CannotWriteError = defineError({
  code: 'cannot_write',
  status: 500,
  title: 'Cannot write',
  message: (p: { path: string; problem: string; remedy: string }) =>
    `${p.path} cannot be written: ${p.problem}; ${p.remedy}.`,
})
export const ModuleDisabledError = defineError({
  code: 'module_disabled',
  status: 404,
  title: 'Module disabled',
  /** @param p.reason why it is off, if it is not disabled itself */
  message: (p: { command: string; module: string; reason: string | null }) =>
    `svc ${p.command} needs the module "${p.module}", which ${p.reason ?? 'is disabled'}; to enable it, remove it from the list plugins.disabled (svc config get plugins.disabled), then: svc restart`,
})
export const ReplacedByPluginError = defineError({
  code: 'replaced_by_plugin',
  status: 503,
  title: 'Replaced by a plugin',
  message: (p: { service: string; plugin: string; file: string }) =>
    `The plugin "${p.plugin}" (${p.file}) provides "${p.service}" in this project, but a command that only reads runs no plugins; start the daemon, which runs them: svc start`,
})
export const NeedsDaemonError = defineError({
  code: 'needs_daemon',
  status: 503,
  title: 'Needs the daemon',
  message: (p: { command: string }) => `svc ${p.command} needs a running daemon; start one with: svc start`,
})
/** A running daemon answered over its socket with something other than a result. */
export const DaemonAnswerError = defineError({
  code: 'daemon_answer',
  status: 502,
  title: 'Invalid response from the daemon',
  message: (p: { problem: string }) => `The daemon gave no valid response: ${p.problem}.`,
})
