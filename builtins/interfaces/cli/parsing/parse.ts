import { Cli, Command, Option } from 'clipanion'
import { closestMatches } from '#kernel'
import { type ArgumentSpec, type CommandSpec, type OptionSpec, UsageError } from '../contract.ts'
import { usageOf } from './help.ts'

export interface ParsedCommand {
  input: Record<string, unknown>
  json: boolean
  root: string | undefined
}

/**
 * Reads the words after a command's path.
 * @param commands in which a command is looked for that surplus words may mean
 * @throws UsageError with the command's usage
 */
export function parse(
  spec: CommandSpec,
  words: readonly string[],
  commands: readonly CommandSpec[] = [],
): ParsedCommand {
  const command = process(spec, words)
  const { words: placed = [], json, root } = command
  const input: Record<string, unknown> = { ...spec.operation?.preset, ...place(spec, placed, commands) }
  for (const option of spec.options) {
    const given = command[fieldKey(option)]
    if (given !== undefined && option.key !== undefined) {
      const added = [given].flat().map(value => ({ [option.key!]: value }))
      input[option.field] = [...((input[option.field] as unknown[] | undefined) ?? []), ...added]
    } else if (given !== undefined) input[option.field] = readValue(spec, `--${option.name}`, given, option)
    else if (option.required) refuse(spec, `the option --${option.name} is missing`)
  }
  return { input, json: json === true, root }
}

type Values = { words?: string[]; json?: boolean; root?: string } & Record<string, unknown>

function process(spec: CommandSpec, words: readonly string[]): Values {
  // The path has been removed, so that clipanion knows a single command and its errors are about that one.
  class Words extends Command {
    static override paths = [Command.Default]
    words = Option.Rest()
    json = Option.Boolean('--json')
    root = Option.String('--root')

    constructor() {
      super()
      Object.assign(this, Object.fromEntries(spec.options.map(option => [fieldKey(option), declareOption(option)])))
    }

    async execute() {}
  }
  try {
    return Cli.from(Words, { binaryName: 'svc', enableColors: false }).process(
      joinNegativeNumbers(spec, words),
      {},
    ) as unknown as Values
  } catch (error) {
    refuse(spec, problemOf(spec, error))
  }
}

/** Joins an option and a negative number after it, which would else be parsed as an option. */
function joinNegativeNumbers(spec: CommandSpec, words: readonly string[]): string[] {
  const end = words.indexOf('--')
  const taken: string[] = []
  for (const word of end < 0 ? words : words.slice(0, end)) {
    const before = taken.at(-1)
    const option = spec.options.find(({ name, short }) => before === `--${name}` || (short && before === `-${short}`))
    if (option && option.type !== 'boolean' && /^-\.?\d/.test(word)) taken.splice(-1, 1, `--${option.name}=${word}`)
    else taken.push(word)
  }
  return end < 0 ? taken : [...taken, ...words.slice(end)]
}

/** Returns the class field of an option. The prefix avoids collisions with members of clipanion's `Command`. */
function fieldKey(option: OptionSpec): string {
  return `option:${option.key === undefined ? option.field : option.name}`
}

function declareOption(option: OptionSpec): unknown {
  const names = option.short ? `-${option.short},--${option.name}` : `--${option.name}`
  if (option.type === 'boolean') return Option.Boolean(names)
  return ['list', 'files', 'paths'].includes(option.type) ? Option.Array(names) : Option.String(names)
}

function place(spec: CommandSpec, words: readonly string[], commands: readonly CommandSpec[]): Record<string, unknown> {
  const left = [...words]
  const input: Record<string, unknown> = {}
  for (const argument of spec.arguments) {
    if (argument.required && left.length === 0) refuse(spec, `<${argument.field}> is missing`)
    const taken = argument.rest ? left.splice(0) : left.splice(0, 1)
    if (taken.length > 0) input[argument.field] = argumentValue(spec, taken, argument)
  }
  if (left.length > 0) {
    const [meant] = closestMatches(words[0]!, subcommandNames(spec, commands))
    const hint = meant === undefined ? '' : `; did you mean svc ${[...spec.path, meant].join(' ')}?`
    refuse(spec, `unexpected argument "${left[0]}"${hint}`)
  }
  return input
}

