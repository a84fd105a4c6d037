import type { CommandSpec, OptionSpec } from '#interfaces/cli/contract'
import { flagsOf, usageOf } from '#interfaces/cli/parsing/help'
import { TOPICS } from '#interfaces/cli/parsing/topics'
import type { Metric } from '#observability/metrics/contract'
import { type ConfigKeyInfo, type errorCatalogue, type Operation, type PluginState, z } from '../../kernel/index.ts'

/** Renders the pages of the generated reference. They do not depend on the order of declarations. */

interface Schema {
  type?: string | string[]
  enum?: unknown[]
  const?: unknown
  anyOf?: Schema[]
  oneOf?: Schema[]
  items?: Schema
  properties?: Record<string, Schema>
  additionalProperties?: Schema | boolean
  description?: string
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
}

const page = (title: string, about: string, ...parts: readonly (string | readonly string[])[]): string =>
  `${[
    '<!-- Generated from the source; update with: npx vitest run test/spec/reference.test.ts -u -->',
    `# ${title}`,
    about,
    ...parts.flat(),
  ].join('\n\n')}\n`

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(heads), line(heads.map(() => '---')), ...rows.map(line)].join('\n')
}

const code = (text: string) => `\`${text}\``
/** Escapes `<` outside of code, so that it starts no tag. */
const prose = (text: string) => text.replaceAll(/(`[^`]*`)|</g, (whole, span) => span ?? `\\${whole}`)
const withFullStop = (text: string) => (text === '' || /[.!?]$/.test(text) ? prose(text) : `${prose(text)}.`)

function groupBy<T, K>(things: readonly T[], keyOf: (thing: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const thing of things) groups.set(keyOf(thing), [...(groups.get(keyOf(thing)) ?? []), thing])
  return groups
}

/** Groups things by their module; sorts modules and things by name. */
function byModule<T>(
  things: readonly T[],
  moduleOf: (thing: T) => string,
  nameOf: (thing: T) => string,
): [string, T[]][] {
  const modules = groupBy(
    things.toSorted((a, b) => nameOf(a).localeCompare(nameOf(b))),
    moduleOf,
  )
  return [...modules].sort(([a], [b]) => a.localeCompare(b))
}

/** Returns the type of a schema as the pages show it: `string`, `integer, at least 1`, `array of string`. */
function kindOf(schema: Schema): string {
  if (schema.enum) return schema.enum.map(value => code(String(value))).join(', ')
  if (schema.const !== undefined) return code(String(schema.const))
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return [...new Set(choices.map(kindOf))].join(' or ')
  const types = [schema.type ?? 'any'].flat()
  return types.map(type => kindOfType(type, schema)).join(' or ')
}

function kindOfType(type: string, schema: Schema): string {
  if (type === 'number' || type === 'integer') return `${type}${boundsOf(schema)}`
  if (type === 'array') return schema.items ? `array of ${kindOf(schema.items)}` : type
  if (type !== 'object') return type
  const { properties, additionalProperties: more } = schema
  if (isProblem(properties)) return 'problem'
  if (properties && Object.keys(properties).length > 0)
    return `object (${Object.keys(properties).map(code).join(', ')})`
  return typeof more === 'object' && more.type !== undefined ? `map of ${kindOf(more)}` : type
}

function isProblem(properties: Readonly<Record<string, Schema>> = {}): boolean {
  return 'detail' in properties && 'request_id' in properties
}

function boundsOf({ minimum, maximum, exclusiveMinimum }: Schema): string {
  const least = minimum !== undefined && minimum > Number.MIN_SAFE_INTEGER ? minimum : undefined
  const most = maximum !== undefined && maximum < 1e9 ? maximum : undefined
  if (least !== undefined && most !== undefined) return `, ${least} to ${most}`
  if (exclusiveMinimum !== undefined) return `, more than ${exclusiveMinimum}`
  if (least !== undefined) return `, at least ${least}`
  return most === undefined ? '' : `, at most ${most}`
}

const shownValue = (value: unknown): string =>
  value === undefined ? '' : value === '' ? 'empty' : code(typeof value === 'string' ? value : JSON.stringify(value))

export function configPage(keys: readonly ConfigKeyInfo[]): string {
  const sections = groupBy(keys, ({ path }) => (path.includes('.') ? path.split('.')[0]! : ''))
  const row = ({ path, schema, reload, env, secret, default: value }: ConfigKeyInfo) => [
    code(path),
    kindOf(schema as Schema),
    shownValue(value),
    reload === 'applied' ? 'next heartbeat' : 'restart',
    [
      withFullStop((schema as Schema).description ?? ''),
      ...(env ? [`Variable: ${code(env)}.`] : []),
      ...(secret ? ['Secret.'] : []),
    ].join(' '),
  ]
  const heads = ['Key', 'Type', 'Default', 'Takes effect', 'Meaning']
  const ordered = [...sections].sort(([a], [b]) => a.localeCompare(b))
  return page(
    'Configuration',
    [
      'The keys of `.svc/config.yaml`. Durations are seconds; amounts are US dollars unless the key says otherwise.',
      'Environment variables override the file, which overrides the defaults. A change takes effect at the *next heartbeat*',
      'or after a *restart*. `svc config get <key>` shows a key with its value and its source; `svc config set` writes one',
      'and keeps comments; `svc config validate` checks the whole file. Plugins have their keys under',
      '`plugins.config.<name>`. *Secret* values are shown as `***`.',
    ].join('\n'),
    ordered.flatMap(([section, own]) => [`## ${section || 'Top level'}`, table(heads, own.map(row))]),
    '## Variables',
    'Variables that override configuration keys, and those that every command reads. API keys are listed in [models](../models.md).',
    table(
      ['Variable', 'Meaning'],
      [
        ...keys
          .filter(({ env }) => env)
          .map(({ env, path }) => [env!, `${code(path)}`] as const)
          .sort(([a], [b]) => a.localeCompare(b)),
        ...TOPICS.environment!.rows.filter(([name]) => name !== 'SVC_…' && !keys.some(({ env }) => env === name)),
      ].map(([name, meaning]) => [code(name), meaning]),
    ),
  )
}

