import { isTree } from '#lib/tree'

/** JSON Schema of a tool's parameters. */
export type Schema = Record<string, unknown>

/** Conversion of a value to the type that the tool expects, without changing its meaning. */
export type Conversion =
  | 'boolean_from_text'
  | 'enum_spelling'
  | 'key_spelling'
  | 'list_around'
  | 'list_from_single'
  | 'null_omitted'
  | 'number_from_text'
  | 'text_from_number'
  | 'text_in_text'

/** Maximum number of values, options, keys and choices examined per value: more would block the event loop. */
const MAX_STEPS = 30_000
class TooMuchError extends Error {}
let left = 0

function step(count = 1): void {
  left -= count
  if (left < 0) throw new TooMuchError()
}

const DECIMAL = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/
/** Separators: a single value with one of these may be several values. */
const SEVERAL = /[,;\n|]/

/**
 * Converts a value to the types of the schema where this loses nothing. All else stays unchanged, including values too
 * large to examine. Adds each conversion to `done`. Reads only keywords that state a type; validation is left to the
 * tool's own schema.
 */
export function adapt(value: unknown, schema: Schema, done: Set<Conversion>): unknown {
  left = MAX_STEPS
  try {
    return fitValue(value, schema, done)
  } catch (error) {
    if (!(error instanceof TooMuchError)) throw error
    done.clear()
    return value
  }
}

function fitValue(value: unknown, schema: unknown, done: Set<Conversion>): unknown {
  step()
  if (!isTree(schema) || matchesType(value, schema)) return isTree(schema) ? fitInside(value, schema, done) : value
  const options = optionsOf(schema)
  if (options.length > 1) {
    const ways = options.flatMap(option => {
      const conversions = new Set<Conversion>()
      const converted = fitValue(value, option, conversions)
      return matchesType(converted, option) ? [{ converted, conversions }] : []
    })
    const [way] = ways
    if (ways.length !== 1 || !way) return value
    for (const conversion of way.conversions) done.add(conversion)
    return way.converted
  }
  const only = options[0] ?? schema
  const conversion = convert(value, only)
  if (!conversion) return fitInside(value, only, done)
  done.add(conversion.how)
  return fitInside(conversion.value, only, done)
}

/** Converts what is inside a value that already has the right type. */
function fitInside(value: unknown, schema: Schema, done: Set<Conversion>): unknown {
  if (Array.isArray(value)) return value.map(item => fitValue(item, schema.items, done))
  if (!isTree(value) || !isTree(schema.properties)) return value
  const properties = schema.properties
  const required = new Set(Array.isArray(schema.required) ? schema.required : [])
  const result: Schema = {}
  for (const [given, each] of Object.entries(value)) {
    const key = matchKey(given, value, properties, done)
    const property = properties[key]
    // Many models send null for parameters that they omit.
    if (each === null && isTree(property) && !required.has(key) && !matchesType(null, property))
      done.add('null_omitted')
    else result[key] = fitValue(each, property, done)
  }
  return result
}

/**
 * Returns the property that a key means: one that differs only in case, hyphens and underscores, unless the value has
 * that property too.
 */
function matchKey(key: string, value: Schema, properties: Schema, done: Set<Conversion>): string {
  if (Object.hasOwn(properties, key)) return key
  const [names, keys] = [Object.keys(properties), Object.keys(value)]
  step(names.length + keys.length)
  const bare = plain(key)
  const matches = names.filter(name => plain(name) === bare)
  const alike = keys.filter(other => plain(other) === bare)
  if (matches.length !== 1 || alike.length !== 1) return key
  done.add('key_spelling')
  return matches[0]!
}

/** Normalizes a name by removing the differences between spellings. */
export function plain(name: string): string {
  return name.replace(/[-_\s]/g, '').toLowerCase()
}

