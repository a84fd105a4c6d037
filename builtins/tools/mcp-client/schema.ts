import type { Schemas } from '#core/runtime/contract'
import { z } from '#kernel'
import { clean, cut } from './clean.ts'

type Schema = Record<string, unknown>

/** What is nested deeper is no schema for a model. */
const DEEPEST = 16
/** What explains, and of that so much. */
const TEXTS = new Set(['description', 'title', '$comment'])
const LONGEST_TEXT = 300
/** Characters of a tool's schema as JSON: about 4,000 tokens. */
export const LONGEST_SCHEMA = 16_000

/** A server's schema for the arguments of a tool, cleaned and bounded. @returns undefined when it is too deep or too large */
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
 * The arguments of a tool by the server's own schema: models get it, and arguments are checked by it. Where it
 * cannot be checked, or not in time, the server has the last word. To be parsed with `safeParseAsync`.
 */
export function parametersOf(schema: Schema, check: Schemas['check']): z.ZodType {
  const names = Object.keys((schema.properties ?? {}) as Schema)
  const shape = Object.fromEntries(names.map(name => [name, z.unknown().optional()]))
  const parameters = z.looseObject(shape).superRefine(async (args, context) => {
    const { issues } = await check(schema, args)
    for (const { path, message } of issues) context.addIssue({ code: 'custom', path: path ? [path] : [], message })
  })
  // In the place of what zod would make of the shape.
  Object.assign(parameters._zod, { toJSONSchema: () => structuredClone(schema), parent: undefined })
  return parameters
}