export interface EventEntry {
  name: string
  module: string
  schema: z.ZodType
  /** Not stored: only listeners in the emitting process receive it. */
  passing: boolean
}

export function eventsPage(events: readonly EventEntry[], streams: readonly Operation[]): string {
  const row = ({ name, schema, passing }: EventEntry) => {
    const { description = '', properties = {} } = jsonOf(schema)
    return [code(name), `${withFullStop(description)}${passing ? ' *' : ''}`, fieldsOf(properties)]
  }
  return page(
    'Events',
    [
      'Plugins subscribe with `svc.on(name, handler)`; clients read `GET /events` or `svc events`, where each event has this',
      'envelope:',
    ].join('\n'),
    '```json\n{ "seq": 17, "type": "goal_completed", "v": 1, "at": "2026-11-21T09:30:00.000Z", "agent_id": "coder-1a2b3c4d",\n  "cycle_num": 4, "run_id": "run-5e6f7a8b", "data": { "agent_id": "coder-1a2b3c4d", "goal_id": "goal-9c0d1e2f3a4b" } }\n```',
    [
      '`seq` increases; `v` increases when a payload changes incompatibly. Events marked with * are not stored: only plugins in',
      'the process that emits them receive them. Fields are strings by default.',
    ].join('\n'),
    byModule(
      events,
      event => event.module,
      event => event.name,
    ).flatMap(([module, own]) => [`## ${module}`, table(['Event', 'When', 'Data'], own.map(row))]),
    '## Streams',
    'Operations that answer with server-sent events, with the data of each event. A *problem* is a problem document, as in [errors](errors.md).',
    table(
      ['Operation', 'Events'],
      streams
        .toSorted((a, b) => a.name.localeCompare(b.name))
        .map(({ name, events = {} }) => [
          code(name),
          Object.entries(events)
            .map(([event, schema]) => `${code(event)}: ${fieldsOf(jsonOf(schema).properties ?? {}) || 'any'}`)
            .join('; '),
        ]),
    ),
  )
}

const jsonOf = (schema: z.ZodType) => z.toJSONSchema(schema, { unrepresentable: 'any' }) as Schema

function fieldsOf(properties: Readonly<Record<string, Schema>>): string {
  if (isProblem(properties)) return 'problem'
  return Object.entries(properties)
    .map(([field, schema]) => {
      const kind = kindOf(schema)
      return kind === 'string' ? code(field) : `${code(field)} (${kind})`
    })
    .join(', ')
}

/**
 * Returns what the errors in a source mean, by code: the message, with `…` for variable parts, or the docstring of an error
 * whose message is computed or has hardly any fixed words.
 */