function convert(value: unknown, schema: Schema): { value: unknown; how: Conversion } | undefined {
  const types = typesOf(schema)
  const takes = (type: string) => types.includes(type)
  if (typeof value === 'string') {
    const choice = choiceOf(value, schema)
    if (choice !== undefined) return { value: choice, how: 'enum_spelling' }
    const text = value.trim()
    if (takes('boolean') && /^(?:true|false)$/i.test(text)) {
      return { value: text.toLowerCase() === 'true', how: 'boolean_from_text' }
    }
    if ((takes('number') || takes('integer')) && DECIMAL.test(text)) {
      const number = Number(text)
      const exact = Number.isInteger(number) ? Number.isSafeInteger(number) : !takes('integer') || takes('number')
      if (exact && text.replace('-', '').length <= 16) return { value: number, how: 'number_from_text' }
    }
    if (/^[{[]/.test(text) && (takes('object') || takes('array'))) {
      const inner = parseJson(text)
      if (takes(Array.isArray(inner) ? 'array' : 'object') && typeof inner === 'object' && inner !== null) {
        return { value: inner, how: 'text_in_text' }
      }
    }
  }
  if (types.length === 1 && takes('string') && typeof value === 'number' && Number.isSafeInteger(value)) {
    return schema.enum ? undefined : { value: String(value), how: 'text_from_number' }
  }
  if (types.length === 1 && takes('array') && value !== null && !Array.isArray(value)) {
    const isOne =
      typeof value !== 'string' || (value.trim() !== '' && !SEVERAL.test(value) && !/^[{[]/.test(value.trim()))
    if (isOne && isTree(schema.items) && matchesType(value, schema.items))
      return { value: [value], how: 'list_from_single' }
  }
  if (Array.isArray(value) && value.length === 1 && matchesType(value[0], schema))
    return { value: value[0], how: 'list_around' }
  return undefined
}

function choiceOf(value: string, schema: Schema): unknown {
  if (!Array.isArray(schema.enum)) return undefined
  step(schema.enum.length)
  const bare = plain(value)
  const alike = schema.enum.filter(choice => typeof choice === 'string' && plain(choice) === bare)
  return alike.length === 1 ? alike[0] : undefined
}

/**
 * Returns whether a value has a type that the schema accepts. Looks inside the value only to choose between options.
 */
function matchesType(value: unknown, schema: unknown): boolean {
  step()
  if (!isTree(schema)) return true
  if ('const' in schema) return value === schema.const
  if (Array.isArray(schema.enum)) {
    step(schema.enum.length)
    return schema.enum.includes(value)
  }
  const options = schema.anyOf ?? schema.oneOf
  if (Array.isArray(options)) return options.some(option => matchesType(value, option))
  if (value === null && Array.isArray(schema.type)) return schema.type.includes('null')
  const types = typesOf(schema)
  if (types.length > 0 && !types.some(type => isA(value, type))) return false
  if (!isTree(value) || !Array.isArray(schema.required)) return true
  return schema.required.every(key => Object.hasOwn(value, String(key)))
}

/** Returns the alternatives of a schema, without null. A schema with one type is its own only alternative. */
function optionsOf(schema: Schema): Schema[] {
  const options = schema.anyOf ?? schema.oneOf
  return Array.isArray(options) ? options.filter(option => isTree(option) && option.type !== 'null') : []
}

function typesOf({ type, enum: choices }: Schema): string[] {
  if (typeof type === 'string') return [type]
  if (Array.isArray(type)) return type.map(String).filter(name => name !== 'null')
  return Array.isArray(choices) && choices.every(choice => typeof choice === 'string') ? ['string'] : []
}

function isA(value: unknown, type: string): boolean {
  if (type === 'integer') return Number.isInteger(value)
  if (type === 'array') return Array.isArray(value)
  if (type === 'null') return value === null
  if (type === 'object') return isTree(value)
  return typeof value === type
}

/** Parses JSON; undefined if it is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
