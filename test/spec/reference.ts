import type { CommandSpec, OptionSpec } from '#interfaces/cli/contract'
import { flagsOf, usageOf } from '#interfaces/cli/parsing/help'
import { TOPICS } from '#interfaces/cli/parsing/topics'
import type { Metric } from '#observability/metrics/contract'
import { type ConfigKeyInfo, type errorCatalogue, type Operation, type PluginState, z } from '../../kernel/index.ts'

/** Renders the pages of the generated reference from declarations alone, independent of their order. */

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
    '<!-- Made from what the program declares; renew it with: npx vitest run test/spec/reference.test.ts -u -->',
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
const sentence = (text: string) => (text === '' || /[.!?]$/.test(text) ? prose(text) : `${prose(text)}.`)

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

/** Describes the valid values of a schema in words. */
function kindOf(schema: Schema): string {
  if (schema.enum) return schema.enum.map(value => code(String(value))).join(', ')
  if (schema.const !== undefined) return code(String(schema.const))
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return [...new Set(choices.map(kindOf))].join(' or ')
  const types = [schema.type ?? 'anything'].flat()
  return types.map(type => kindOfType(type, schema)).join(' or ')
}

function kindOfType(type: string, schema: Schema): string {
  if (type === 'string') return 'text'
  if (type === 'number' || type === 'integer') return `${type}${boundsOf(schema)}`
  if (type === 'array') return `list of ${schema.items ? kindOf(schema.items) : 'anything'}`
  if (type !== 'object') return type
  const { properties, additionalProperties: more } = schema
  if (isProblem(properties)) return 'a problem'
  if (properties && Object.keys(properties).length > 0)
    return `mapping (${Object.keys(properties).map(code).join(', ')})`
  return typeof more === 'object' && more.type !== undefined ? `mapping to ${kindOf(more)}` : 'mapping'
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
      sentence((schema as Schema).description ?? ''),
      ...(env ? [`Variable: ${code(env)}.`] : []),
      ...(secret ? ['Secret.'] : []),
    ].join(' '),
  ]
  const heads = ['Key', 'Takes', 'Default', 'In force', 'Meaning']
  const ordered = [...sections].sort(([a], [b]) => a.localeCompare(b))
  return page(
    'Configuration',
    [
      'The keys of `.svc/config.yaml`. Durations are seconds; amounts are US dollars unless the key says otherwise.',
      'The environment goes before the file, the file before the default. A change is in force on the *next heartbeat*, or',
      'after a *restart*. `svc config get <key>` shows a key with its value and its source, `svc config set` writes',
      'one and keeps comments, `svc config validate` looks the whole file over. Plugins have their keys under',
      '`plugins.config.<name>`. *Secret* values are shown as `***`.',
    ].join('\n'),
    ordered.flatMap(([section, own]) => [`## ${section || 'Top level'}`, table(heads, own.map(row))]),
    '## Variables',
    'Those that stand above a key of the file, and those that every command heeds. Keys of models are in [models](../models.md).',
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
    return [code(name), `${sentence(description)}${passing ? ' *' : ''}`, fieldsOf(properties)]
  }
  return page(
    'Events',
    [
      'Events have these names: to plugins by `svc.on(name, handler)`, and to clients by `GET /events` and',
      '`svc events` (`--follow` goes on). There each is the data of an envelope:',
    ].join('\n'),
    '```json\n{ "seq": 17, "type": "goal_completed", "v": 1, "at": "2026-11-21T09:30:00.000Z", "agent_id": "coder-1a2b3c4d",\n  "cycle_num": 4, "run_id": "run-5e6f7a8b", "data": { "agent_id": "coder-1a2b3c4d", "goal_id": "goal-9c0d1e2f3a4b" } }\n```',
    [
      '`seq` only rises; `v` is raised when a payload changes otherwise than by a further field. Events marked with * are emitted only',
      'in the process in which they happen and are not stored. Fields are strings by default.',
    ].join('\n'),
    byModule(
      events,
      event => event.module,
      event => event.name,
    ).flatMap(([module, own]) => [`## ${module}`, table(['Event', 'When', 'Data'], own.map(row))]),
    '## Streams',
    'Operations that answer with server-sent events, and what each of these holds. *A problem* is a problem document, as in [errors](errors.md).',
    table(
      ['Operation', 'Events'],
      streams
        .toSorted((a, b) => a.name.localeCompare(b.name))
        .map(({ name, events = {} }) => [
          code(name),
          Object.entries(events)
            .map(([event, schema]) => `${code(event)}: ${fieldsOf(jsonOf(schema).properties ?? {}) || 'anything'}`)
            .join('; '),
        ]),
    ),
  )
}

const jsonOf = (schema: z.ZodType) => z.toJSONSchema(schema, { unrepresentable: 'any' }) as Schema

function fieldsOf(properties: Readonly<Record<string, Schema>>): string {
  if (isProblem(properties)) return 'a problem'
  return Object.entries(properties)
    .map(([field, schema]) => {
      const kind = kindOf(schema)
      return kind === 'text' ? code(field) : `${code(field)} (${kind})`
    })
    .join(', ')
}

