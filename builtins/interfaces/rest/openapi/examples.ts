import type { Components, Json } from './schemas.ts'

/**
 * Returns an example of a schema: its own (`.meta({ examples: […] })`), or one built from its parts. `sparse` leaves
 * out optional fields without an example of their own, as a caller would. `within` lists the enclosing references, so
 * that a recursive schema gets only one level.
 */
export function exampleOf(
  components: Components,
  schema: Json,
  sparse: boolean,
  within: readonly unknown[] = [],
): unknown {
  const whole = { ...components.resolve(schema), ...schema }
  const { const: only, enum: options } = whole as { const?: unknown; enum?: unknown[] }
  const value = givenExample(whole) ?? only ?? options?.[0]
  if (value !== undefined) return value
  const inside = schema.$ref === undefined ? within : [...within, schema.$ref]
  const below = (part: unknown) => exampleOf(components, part as Json, sparse, inside)
  const again = (part: Json) => part.$ref !== undefined && inside.includes(part.$ref)
  for (const options of [whole.anyOf, whole.oneOf] as (Json[] | undefined)[]) {
    if (options) return below(options.find(option => option.type !== 'null' && !again(option)) ?? { type: 'null' })
  }
  const [type] = [whole.type].flat()
  if (type === 'object') {
    const { properties = {}, required = [] } = whole as { properties?: Record<string, Json>; required?: string[] }
    const named = Object.entries(properties).filter(([name, property]) => {
      return (
        !sparse ||
        required.includes(name) ||
        givenExample({ ...components.resolve(property), ...property }) !== undefined
      )
    })
    return Object.fromEntries(named.map(([name, property]) => [name, below(property)]))
  }
  if (type === 'array') return whole.items && !again(whole.items as Json) ? [below(whole.items)] : []
  if (type === 'string') return textOf(whole)
  if (type === 'integer' || type === 'number') return (whole.minimum as number | undefined) ?? 0
  return type === 'boolean' ? false : type === undefined ? {} : null
}

function givenExample({ example, examples }: Json): unknown {
  return example ?? (examples as unknown[] | undefined)?.[0]
}

function textOf({ format, minLength = 0 }: Json): string {
  if (format === 'date-time') return '2026-01-31T09:00:00.000Z'
  if (format === 'uri') return 'https://example.org/'
  return 'text'.padEnd(minLength as number, ' text')
}
