// biome-ignore-all lint/suspicious/noExplicitAny: a schema may hold anything.
import fc, { type Arbitrary } from 'fast-check'
import { at, type OpenApiDocument } from './document.ts'

/** Texts that people type, and texts that no one should send. */
export const texts: Arbitrary<string> = fc.oneof(
  fc.string({ maxLength: 40 }),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.constantFrom(
    '',
    ' ',
    '\0',
    '\x1b[2J\x1b]0;x\x07',
    '\r\n\r\n',
    '\u202etxt.exe',
    '\u200b\ufeff',
    '\ud800',
    '💥'.repeat(2001),
    '../../etc/passwd',
    '..%2f..%2f.svc%2fconfig.yaml',
    '__proto__',
    'constructor',
    '*',
    '-1',
    '1e3',
    'null',
    'true',
    "' OR 1=1 --",
    '"; DROP TABLE agents; --',
    '%s%n',
    '{{7*7}}',
    '<script>alert(1)</script>',
    'a\nb: c',
    '9'.repeat(400),
    'x'.repeat(4001),
    'x'.repeat(70_000),
  ),
)

const numbers: Arbitrary<unknown> = fc.constantFrom(
  0,
  -0,
  -1,
  1,
  0.5,
  200,
  201,
  1000,
  1001,
  2 ** 31,
  2 ** 53,
  -(2 ** 53),
  1e21,
  1e308,
  5e-324,
  '7',
  '1e3',
  ' 1',
)

/** Any JSON value. */
export const anything: Arbitrary<unknown> = fc.oneof(
  texts,
  numbers,
  fc.constantFrom(null, true, false, [], {}, [[]], { a: { b: [null] } }, nested(40)),
  fc.jsonValue({ maxDepth: 3 }),
)

function nested(depth: number): unknown {
  return depth === 0 ? 1 : [nested(depth - 1)]
}

/**
 * Generates values that a schema of the document describes. `knownValue` generates fields that refer to something
 * existing, such as `agent_id`.
 */
export function fromSchema(
  document: OpenApiDocument,
  schema: any,
  knownValue: (field: string) => Arbitrary<unknown> | undefined,
  depth = 0,
): Arbitrary<any> {
  const below = (part: any) => fromSchema(document, part, knownValue, depth + 1)
  if (schema.$ref) return below(at(document, schema.$ref.slice(1)))
  if (schema.examples) return fc.oneof({ weight: 2, arbitrary: fc.constantFrom(...schema.examples) }, bare())
  return bare()

  function bare(): Arbitrary<any> {
    if ('const' in schema) return fc.constant(schema.const)
    if (schema.enum) return fc.constantFrom(...schema.enum)
    const options = schema.anyOf ?? schema.oneOf
    if (options) return fc.oneof(...options.map(below))
    if (schema.allOf)
      return fc.tuple(...schema.allOf.map(below)).map(parts => Object.assign({}, ...(parts as object[])))
    if (Array.isArray(schema.type)) return fc.oneof(...schema.type.map((type: string) => below({ ...schema, type })))
    switch (schema.type) {
      case 'object': {
        if (depth > 5) return fc.constant({})
        const { properties = {}, required = [], additionalProperties = false } = schema
        const named = Object.entries(properties).map(([name, part]) => [name, knownValue(name) ?? below(part)] as const)
        const record = fc.record(Object.fromEntries(named), { requiredKeys: required })
        if (additionalProperties === false) return record
        const more = fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), fc.jsonValue({ maxDepth: 1 }), {
          maxKeys: 3,
        })
        return fc.tuple(record, more).map(([fields, others]) => ({ ...others, ...fields }))
      }
      case 'array': {
        const { minItems = 0, maxItems = minItems + 3, items = {} } = schema
        return fc.array(below(items), { minLength: minItems, maxLength: Math.min(maxItems, minItems + 3) })
      }
      case 'string': {
        const { minLength = 0, pattern, format } = schema
        const { maxLength = pattern ? 80 : 40 } = schema
        if (format === 'date-time') return fc.date({ noInvalidDate: true }).map(date => date.toISOString())
        if (pattern) return fc.stringMatching(new RegExp(pattern), { maxLength: Math.max(1, Math.min(maxLength, 80)) })
        return fc.string({ minLength, maxLength: Math.min(maxLength, minLength + 40) })
      }
      case 'integer': {
        const {
          exclusiveMinimum: above,
          minimum = above === undefined ? -1000 : above + 1,
          maximum = minimum + 2000,
        } = schema
        return fc.oneof(
          fc.constantFrom(minimum, maximum),
          fc.integer({ min: minimum, max: Math.min(maximum, 2 ** 31) }),
        )
      }
      case 'number': {
        const {
          exclusiveMinimum: above,
          minimum = above === undefined ? -1e6 : above + 0.5,
          maximum = minimum + 1e6,
        } = schema
        return fc.double({ min: minimum, max: maximum, noNaN: true })
      }
      case 'boolean':
        return fc.boolean()
      case 'null':
        return fc.constant(null)
      default:
        return fc.jsonValue({ maxDepth: 2 })
    }
  }
}