/** Returns error messages in a source by code, with `…` for variable parts; skips those composed of several strings. */
export function sentencesIn(source: string): [code: string, sentence: string][] {
  const definitions = source.matchAll(/defineError\(\{\s*code: '(\w+)'[\s\S]*?message: [^=]*=>\s*/g)
  return [...definitions].flatMap(({ 0: head, 1: name, index }) => {
    const text = literalAt(source, index + head.length)
    return text === undefined ? [] : [[name!, text] as [string, string]]
  })
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
  sentences: ReadonlyMap<string, string>,
  operations: readonly Operation[],
): string {
  const MOST = 3
  const answeredBy = (wanted: string) => {
    const names = operations.filter(({ errors = [] }) => errors.some(({ code }) => code === wanted)).map(o => o.name)
    const listed = names.sort().slice(0, MOST).map(code).join(', ')
    return names.length > MOST ? `${listed}, and ${names.length - MOST} more` : listed
  }
  const statuses = groupBy(errors, ({ status }) => status)
  return page(
    'Errors',
    [
      'Every error has a stable `code`. Over HTTP it is a problem document with this status, on the command line a sentence',
      'on standard error with this exit code, in code an `SvcError` with both. The sentence, with `…` for what differs, says what',
      'was wrong and what would be right; it is for people and may change. *Answered by* names operations that say of themselves',
      'that they can fail so.',
    ].join('\n'),
    [...statuses]
      .sort(([a], [b]) => a - b)
      .flatMap(([status, own]) => [
        `## ${status}`,
        table(
          ['Code', 'Means', 'Exit', 'Answered by'],
          own.map(error => [
            code(error.code),
            prose(sentences.get(error.code) ?? `${error.title}.`),
            String(error.exit),
            answeredBy(error.code),
          ]),
        ),
      ]),
  )
}

export function cliPage(commands: readonly CommandSpec[], moduleOf: (operation: string) => string): string {
  const entry = (spec: CommandSpec) => {
    const described = [
      ...spec.arguments.map(({ field, description }) => [code(field), sentence(description)]),
      ...spec.options.map(option => [code(flagsOf(option)), describe(option)]),
    ].filter(([, meaning]) => meaning !== '')
    return [
      `### \`${usageOf(spec)}\``,
      [sentence(spec.summary), sentence(spec.description)].filter(Boolean).join(' '),
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
      'Every command takes `--json` (answer with JSON), `--root <folder>` (the project, instead of the nearest one upwards',
      'from here; also `SVC_ROOT`) and `--help`. Agents are named by id, or by name where only one has it. Output is coloured on',
      'terminals only.',
    ].join('\n'),
    'Variables that stand above the configuration are listed with [its keys](config.md#variables).',
    '## Exit codes',
    table(
      ['Code', 'Meaning'],
      TOPICS['exit-codes']!.rows.map(([number, meaning]) => [code(number), sentence(meaning)]),
    ),
    '## Project and processes',
    own.toSorted((a, b) => a.path.join(' ').localeCompare(b.path.join(' '))).flatMap(entry),
    modules.flatMap(([module, specs]) => [`## ${module}`, ...specs.flatMap(entry)]),
  )
}

function describe({ description, default: value, required }: OptionSpec): string {
  const usual = value === null || value === false || value === '' || (Array.isArray(value) && value.length === 0)
  return [
    sentence(description),
    ...(required ? ['Needed.'] : []),
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

export function restPage({
  operations,
  modules,
  moduleOf: roomOf,
  toolOf,
  aliases,
  protocols,
  pages,
}: RestEntry): string {
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
    sentence(operation.summary),
    placeOf(operation),
    commandsOf(operation),
    operation.mcp ? code(toolOf(operation)) : '–',
  ]
  const aboutModule = (name: string) => modules.find(module => module.name === name)?.description ?? ''
  return page(
    'Operations',
    [
      'What an operator can do, by the module that offers it, with the three ways to ask for it: a REST route, a command, a tool',
      'of MCP clients. Code in the process has all of them as `svc.invoke(name, input)`, the typed client those with a route.',
      'What each takes and gives stands in the OpenAPI document, `GET /openapi.json`, which `/docs` and `/redoc` show.',
    ].join('\n'),
    '*Stream*: it answers with server-sent events. *No key*: also when one is set. *Daemon*: 503 where no daemon runs in the process.',
    byModule(
      operations,
      ({ name }) => roomOf(name),
      ({ name }) => name,
    ).flatMap(([module, own]) => [
      `## ${module}`,
      aboutModule(module),
      table(['Operation', 'Does', 'REST', 'Command', 'MCP tool'], own.map(row)),
    ]),
    '## Further names of MCP tools',
    table(
      ['Tool', 'Is'],
      aliases.map(([tool, operation]) => [code(tool), code(operation)]),
    ),
    '`svc mcp` adds `svc_init`, `svc_start` and `svc_stop`, which are about the project in whose folder it was started.',
    '## Other routes',
    table(
      ['Route', 'Is'],
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
          .map(path => [code(`GET ${path}`), 'a page (no key); what it loads lies below `/assets/`']),
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
      '`GET /metrics` in the text format of Prometheus. Gauges of agents, goals and money are of the whole project, from the',
      'database; what says “of this process” is counted in the process that answers, from its start on.',
    ].join('\n'),
    '## The service',
    table(['Metric', 'Type', 'Means'], sortByName(host)),
    '## The process',
    table(['Metric', 'Type', 'Means'], sortByName(metrics.filter(metric => !host.includes(metric)))),
  )
}
