import type { Schemas } from '#core/runtime/contract'
import { z } from '#kernel'
import { clean, cut } from './clean.ts'

type Schema = Record<string, unknown>

/** Maximum nesting depth of a schema. */
const DEEPEST = 16
/** Explanatory keys of a schema, and the maximum length of their values. */
const TEXTS = new Set(['description', 'title', '$comment'])
const LONGEST_TEXT = 300
/** Maximum length of a tool's schema as JSON, in characters: about 4,000 tokens. */
export const LONGEST_SCHEMA = 16_000

/**
 * Cleans and limits a server's schema for the arguments of a tool.
 * @returns undefined when it is too deep or too large
 */
export function cleanSchema(raw: Schema): Schema | undefined {
  const cleaned = cleanValue(raw, 0)
  if (cleaned === undefined) return undefined
  const schema = { ...(cleaned as Schema), type: 'object' }
  return JSON.stringify(schema).length <= LONGEST_SCHEMA ? schema : undefined
}

function cleanValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return clean(value)
  if (typeof value !== 'object' || value === null) return value
  if (depth >= DEEPEST) return undefined
  if (Array.isArray(value)) {
    const items = value.map(each => cleanValue(each, depth + 1))
    return items.includes(undefined) ? undefined : items
  }
  const made: Schema = {}
  for (const [key, each] of Object.entries(value)) {
    if (key === '$schema' || key === '__proto__') continue
    const inner = cleanValue(each, depth + 1)
    if (inner === undefined) return undefined
    made[clean(key)] = typeof inner === 'string' && TEXTS.has(key) ? cut(inner, LONGEST_TEXT) : inner
  }
  return made
}

/**
 * Returns a Zod type from a server's own schema, which models receive and arguments are checked against. If the check
 * is impossible or too slow, only the server checks. Parse with `safeParseAsync`.
 */
export function parametersOf(schema: Schema, check: Schemas['check']): z.ZodType {
  const names = Object.keys((schema.properties ?? {}) as Schema)
  const shape = Object.fromEntries(names.map(name => [name, z.unknown().optional()]))
  const parameters = z.looseObject(shape).superRefine(async (args, context) => {
    const { issues } = await check(schema, args)
    for (const { path, message } of issues) context.addIssue({ code: 'custom', path: path ? [path] : [], message })
  })
  // Replaces the JSON schema that Zod would derive from the shape.
  Object.assign(parameters._zod, { toJSONSchema: () => structuredClone(schema), parent: undefined })
  return parameters
}
