import type { z } from '#kernel'

/** Describes dates, for which JSON Schema has no type, as strings. For `override` of `z.toJSONSchema`. */
export function dateAsText({
  zodSchema,
  jsonSchema,
}: {
  zodSchema: z.core.$ZodTypes
  jsonSchema: { type?: unknown }
}): void {
  if (zodSchema._zod.def.type === 'date') jsonSchema.type = 'string'
}

/** Types of zod whose values JSON does not have. With `z.coerce`, they are made from those that it has. */
const NOT_JSON: readonly string[] = ['bigint', 'date', 'map', 'set', 'symbol']
/** Those that `JSON.stringify` loses or refuses. */
export const NOT_WRITABLE: readonly string[] = NOT_JSON.filter(type => type !== 'date')

/** Returns the first field for which JSON has no value: none that a model or a request can send, by default. */
export function findNotJson(
  schema: z.ZodType,
  types = NOT_JSON,
  path = '',
  seen = new Set<z.ZodType>(),
): Record<'path' | 'type', string> | undefined {
  if (seen.has(schema)) return undefined
  seen.add(schema)
  const def: {
    type: string
    coerce?: boolean
    shape?: Record<string, z.ZodType>
    innerType?: z.ZodType
    element?: z.ZodType
  } = schema.def
  if (types.includes(def.type) && !def.coerce) return { path, type: def.type }
  const inner = def.innerType ?? def.element
  if (inner) return findNotJson(inner, types, path, seen)
  for (const [name, field] of Object.entries(def.shape ?? {})) {
    const found = findNotJson(field, types, path === '' ? name : `${path}.${name}`, seen)
    if (found) return found
  }
  return undefined
}
