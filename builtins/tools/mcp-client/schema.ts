import type { Schemas } from '#core/runtime/contract'
import { z } from '#kernel'
import { getIn, isTree } from '#lib/tree'
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

type Portable = (value: unknown, root: Schema) => unknown

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']
const isOfType = (type: string): Portable => {
  return value => (typeof value === type ? value : undefined)
}
const listOf = (each: Portable): Portable => {
  return (value, root) => {
    const kept = Array.isArray(value) ? value.map(item => each(item, root)).filter(item => item !== undefined) : []
    return kept.length > 0 ? kept : undefined
  }
}
const mapOfSchemas: Portable = (value, root) =>
  isTree(value)
    ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, portable(each, root)]))
    : undefined
const schemas = listOf((value, root) => portable(value, root))
const typeName: Portable = value => (TYPES.includes(value as string) ? value : undefined)
const [text, number, boolean] = [isOfType('string'), isOfType('number'), isOfType('boolean')]
const asIs: Portable = value => value

/** For each keyword that all model providers accept, its value in a form that they accept; undefined leaves it out. */
const KEYWORDS: Record<string, Portable> = {
  type: (value, root) => (Array.isArray(value) ? listOf(typeName)(value, root) : typeName(value, root)),
  enum: listOf(asIs),
  const: asIs,
  default: asIs,
  examples: listOf(asIs),
  title: text,
  description: text,
  format: text,
  pattern: value => (typeof value === 'string' && isPattern(value) ? value : undefined),
  required: listOf(text),
  uniqueItems: boolean,
  properties: mapOfSchemas,
  $defs: mapOfSchemas,
  definitions: mapOfSchemas,
  items: (value, root) => (isTree(value) ? portable(value, root) : undefined),
  additionalProperties: (value, root) => (isTree(value) ? portable(value, root) : boolean(value, root)),
  anyOf: schemas,
  oneOf: schemas,
  allOf: schemas,
  $ref: (value, root) => (targetOf(value, root) ? value : undefined),
}
for (const keyword of ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'])
  KEYWORDS[keyword] = number
for (const of of ['Length', 'Items', 'Properties']) KEYWORDS[`min${of}`] = KEYWORDS[`max${of}`] = number

/**
 * Returns a schema without what some model providers refuse, such as other drafts' keywords. They would refuse all
 * requests with it, also those that do not need the tool. It accepts more; the server's own schema is still checked.
 */
function portable(schema: unknown, root: Schema): Schema {
  const made: Schema = {}
  for (const [keyword, value] of isTree(schema) ? Object.entries(schema) : []) {
    const kept = Object.hasOwn(KEYWORDS, keyword) ? KEYWORDS[keyword]!(value, root) : undefined
    if (kept !== undefined) made[keyword] = kept
  }
  if ([made.type].flat().includes('array')) made.items ??= {}
  return made
}

/** Returns the portable schema of all arguments. At the top, providers accept only an object without alternatives. */
function portableArguments(root: Schema): Schema {
  const resolved = (schema: unknown): Schema => {
    const own = isTree(schema) ? schema : {}
    return { ...targetOf(own.$ref, root), ...own }
  }
  const { $ref: _, enum: _values, anyOf, oneOf, allOf, ...whole } = portable(resolved(root), root)
  const [every, some] = [[allOf], [anyOf, oneOf]].map(lists => lists.flatMap(list => list ?? []).map(resolved))
  const properties = [...some!, ...every!, whole].map(each => each.properties as Schema | undefined)
  const required = [...every!, whole].flatMap(each => (each.required as string[] | undefined) ?? [])
  return {
    ...whole,
    type: 'object',
    properties: Object.assign({}, ...properties),
    ...(required.length > 0 ? { required: [...new Set(required)] } : {}),
  }
}

function targetOf($ref: unknown, root: Schema): Schema | undefined {
  if ($ref === '#') return root
  if (typeof $ref !== 'string' || !$ref.startsWith('#/')) return undefined
  const target = getIn(root, $ref.slice(2).split('/'))
  return isTree(target) ? target : undefined
}

function isPattern(text: string): boolean {
  try {
    return Boolean(new RegExp(text, 'u'))
  } catch {
    return false
  }
}

/**
 * Returns a Zod type from a server's own schema. Models receive its portable form; arguments are checked against all of
 * it. If the check is impossible or too slow, only the server checks. Parse with `safeParseAsync`.
 */
export function parametersOf(schema: Schema, check: Schemas['check']): z.ZodType {
  const names = Object.keys(isTree(schema.properties) ? schema.properties : {})
  const shape = Object.fromEntries(names.map(name => [name, z.unknown().optional()]))
  const parameters = z.looseObject(shape).superRefine(async (args, context) => {
    const { issues } = await check(schema, args)
    for (const { path, message } of issues) context.addIssue({ code: 'custom', path: path ? [path] : [], message })
  })
  // Replaces the JSON schema that Zod would derive from the shape.
  Object.assign(parameters._zod, { toJSONSchema: () => portableArguments(schema), parent: undefined })
  return parameters
}
