import { defineError, type OperationCall, type z } from '#kernel'

/** A command with which the command line runs an operation. */
export interface CliCommand {
  /** Words and arguments: `nudge <agent> <message>`; `[x]` is optional, `<x...>` takes the rest of the line. Other inputs become `--options`. */
  usage: string
  /** What these words do, where they share an operation: its summary by default. */
  summary?: string
  /** Values that these words fix, for words that share an operation. */
  preset?: Record<string, unknown>
  /** Inputs that make no sense with these words, and are no options of theirs. */
  hidden?: readonly string[]
  /** Values of options that are not given, where they are others than over HTTP. */
  defaults?: Record<string, unknown>
  /** Options that name a JSON file which holds the value of a field: `{ response_schema: 'schema' }` is `--schema <file>`. */
  files?: Record<string, string>
  /** Options that may be repeated and name files, whose names and bytes in base64 are a field's list: `{ images: 'image' }` is `--image <file>`. */
  attachments?: Record<string, string>
  /** Options that name files or folders of the machine, relative to where the command is typed; a list may be repeated. */
  paths?: Record<string, string>
  /** Options that may be repeated and add an object with one key to a field's list: `{ acceptance: { 'accept-file': 'file' } }`. */
  lists?: Record<string, Record<string, string>>
  /** Short names of options: `{ limit: 'n' }`. */
  short?: Record<string, string>
  /** What help shows to type, where its words with a value in each place that must be filled are not enough: `pause --all`. */
  example?: string
}

declare module '#kernel' {
  interface Operation<I extends z.ZodObject = z.ZodObject, O extends z.ZodType = z.ZodType, C = OperationCall> {
    cli?: CliCommand | CliCommand[]
  }
}

/** What a text on the command line becomes before it reaches the operation. `list`: may be given several times. `file`: names a file of JSON. */
export type ValueType = 'text' | 'number' | 'boolean' | 'list' | 'json' | 'file' | 'files' | 'path' | 'paths'

/** A value by its place, written `<id>`, `[id]` or `<message...>`. */
export interface ArgumentSpec {
  field: string
  type: ValueType
  required: boolean
  /** Takes the rest of the line. */
  rest: boolean
  description: string
}

/** A value by its name, written `--max-steps 5` or `-n 5`. */
export interface OptionSpec {
  field: string
  /** Without the dashes. */
  name: string
  short: string | null
  type: ValueType
  required: boolean
  default: unknown
  choices: readonly string[] | null
  /** What stands for its value in help, where its type says too little. */
  hint?: string
  /** Its values become objects with this key, in the list that is the field. */
  key?: string
  description: string
}

/** Which operation a command runs, and how to reach it in a running daemon. */
export interface OperationRef {
  name: string
  preset: Readonly<Record<string, unknown>>
  http: { method: string; path: string } | null
  reach: 'config' | 'store' | 'daemon'
  /** It has a text of its own for people; otherwise a table is drawn. */
  rendered: boolean
  /** It has an exit code of its own for some answers. */
  judged?: boolean
  /** What its list leaves out unless `--all` is given, in the singular. */
  hides?: string
  /** It is a stream that never comes to an end of its own: nothing is left undone when the daemon stops. */
  endless?: boolean
}

/** One command as data: all that parsing and help need. */
export interface CommandSpec {
  path: readonly string[]
  summary: string
  description: string
  arguments: readonly ArgumentSpec[]
  options: readonly OptionSpec[]
  /** The command as one would type it. */
  example: string
  /** null for a command that is written by hand. */
  operation: OperationRef | null
}

/** `dist/commands.json` for the builtins, `.svc/commands.json` for a project's plugins. */
export interface CommandTree {
  version: string
  commands: readonly CommandSpec[]
  /** The names of the parts of the program. */
  modules: readonly string[]
  /** Exit codes by error code, where they are not 1. */
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
export const UsageError = defineError({
  code: 'usage',
  status: 400,
  exit: 2,
  title: 'Usage',
  message: (p: { problem: string; usage: string }) => `${p.problem}\nUsage: ${p.usage}`,
})
export const NoProjectError = defineError({
  code: 'no_project',
  status: 404,
  title: 'No project',
  message: (p: { at: string; searched: 'upwards' | 'there'; remedy?: string }) =>
    `There is no project in ${p.at}${p.searched === 'upwards' ? ' or a folder above it' : ''}; ${p.remedy ?? 'make one with: svc init'}`,
})
export const CannotWriteError = defineError({
  code: 'cannot_write',
  status: 500,
  title: 'Cannot write',
  message: (p: { path: string; problem: string; remedy: string }) =>
    `${p.path} cannot be written: ${p.problem}; ${p.remedy}.`,
})
export const ReplacedByPluginError = defineError({
  code: 'replaced_by_plugin',
  status: 503,
  title: 'Replaced by a plugin',
  message: (p: { service: string; plugin: string; file: string }) =>
    `The plugin "${p.plugin}" (${p.file}) provides "${p.service}" in this project, and a command that only reads runs no plugin; ask its daemon: svc start`,
})
export const NeedsDaemonError = defineError({
  code: 'needs_daemon',
  status: 503,
  title: 'Needs the daemon',
  message: (p: { command: string }) => `svc ${p.command} needs a running daemon; start one with: svc start`,
})
/** What a running daemon answered instead of a result, as it came over its socket. */
export const DaemonAnswerError = defineError({
  code: 'daemon_answer',
  status: 502,
  title: 'Daemon answer',
  message: (p: { problem: string }) => `The daemon gave no answer: ${p.problem}.`,
})