/** Returns the words that may follow the path of a command: `goals` may go on with `acceptance`. */
function subcommandNames({ path }: CommandSpec, commands: readonly CommandSpec[]): string[] {
  const below = commands.filter(
    each => each.path.length > path.length && path.every((word, at) => each.path[at] === word),
  )
  return [...new Set(below.map(each => each.path[path.length]!))]
}

function argumentValue(spec: CommandSpec, words: readonly string[], argument: ArgumentSpec): unknown {
  return readValue(spec, `<${argument.field}>`, argument.type === 'list' ? words : words.join(' '), argument)
}

/** Parses a word by its type. The schema of the operation, where there is one, validates the value later. */
function readValue(spec: CommandSpec, name: string, given: unknown, place: Partial<OptionSpec>): unknown {
  const { type, choices, items } = place
  if (type === 'list' && items && Array.isArray(given))
    return given.map(each => readValue(spec, name, each, { type: items }))
  if (typeof given !== 'string') return given
  if (type === 'number') {
    const value = /^-?\d*\.?\d+$/.test(given) ? Number(given) : Number.NaN
    if (isInRange(value, place)) return value
    refuse(spec, `${name} takes ${describeRange(place)}, not "${given}"`)
  }
  if (choices && spec.operation === null && !choices.includes(given)) {
    refuse(spec, `${name} is one of ${choices.join(', ')}, not "${given}"`)
  }
  if (type === 'boolean' && /^(true|false)$/.test(given)) return given === 'true'
  if (type !== 'json') return given
  try {
    return JSON.parse(given)
  } catch {
    refuse(spec, `${name} takes JSON, not "${given}"`)
  }
}

function isInRange(value: number, { range }: Partial<OptionSpec>): boolean {
  if (!range) return !Number.isNaN(value)
  return value >= range.min && value <= range.max && (!range.integer || Number.isInteger(value))
}

function describeRange({ range, hint }: Partial<OptionSpec>): string {
  const kind = hint ?? (range?.integer ? 'a whole number' : 'a number')
  return range ? `${kind} from ${range.min} to ${range.max}` : kind
}

/** Returns the message for a parse error of clipanion. */
function problemOf(spec: CommandSpec, error: unknown): string {
  const { candidates = [] } = error as { candidates?: { reason: string | null }[] }
  // clipanion also reports each negated option as unsupported; it adds that candidate before the real one.
  const negated = spec.options.filter(({ type }) => type === 'boolean').map(({ name }) => `("--no-${name}")`)
  const isReal = ({ reason }: { reason: string | null }) => !negated.some(each => reason?.includes(each))
  const reason = candidates.find(isReal)?.reason ?? String(error)
  const named = /\("(.*)"\)/.exec(reason)?.[1]
  if (named !== undefined && /^Unsupported option/.test(reason)) {
    const [closest] = closestMatches(named.replace(/^-+/, ''), [
      'json',
      'root',
      'help',
      ...spec.options.map(option => option.name),
    ])
    return `there is no option ${named}${closest ? `; did you mean --${closest}?` : ''}`
  }
  if (named !== undefined && /^Invalid option name/.test(reason)) {
    const flag = spec.options.find(({ name, type }) => type === 'boolean' && named.startsWith(`--${name}=`))?.name
    if (flag) return `--${flag} takes no value; write --${flag} or --no-${flag}`
    return `there is no option ${named}; to pass it as a value, put -- before it: -- ${named}`
  }
  const starved = /Not enough arguments to option ([\w-]+)/.exec(reason)?.[1]
  if (starved) return `the option ${starved} needs a value`
  return reason.replace(/\.$/, '')
}

function refuse(spec: CommandSpec, problem: string): never {
  throw new UsageError({ problem: `${spec.path.join(' ')}: ${problem}`, usage: usageOf(spec) })
}
