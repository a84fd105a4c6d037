import { type Operation, z } from '#kernel'
import { dateAsText } from '#lib/not-json'
import type { ArgumentSpec, CliCommand, CommandSpec, OptionSpec, ValueType } from '../contract.ts'
import { cliCommandsOf, type Place, readUsage } from './usage.ts'

interface Schema {
  type?: string | string[]
  anyOf?: Schema[]
  items?: Schema
  const?: unknown
  enum?: unknown[]
  default?: unknown
  description?: string
  examples?: unknown[]
  minimum?: number
  properties?: Record<string, Schema>
  required?: string[]
}

/** Returns the commands of operations: one for each entry of `cli`. */
export function commandsOf(operations: readonly Operation[]): CommandSpec[] {
  return operations.flatMap(operation => cliCommandsOf(operation).map(command => commandOf(operation, command)))
}

function commandOf(operation: Operation, command: CliCommand): CommandSpec {
  const converted = z.toJSONSchema(operation.input, { io: 'input', unrepresentable: 'any', override: dateAsText })
  const input = converted as Schema
  const fields = new Map(Object.entries(input.properties ?? {}))
  const { path, places } = readUsage(command.usage)
  const preset = { ...command.defaults, ...command.preset }
  const positional = places.map(place => argumentOf(place, fields))
  const fixed = [...Object.keys(command.preset ?? {}), ...(command.hidden ?? [])]
  const taken = new Set([...fixed, ...positional.map(argument => argument.field)])
  const options = [...fields]
    .filter(([field]) => !taken.has(field))
    .flatMap(([field, schema]) => optionsOf(field, schema, command, input.required ?? []))
  return {
    path,
    summary: command.summary ?? operation.summary,
    description: operation.description ?? '',
    arguments: positional,
    example: command.example ? `svc ${command.example}` : exampleOf(path, [...positional, ...options], fields),
    options,
    operation: {
      name: operation.name,
      preset,
      http: operation.http ? { method: operation.http.method, path: operation.http.path } : null,
      reach: operation.reach ?? 'store',
      rendered: operation.render !== undefined,
      ...(operation.exit ? { judged: true } : {}),
      ...(operation.hidden ? { hides: operation.hidden.name } : {}),
      ...(operation.events && !operation.events.done ? { endless: true } : {}),
    },
  }
}

/** Example values for fields whose schema has none. */
// biome-ignore format: a table of short entries
const EXAMPLES: Readonly<Record<string, string>> = {
  approval_id: 'ap-1a2b3c4d5e6f', goal_id: 'goal-1a2b3c4d5e6f', memory_id: 'mem-1a2b3c4d5e6f7a8b',
  rule_id: 'rule-1a2b3c4d', schedule_id: 'sched-1a2b3c4d', alarm_id: 'alarm-1a2b3c4d',
  session_id: 'sess-1a2b3c4d5e6f', task_id: 'task-1a2b3c4d5e6f', run_id: 'run-20260102-030405-1a2b3c',
  priority: '2', file: 'plugins/hello.ts', value: '5',
}

/** Returns an example call with a value for each required argument and option, quoted for a shell. */
function exampleOf(
  path: readonly string[],
  given: readonly (ArgumentSpec | OptionSpec)[],
  fields: ReadonlyMap<string, Schema>,
): string {
  const values = given
    .filter(({ required }) => required)
    .flatMap(({ field, type, ...option }) => {
      const { examples, anyOf, enum: choices, minimum } = fields.get(field) ?? {}
      const found = examples ?? anyOf?.flatMap(each => each.examples ?? [])
      const fallback = type === 'number' ? (minimum ?? 1) : field.replaceAll('_', '-')
      const value = String(found?.[0] ?? choices?.[0] ?? EXAMPLES[field] ?? fallback)
      if (!('name' in option)) return [value]
      return type === 'boolean' ? [`--${option.name}`] : [`--${option.name}`, value]
    })
  return ['svc', ...path, ...values.map(value => (/^[\w:.,/@%+=-]+$/.test(value) ? value : `"${value}"`))].join(' ')
}

function argumentOf(place: Place, fields: ReadonlyMap<string, Schema>): ArgumentSpec {
  const field = place.name.replaceAll('-', '_')
  const schema = fields.get(field)!
  const { required, rest } = place
  return { field, type: typeOf(schema), ...itemsOf(schema), required, rest, description: schema.description ?? '' }
}

function optionsOf(field: string, schema: Schema, command: CliCommand, required: readonly string[]): OptionSpec[] {
  const list = command.lists?.[field]
  if (!list) return [optionOf(field, schema, command, required)]
  const kinds = new Map((schema.items?.anyOf ?? []).flatMap(({ properties = {} }) => Object.entries(properties)))
  return Object.entries(list).map(([name, key]) => {
    const { const: fixed, description = '' } = kinds.get(key) ?? {}
    const type = fixed === true ? 'boolean' : 'list'
    return { field, name, key, short: null, type, required: false, default: null, choices: null, description }
  })
}

function optionOf(field: string, schema: Schema, command: CliCommand, required: readonly string[]): OptionSpec {
  const preset = command.defaults?.[field]
  return {
    field,
    name:
      command.files?.[field] ?? command.attachments?.[field] ?? command.paths?.[field] ?? field.replaceAll('_', '-'),
    short: command.short?.[field] ?? null,
    type: optionTypeOf(field, schema, command),
    ...itemsOf(schema),
    required: required.includes(field),
    default: preset ?? schema.default ?? null,
    choices: choicesOf(schema),
    // The description names the default over HTTP; the command has its own.
    description: (schema.description ?? '').replace(preset === undefined ? '' : '; default: all', ''),
  }
}

function optionTypeOf(field: string, schema: Schema, command: CliCommand): ValueType {
  if (command.attachments?.[field]) return 'files'
  if (command.files?.[field]) return 'file'
  const type = typeOf(schema)
  if (!command.paths?.[field]) return type
  return type === 'list' ? 'paths' : 'path'
}

function itemsOf({ items, anyOf = [] }: Schema): Pick<ArgumentSpec, 'items'> {
  const found = items ?? anyOf.find(each => each.items)?.items ?? {}
  if (found.type === 'object') return { items: 'json' }
  const type = typeOf(found)
  return type === 'number' || type === 'boolean' ? { items: type } : {}
}

function choicesOf(schema: Schema): string[] | null {
  const found = schema.enum ?? schema.anyOf?.find(each => each.enum)?.enum
  return found ? found.map(String) : null
}

function typeOf(schema: Schema): ValueType {
  const types = [schema, ...(schema.anyOf ?? [])].flatMap(each => each.type ?? []).filter(type => type !== 'null')
  if (types.includes('string') || schema.enum) return 'text'
  if (types.includes('number') || types.includes('integer')) return 'number'
  if (types.includes('boolean')) return 'boolean'
  return types.includes('array') ? 'list' : 'json'
}
