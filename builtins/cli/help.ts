import type { CommandSpec, CommandTree, OptionSpec } from './contract.ts'
import type { Style } from './terminal.ts'

const GLOBAL: [string, string][] = [
  ['--json', 'Answer with JSON'],
  ['--root <folder>', 'The project, instead of the nearest one upwards from here (also: SVC_ROOT)'],
  ['-h, --help', 'Show this'],
]

/** `svc nudge <id> <message...> [options]` */
export function usageOf(spec: CommandSpec): string {
  const places = spec.arguments.map(({ field, required, rest }) => {
    const name = rest ? `${field}...` : field
    return required ? `<${name}>` : `[${name}]`
  })
  const needed = spec.options.filter(option => option.required).map(option => `--${option.name} <${kindOf(option)}>`)
  const optional = spec.options.length > needed.length ? ['[options]'] : []
  return ['svc', ...spec.path, ...places, ...needed, ...optional].join(' ')
}

export function helpOf(spec: CommandSpec, style: Style): string {
  const places = spec.arguments.map(({ field, description }): [string, string] => [field, description])
  const options = spec.options.map((option): [string, string] => [flagsOf(option), describe(option)])
  return [
    `${style.bold(usageOf(spec))}\n\n${spec.summary}`,
    spec.description,
    section('Arguments', places, style),
    section('Options', [...options, ...GLOBAL], style),
  ]
    .filter(part => part !== '')
    .join('\n\n')
}

/** All commands: those about processes, then what an operator can do. */
export function overviewOf(commands: readonly CommandSpec[], tree: CommandTree, style: Style): string {
  const lines = (own: boolean) =>
    commands
      .filter(spec => (spec.operation === null) === own)
      .map((spec): [string, string] => [usageOf(spec).replace(/^svc | \[options\]$/g, ''), spec.summary])
  return [
    `${style.bold('svc')} ${tree.version}: agents that live on your own machine`,
    'Usage: svc <command> [options]; svc <command> --help says more',
    section('The project and its processes', lines(true), style),
    section('What you can do in it', lines(false).sort(), style),
    section('Options', [...GLOBAL, ['-v, --version', 'Show the version']], style),
  ].join('\n\n')
}

function section(title: string, rows: readonly [string, string][], style: Style): string {
  if (rows.length === 0) return ''
  const width = Math.min(34, Math.max(...rows.map(([left]) => left.length)))
  return [style.bold(`${title}:`), ...rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd())].join(
    '\n',
  )
}

function flagsOf(option: OptionSpec): string {
  const long = option.type === 'boolean' ? `--${option.name}` : `--${option.name} <${kindOf(option)}>`
  return option.short ? `-${option.short}, ${long}` : long
}

function kindOf(option: OptionSpec): string {
  if (option.choices) return option.choices.join('|')
  return option.type === 'list' ? 'text, again for more' : option.type
}

function describe({ description, default: value, required }: OptionSpec): string {
  if (required) return `${description} (needed)`.trim()
  if (value === null || value === false || value === '' || (Array.isArray(value) && value.length === 0))
    return description
  return `${description} (default: ${typeof value === 'object' ? JSON.stringify(value) : value})`.trim()
}
