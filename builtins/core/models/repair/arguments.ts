import { isTree } from '#lib/tree'
import { adapt, type Conversion, parseJson, type Schema } from './fit.ts'
import { Reader } from './reader.ts'
import { Ambiguous, type Repair } from './repairs.ts'

export interface RepairedArguments {
  /** JSON of an object; the original text if it needed no repair. */
  arguments: string
  /** Names of the repairs, in alphabetical order; empty if none was needed. */
  repaired: readonly (Repair | Conversion | 'envelope')[]
}

/** Keys in which a model may wrap the arguments a second time. */
const ENVELOPES = ['arguments', 'parameters', 'args', 'input', 'kwargs']
const MAX_NESTING = 2

/** Returns arguments as JSON text, also if a server or a plugin's provider returned them already parsed. */
export function textOfArguments(given: unknown): string {
  if (typeof given === 'string') return given
  return given === undefined || given === null ? '' : JSON.stringify(given)
}

/** Returns whether a piece can continue the text before it, which is not so after a complete object. */
export function continues(before: string, piece: string): boolean {
  return !(/^\s*\{/.test(piece) && isTree(parseJson(before)))
}

/**
 * Repairs the arguments of a call if only one reading is possible. Returns undefined if not, or if they are no object.
 * Never invents missing values.
 * @param cut the answer stopped at its limit: incomplete JSON is not repaired then
 */
export function mendArguments(
  raw: string,
  tool: { name: string; parameters: Schema },
  cut: boolean,
): RepairedArguments | undefined {
  const repaired = new Set<RepairedArguments['repaired'][number]>()
  const read = objectIn(raw, tool.parameters, cut, repaired, 0)
  if (!read) return undefined
  const inside = unwrapEnvelope(read, tool, repaired)
  const conversions = new Set<Conversion>()
  const value = adapt(inside, tool.parameters, conversions)
  for (const conversion of conversions) repaired.add(conversion)
  if (repaired.size === 0) return { arguments: raw, repaired: [] }
  return { arguments: JSON.stringify(value), repaired: [...repaired].sort() }
}

function objectIn(
  raw: string,
  schema: Schema,
  cut: boolean,
  repaired: Set<string>,
  nesting: number,
): Schema | undefined {
  const value = parseJson(raw)
  if (value === undefined) return cut ? undefined : lenient(raw, schema, repaired, nesting)
  if (isTree(value)) return value
  if (typeof value === 'string' && nesting < MAX_NESTING) {
    repaired.add('text_in_text')
    return objectIn(value, schema, cut, repaired, nesting + 1)
  }
  if (!Array.isArray(value) || value.length !== 1 || !isTree(value[0])) return undefined
  repaired.add('list_around')
  return value[0]
}

function lenient(raw: string, schema: Schema, repaired: Set<string>, nesting: number): Schema | undefined {
  let text = raw.trim()
  if (!text.includes('"') && /&(?:quot|#34);/.test(text)) {
    repaired.add('entities')
    return objectIn(decodeText(text), schema, false, repaired, nesting)
  }
  if (/^\{\s*\\"/.test(text) && nesting < MAX_NESTING) {
    const inner = parseJson(`"${text}"`)
    if (typeof inner !== 'string') return undefined
    repaired.add('text_in_text')
    return objectIn(inner, schema, false, repaired, nesting + 1)
  }
  if (text.startsWith('{{') && text.endsWith('}}')) {
    repaired.add('double_braces')
    text = text.slice(1, -1)
  }
  const start = text.indexOf('{')
  const before = text.slice(0, Math.max(0, start)).trim()
  if (start < 0 || /[{}[\]]/.test(before.replace(/^\[$/, ''))) return undefined
  try {
    const { value, repairs, end } = new Reader(text, start).read()
    if (!isTree(value)) return undefined
    const around = aroundOf(before, text.slice(end).trim(), repairs)
    for (const repair of [...around, ...repairs]) repaired.add(repair)
    return isSafe(value, schema, repairs) ? value : undefined
  } catch (error) {
    if (error instanceof Ambiguous) return undefined
    throw error
  }
}

/**
 * Returns the repairs for the text around the object.
 * @throws Ambiguous if that text may be part of the object, or another object
 */
function aroundOf(before: string, after: string, repairs: ReadonlySet<Repair>): Repair[] {
  if (before === '' && after === '') return []
  if (before === '[' && after === ']') return ['list_around']
  if (/^```\w*$/.test(before) && /^(?:```)?$/.test(after)) return ['fence']
  if (before === '' && /^[}\]\s]+$/.test(after) && !repairs.has('unescaped_quotes')) return ['extra_closers']
  // Further braces or quotes may be another object, or the rest of a text that ended too soon.
  if (before === '[' || /[{}[\]"]/.test(after)) throw new Ambiguous()
  return before.includes('```') || after.includes('```') ? ['fence', 'prose_around'] : ['prose_around']
}

/** Returns whether the riskiest repairs cannot have lost or split anything, judged by the tool's parameters. */
function isSafe(value: Schema, { properties }: Schema, repairs: ReadonlySet<Repair>): boolean {
  if (!repairs.has('missing_closers') && !repairs.has('unescaped_quotes')) return true
  if (!isTree(properties)) return false
  const whole = Object.keys(properties).every(key => Object.hasOwn(value, key))
  const known = Object.keys(value).every(key => Object.hasOwn(properties, key))
  return (whole || !repairs.has('missing_closers')) && (known || !repairs.has('unescaped_quotes'))
}

/**
 * Returns the arguments inside `{"name": …, "arguments": {…}}` or `{"arguments": {…}}`, unless the tool itself has a
 * parameter of that name.
 */
function unwrapEnvelope(
  value: Schema,
  { name, parameters }: { name: string; parameters: Schema },
  repaired: Set<string>,
): Schema {
  const properties = isTree(parameters.properties) ? parameters.properties : {}
  const [key, ...others] = ENVELOPES.filter(each => Object.hasOwn(value, each))
  if (key === undefined || others.length > 0 || Object.keys(value).some(each => Object.hasOwn(properties, each)))
    return value
  const { [key]: inner, ...rest } = value
  const isNamed = Object.entries(rest).every(
    ([label, each]) =>
      (/^(?:name|tool|function|type)$/.test(label) && /^(?:function)$/.test(String(each))) || each === name,
  )
  const object = typeof inner === 'string' ? parseJson(inner) : inner
  if (!isNamed || !isTree(object)) return value
  repaired.add('envelope')
  return object
}

const ENTITIES: Readonly<Record<string, string>> = {
  quot: '"',
  apos: "'",
  '#39': "'",
  '#34': '"',
  lt: '<',
  gt: '>',
  amp: '&',
}

function decodeText(text: string): string {
  return text.replace(/&(quot|apos|#39|#34|lt|gt|amp);/g, (_, name: string) => ENTITIES[name]!)
}