export function meaningsIn(source: string): [code: string, meaning: string][] {
  const definitions = source.matchAll(/defineError\(\{\s*code: '(\w+)'[\s\S]*?message: [^=]*=>\s*/g)
  return [...definitions].flatMap(({ 0: head, 1: name, index }) => {
    const message = literalAt(source, index + head.length)
    const isClear = (message?.match(/\w+/g)?.length ?? 0) >= 3
    const meaning = isClear ? message : docstringBefore(source, index)
    return meaning === undefined ? [] : [[name!, meaning] as [string, string]]
  })
}

/** Returns the docstring of the constant whose value starts at `end`, without its tags. */
function docstringBefore(source: string, end: number): string | undefined {
  const [, text] = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*(?:export )?const \w+ = $/.exec(source.slice(0, end)) ?? []
  return text
    ?.replaceAll(/\s*\n\s*\*/g, '')
    .replace(/@\w+[\s\S]*/, '')
    .trim()
}

/** Returns the string or template that starts at `start`, unless it is only part of an expression. */
function literalAt(source: string, start: number): string | undefined {
  const quote = source[start]
  if (quote === undefined || !/['"`]/.test(quote)) return undefined
  let text = ''
  let at = start + 1
  for (; source[at] !== quote; at++) {
    if (quote === '`' && source.startsWith('${', at)) {
      at = holeEnd(source, at + 2)
      text += '…'
    } else if (source[at] === '\\') text += source[++at] === 'n' ? ' ' : source[at]
    else text += source[at]
  }
  return source[at + 1] === ',' ? text.replaceAll(/…+/g, '…') : undefined
}

/** Returns the position of the `}` that ends a template placeholder. */
function holeEnd(source: string, start: number): number {
  for (let at = start, depth = 0; ; at++) {
    if (source[at] === '{') depth++
    else if (source[at] === '}' && depth-- === 0) return at
  }
}

export function errorsPage(
  errors: ReturnType<typeof errorCatalogue>,
  meanings: ReadonlyMap<string, string>,
  operations: readonly Operation[],
): string {
  const MOST = 3
  const returnedBy = (wanted: string) => {
    const names = operations.filter(({ errors = [] }) => errors.some(({ code }) => code === wanted)).map(o => o.name)
    const listed = names.sort().slice(0, MOST).map(code).join(', ')
    return names.length > MOST ? `${listed}, and ${names.length - MOST} more` : listed
  }
  const statuses = groupBy(errors, ({ status }) => status)
  return page(
    'Errors',
    [
      'Every error has a stable `code`. Over HTTP it is a problem document with this status; on the command line, a message',
      'and this exit code; in code, an `SvcError` with both. The message says what is wrong and what to do. It is for people',
      'and may change; `…` marks variable parts. *Returned by* lists the operations that declare the error.',
    ].join('\n'),
    [...statuses]
      .sort(([a], [b]) => a - b)
      .flatMap(([status, own]) => [
        `## ${status}`,
        table(
          ['Code', 'Meaning', 'Exit', 'Returned by'],
          own.map(error => [
            code(error.code),
            prose(meanings.get(error.code) ?? `${error.title}.`),
            String(error.exit),
            returnedBy(error.code),
          ]),
        ),
      ]),
  )
}

export function cliPage(commands: readonly CommandSpec[], moduleOf: (operation: string) => string): string {
  const entry = (spec: CommandSpec) => {
    const described = [
      ...spec.arguments.map(({ field, description }) => [code(field), withFullStop(description)]),
      ...spec.options.map(option => [code(flagsOf(option)), describe(option)]),
    ].filter(([, meaning]) => meaning !== '')
    return [
      `### \`${usageOf(spec)}\``,
      [withFullStop(spec.summary), withFullStop(spec.description)].filter(Boolean).join(' '),
      ...(described.length > 0 ? [table(['Argument or option', 'Meaning'], described)] : []),
    ]
  }
  const own = commands.filter(({ operation }) => operation === null)
  const modules = byModule(
    commands.filter(({ operation }) => operation !== null),
    ({ operation }) => moduleOf(operation!.name),
    ({ path }) => path.join(' '),
  )
  return page(
    'Commands',
    [
      'Every command takes `--json` (print JSON), `--root <folder>` (the project; by default the nearest one at or above the',
      'current folder; also `SVC_ROOT`) and `--help`. Agents are named by id, or by name if it is unique. Output is coloured on',
      'terminals only.',
    ].join('\n'),
    '[Configuration](config.md#variables) lists the environment variables.',
    '## Exit codes',
    table(
      ['Code', 'Meaning'],
      TOPICS['exit-codes']!.rows.map(([number, meaning]) => [code(number), withFullStop(meaning)]),
    ),
    '## Project and processes',
    own.toSorted((a, b) => a.path.join(' ').localeCompare(b.path.join(' '))).flatMap(entry),
    modules.flatMap(([module, specs]) => [`## ${module}`, ...specs.flatMap(entry)]),
  )
}

function describe({ description, default: value, required }: OptionSpec): string {
  const usual = value === null || value === false || value === '' || (Array.isArray(value) && value.length === 0)
  return [
    withFullStop(description),
    ...(required ? ['Required.'] : []),
    ...(usual ? [] : [`Default: ${shownValue(value)}.`]),
  ].join(' ')
}

export interface RestEntry {
  operations: readonly Operation[]
  modules: readonly PluginState[]
  moduleOf(operation: string): string
  toolOf(operation: Operation): string
  /** Tools with an older name of an operation, and the operation's name. */
  aliases: readonly (readonly [tool: string, operation: string])[]
  protocols: readonly { path: string; methods: readonly string[]; open?: boolean }[]
  pages: readonly string[]
}

export function restPage({ operations, modules, moduleOf, toolOf, aliases, protocols, pages }: RestEntry): string {
  const placeOf = ({ http, events }: Operation) => {
    if (!http) return '–'
    const marks = [...(events ? ['stream'] : []), ...(http.open ? ['no key'] : []), ...(http.daemon ? ['daemon'] : [])]
    const status = http.status && http.status !== 200 ? ` → ${http.status}` : ''
    return `${code(`${http.method} ${http.path}`)}${status}${marks.length > 0 ? ` (${marks.join(', ')})` : ''}`
  }
  const commandsOf = ({ cli }: Operation) =>
    [cli ?? []]
      .flat()
      .map(({ usage }) => code(`svc ${usage}`))
      .join(', ') || '–'
  const row = (operation: Operation) => [
    code(operation.name),
    withFullStop(operation.summary),
    placeOf(operation),
    commandsOf(operation),
    operation.mcp ? code(toolOf(operation)) : '–',
  ]
  const aboutModule = (name: string) => modules.find(module => module.name === name)?.description ?? ''
  return page(
    'Operations',
    [
      'All operations by module, with their REST route, command and MCP tool. Inputs and outputs are in the OpenAPI document,',
      '`GET /openapi.json`, which `/docs` and `/redoc` show. Code in the process calls them as `svc.invoke(name, input)`; the',
      'typed client has those with a route.',
    ].join('\n'),
    '*Stream*: the answer is server-sent events. *No key*: needs no key, even if one is set. *Daemon*: 503 if no daemon runs in the process.',
    byModule(
      operations,
      ({ name }) => moduleOf(name),
      ({ name }) => name,
    ).flatMap(([module, own]) => [
      `## ${module}`,
      aboutModule(module),
      table(['Operation', 'Summary', 'REST', 'Command', 'MCP tool'], own.map(row)),
    ]),
    '## Aliases of MCP tools',
    table(
      ['Tool', 'Operation'],
      aliases.map(([tool, operation]) => [code(tool), code(operation)]),
    ),
    '`svc mcp` adds `svc_init`, `svc_start` and `svc_stop`, for the project in the folder where it was started.',
    '## Other routes',
    table(
      ['Route', 'Description'],
      [
        ...protocols
          .toSorted((a, b) => a.path.localeCompare(b.path))
          .map(({ path, methods, open }) => [
            code(`${methods.join(', ')} ${path}`),
            `another protocol${open ? ' (no key)' : ''}`,
          ]),
        ...pages
          .filter(path => !path.startsWith('/assets/'))
          .toSorted()
          .map(path => [code(`GET ${path}`), 'a page (no key), with its files below `/assets/`']),
      ],
    ),
  )
}

export function metricsPage(metrics: readonly Metric[]): string {
  const host = metrics.filter(({ name }) => name.startsWith('svc_'))
  const row = ({ name, type, help }: Metric) => [code(name), type, help]
  const sortByName = (some: readonly Metric[]) => some.toSorted((a, b) => a.name.localeCompare(b.name)).map(row)
  return page(
    'Metrics',
    [
      '`GET /metrics` in the Prometheus text format. Gauges of agents, goals and money cover the whole project, from the',
      'database. Metrics described as “of this process” count from the start of the process that answers.',
    ].join('\n'),
    '## The service',
    table(['Metric', 'Type', 'Meaning'], sortByName(host)),
    '## The process',
    table(['Metric', 'Type', 'Meaning'], sortByName(metrics.filter(metric => !host.includes(metric)))),
  )
}
