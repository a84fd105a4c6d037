import type { CommandSpec, CommandTree, OptionSpec } from '../contract.ts'
import type { Terminal } from '../screen/terminal.ts'
import { pad, widthOf, wrap } from '../screen/width.ts'

type PageStyle = Pick<Terminal, 'style' | 'columns'>

/** Options that every command takes. */
export const GLOBAL: readonly [string, string][] = [
  ['--json', 'Print JSON instead of text'],
  ['--root <folder>', 'Folder of the project (default: the nearest project from here upwards; also: SVC_ROOT)'],
  ['-h, --help', 'Show this help'],
]

/** `svc nudge <id> <message...> [options]` */
export function usageOf(spec: CommandSpec): string {
  const places = spec.arguments.map(({ field, required, rest }) => {
    const name = rest ? `${field}...` : field
    return required ? `<${name}>` : `[${name}]`
  })
  const needed = spec.options.filter(option => option.required).map(longFlagOf)
  const optional = spec.options.length > needed.length ? ['[options]'] : []
  return ['svc', ...spec.path, ...places, ...needed, ...optional].join(' ')
}

/** Returns the full help of one command, with related commands. */
export function helpOf(spec: CommandSpec, commands: readonly CommandSpec[], paper: PageStyle): string {
  const places = spec.arguments.map(({ field, description }): [string, string] => [field, description])
  const options = spec.options.map((option): [string, string] => [flagsOf(option), describe(option)])
  return [
    `${paper.style.bold(usageOf(spec))}\n\n${text(spec.summary, paper)}`,
    text(spec.description, paper),
    section('Arguments', places, paper),
    section('Options', [...options, ...GLOBAL], paper),
    `${paper.style.bold('Example:')}\n  ${spec.example}`,
    section('See also', commands.filter(other => other !== spec && other.path[0] === spec.path[0]).map(lineOf), paper),
  ]
    .filter(part => part !== '')
    .join('\n\n')
}

/** Returns the help of a command group that is not a command itself. */
export function groupOf(commands: readonly CommandSpec[], paper: PageStyle): string {
  return [
    section('Commands', commands.map(lineOf), paper),
    text('svc <command> --help describes a command', paper),
  ].join('\n\n')
}

/** Commands for beginners, by topic. */
const FIRST_COMMANDS: Readonly<Record<string, readonly string[]>> = {
  Project: ['init', 'start', 'stop', 'serve', 'config', 'doctor'],
  Agents: ['spawn', 'status', 'summary', 'watch', 'why', 'pause', 'kill'],
  Work: ['run', 'goals add', 'nudge', 'schedules add'],
  Control: ['approvals', 'approve', 'budget'],
}

/** Returns the help overview: the commands for beginners, on one screen. */
export function overviewOf(commands: readonly CommandSpec[], tree: CommandTree, paper: PageStyle): string {
  const commandsNamed = (words: string) => commands.filter(({ path }) => path.join(' ') === words)
  const topics = Object.entries(FIRST_COMMANDS).map(([topic, words]) => ({
    topic,
    rows: words.flatMap(commandsNamed).map(lineOf),
  }))
  const width = Math.max(...topics.flatMap(({ rows }) => rows.map(([usage]) => usage.length)))
  return [
    `${paper.style.bold('svc')} ${tree.version}: autonomous LLM agents on your own machine`,
    text('Usage: svc <command> [options]', paper),
    topics.map(({ topic, rows }) => section(topic, rows, paper, width)).join('\n'),
    text('svc <command> --help describes a command, and svc help --all lists all commands.', paper),
  ].join('\n\n')
}

/** Returns all commands: those about processes first, then those of operations. */
export function allCommandsOf(commands: readonly CommandSpec[], tree: CommandTree, paper: PageStyle): string {
  const lines = (own: boolean) => commands.filter(spec => (spec.operation === null) === own).map(lineOf)
  return [
    `${paper.style.bold('svc')} ${tree.version}: autonomous LLM agents on your own machine`,
    text('Usage: svc <command> [options]', paper),
    section('Project and processes', lines(true).sort(), paper),
    section('Agents and their work', lines(false).sort(), paper),
    section('Options', [...GLOBAL, ['-v, --version', 'Show the version']], paper),
    text('More: svc <command> --help, svc help exit-codes, svc help environment', paper),
  ].join('\n\n')
}

function lineOf(spec: CommandSpec): [string, string] {
  return [usageOf(spec).replace(/^svc | \[options\]$/g, ''), spec.summary]
}

/**
 * Lays out names and their descriptions: side by side, or the description below where the terminal is too narrow.
 * @param widest length of the longest name, in characters, when several sections are to align
 */
export function section(
  title: string,
  rows: readonly (readonly [string, string])[],
  paper: PageStyle,
  widest = Math.max(...rows.map(([left]) => left.length)),
): string {
  if (rows.length === 0) return ''
  const { columns = Number.POSITIVE_INFINITY, style } = paper
  const width = Math.min(34, widest)
  const available = columns - width - 4
  const lines = rows.map(([left, right]) => {
    if (available < 24) return [`  ${left}`, ...wrap(right, columns - 4).map(line => `    ${line}`)].join('\n')
    const below = ' '.repeat(width + 4)
    const wrapped = wrap(right, available)
    // A name too long for its column gets its own line, unless its description fits behind it.
    if (widthOf(left) > width) {
      const line = `  ${left}  ${right}`
      return widthOf(line) <= columns ? line.trimEnd() : [`  ${left}`, ...wrapped.map(part => below + part)].join('\n')
    }
    return `  ${pad(left, width)}  ${wrapped.join(`\n${below}`)}`.trimEnd()
  })
  return [style.bold(text(`${title}:`, paper)), ...lines].join('\n')
}

function text(sentence: string, { columns = Number.POSITIVE_INFINITY }: PageStyle): string {
  return wrap(sentence, columns).join('\n')
}

/** `-p, --port <number>` */
export function flagsOf(option: OptionSpec): string {
  const long = longFlagOf(option)
  return option.short ? `-${option.short}, ${long}` : long
}

/** `--port <number>`, `--all`, or `--[no-]enabled` for a boolean that a command may set to false. */
function longFlagOf(option: OptionSpec): string {
  if (option.type !== 'boolean') return `--${option.name} <${kindOf(option)}>`
  return option.required || option.default === true ? `--[no-]${option.name}` : `--${option.name}`
}

function kindOf(option: OptionSpec): string {
  if (option.choices) return option.choices.join('|')
  if (option.hint) return option.hint
  if (option.type === 'files') return 'file, repeatable'
  if (option.type === 'paths') return 'path, repeatable'
  return option.type === 'list' ? `${option.items ?? 'text'}, repeatable` : option.type
}

function describe({ description, default: value, required }: OptionSpec): string {
  if (required) return `${description} (required)`.trim()
  if (value === null || value === false || value === '' || (Array.isArray(value) && value.length === 0))
    return description
  return `${description} (default: ${typeof value === 'object' ? JSON.stringify(value) : value})`.trim()
}
