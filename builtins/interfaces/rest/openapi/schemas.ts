import { z } from '#kernel'
import { dateAsText } from '#lib/not-json'

export type Json = Record<string, unknown>

/** Returns a reference to a component of the document. */
export function ref(kind: 'schemas' | 'responses' | 'parameters' | 'headers', name: string): Json {
  return { $ref: `#/components/${kind}/${name}` }
}

/** Components that the entries of one document share, by name. */
export class Components {
  readonly schemas: Record<string, Json> = {}
  readonly responses: Record<string, Json> = {}
  /** Schema of each name as text, before its references were rewritten for the document. */
  readonly #originals = new Map<string, string>()

  /**
   * Converts a zod schema to JSON Schema. A part with an id (`.meta({ id })`) becomes a component and is referenced.
   * `name` becomes the component's name for a recursive schema, and resolves clashes between equal ids.
   */
  embed(name: string, schema: z.ZodType, io: 'input' | 'output'): Json {
    const converted = z.toJSONSchema(schema, { io, unrepresentable: 'any', override: tidy }) as Json
    const { $schema: _, $defs = {}, ...root } = converted
    const named = Object.entries($defs as Record<string, Json>)
    const names = new Map(named.map(([id, below]) => [id, this.#nameOf(id, name, JSON.stringify(below))]))
    const withPointers = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(withPointers)
      if (typeof value !== 'object' || value === null) return value
      return Object.fromEntries(
        Object.entries(value).map(([key, below]) => {
          if (key !== '$ref' || typeof below !== 'string') return [key, withPointers(below)]
          return [key, `#/components/schemas/${below === '#' ? name : names.get(below.replace('#/$defs/', ''))}`]
        }),
      )
    }
    for (const [id, below] of named) this.schemas[names.get(id)!] = withPointers(below) as Json
    const whole = withPointers(root) as Json
    if (!JSON.stringify(whole).includes(`"#/components/schemas/${name}"`)) return whole
    this.schemas[name] = whole
    return ref('schemas', name)
  }

  /** Returns what a reference to a schema or a response points to; returns anything else unchanged. */
  resolve(value: Json): Json {
    if (typeof value.$ref !== 'string') return value
    const [kind, name] = value.$ref.split('/').slice(2) as ['schemas' | 'responses', string]
    return this[kind][name] ?? {}
  }

  #nameOf(id: string, owner: string, original: string): string {
    const name = id.startsWith('__') ? `${owner}.${id}` : id
    const known = this.#originals.get(name)
    if (known !== undefined && known !== original) return `${owner}.${id}`
    this.#originals.set(name, original)
    return name
  }
}

/** Lists the properties of a record whose keys are all known, because generators of clients read only `properties`. */
function nameProperties(schema: Json): void {
  const { enum: names } = (schema.propertyNames ?? {}) as { enum?: string[] }
  if (names === undefined || schema.required === undefined) return
  schema.properties = Object.fromEntries(names.map(name => [name, schema.additionalProperties]))
  schema.additionalProperties = false
  delete schema.propertyNames
}

/**
 * Removes redundant keywords (the pattern beside a format, default bounds of integers, string property names) and adds
 * discriminators.
 */
function tidy({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: Json }): void {
  dateAsText({ zodSchema, jsonSchema })
  if (jsonSchema.format) delete jsonSchema.pattern
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (JSON.stringify(jsonSchema.propertyNames) === '{"type":"string"}') delete jsonSchema.propertyNames
  nameProperties(jsonSchema)
  const { discriminator } = zodSchema._zod.def as { discriminator?: string }
  if (discriminator !== undefined) jsonSchema.discriminator = { propertyName: discriminator }
}
