import { type Operation, z } from '../../kernel/index.ts'

interface Schema {
  $ref?: string
  $defs?: Record<string, Schema>
  const?: unknown
  enum?: unknown[]
  type?: string | string[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  items?: Schema
  prefixItems?: Schema[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  description?: string
}

/** Returns the source of `client-operations.ts`: inputs, outputs, events and addresses of these operations. */
export function clientSource(operations: readonly Operation[]): string {
  const served = operations.filter(({ http }) => http).sort((a, b) => (a.name < b.name ? -1 : 1))
  const named = new Map<string, string>()
  const types = served.map(operation => typesOf(operation, named))
  const routes = served.map(({ name, http, events }) => {
    const stream = events ? `, stream: '${events.done ? 'ends' : 'goes on'}'` : ''
    const [media] = http!.produces?.split(';') ?? []
    const produces = media ? `, produces: '${media}'` : ''
    return `  '${name}': { method: '${http!.method}', path: '${http!.path}'${stream}${produces} },`
  })
  return `// biome-ignore-all format: made from the operations; make it anew with: npx vitest run test/interfaces/client-operations.test.ts -u

/** What each operation takes and gives. */
export interface Operations {
${types.join('\n')}
}
${[...named].map(([name, type]) => `\nexport type ${name} = ${type}\n`).join('')}
/** Where each operation is. */
export const OPERATIONS = {
${routes.join('\n')}
} as const
`
}

function typesOf({ name, summary, input, output, events, http }: Operation, named: Map<string, string>): string {
  const type = (schema: z.ZodType, io: 'input' | 'output') => typeOfZod(schema, io, name, named, http)
  const gives = events
    ? `events: { ${Object.entries(events)
        .map(([event, schema]) => `${event}: ${type(schema, 'output')}`)
        .join('; ')} }`
    : `output: ${type(output, 'output')}`
  return `  /** ${summary}. */\n  '${name}': { input: ${type(input, 'input')}; ${gives} }`
}

function typeOfZod(
  schema: z.ZodType,
  io: 'input' | 'output',
  operation: string,
  named: Map<string, string>,
  http: Operation['http'],
): string {
  const root = z.toJSONSchema(schema, { io, unrepresentable: 'any' }) as Schema
  if (io === 'input') {
    for (const field of http?.hidden ?? []) delete root.properties![field]
    const inPath = [...http!.path.matchAll(/\{(\w+)\}/g)].map(match => match[1]!)
    root.required = [...(root.required ?? []), ...inPath]
  }
  const own = operation.replace(/(^|[._])(\w)/g, (_, _bar, letter: string) => letter.toUpperCase())
  let recursive = false
  const nameOf = (ref: string) => {
    recursive ||= ref === '#'
    const id = ref.replace('#/$defs/', '')
    if (ref === '#') return own
    if (id.startsWith('__')) return `${own}${id.replace(/\W|_/g, '')}`
    return io === 'input' ? `${id}Input` : id
  }
  const type = (each: Schema): string => typeOf(each, nameOf)
  for (const [id, each] of Object.entries(root.$defs ?? {})) named.set(nameOf(`#/$defs/${id}`), type(each))
  const made = type(root)
  if (!recursive) return made
  named.set(own, made)
  return own
}

function typeOf(schema: Schema, nameOf: (ref: string) => string): string {
  const type = (each: Schema): string => typeOf(each, nameOf)
  const { type: types } = schema
  if (schema.$ref) return nameOf(schema.$ref)
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum) return union(schema.enum.map(literal))
  const some = schema.anyOf ?? schema.oneOf
  if (some) return union(some.map(type))
  if (schema.allOf) return schema.allOf.map(type).join(' & ')
  if (Array.isArray(types)) return union(types.map(each => type({ ...schema, type: each })))
  if (types === 'array') {
    if (schema.prefixItems) return `[${schema.prefixItems.map(type).join(', ')}]`
    const item = schema.items ? type(schema.items) : 'unknown'
    const isObject = schema.items?.type === 'object'
    return /[|&]/.test(item) && !isObject ? `(${item})[]` : `${item}[]`
  }
  if (types === 'object') return objectOf(schema, type)
  if (types === 'integer') return 'number'
  return types ?? 'unknown'
}

function objectOf({ properties = {}, required = [], additionalProperties }: Schema, type: (schema: Schema) => string) {
  const fields = Object.entries(properties).map(([name, schema]) => {
    const optional = !required.includes(name)
    const key = /^[a-z_$][\w$]*$/i.test(name) ? name : literal(name)
    return `${key}${optional ? '?' : ''}: ${type(schema)}${optional ? ' | undefined' : ''}`
  })
  const rest = typeof additionalProperties === 'object' ? type(additionalProperties) : 'unknown'
  if (fields.length === 0) return additionalProperties ? `Record<string, ${rest}>` : 'Record<never, never>'
  const object = `{ ${fields.join('; ')} }`
  return additionalProperties ? `${object} & Record<string, ${rest}>` : object
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ')
}

function literal(value: unknown): string {
  return typeof value === 'string' ? `'${value.replace(/[\\']/g, '\\$&')}'` : String(JSON.stringify(value))
}
