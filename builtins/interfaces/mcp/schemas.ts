import { type Operation, z } from '#kernel'
import { dateAsText } from '#lib/not-json'
import { LISTED, listsAll } from './pages.ts'

type JsonSchema = { type: 'object'; [key: string]: unknown }

/** Input and output of a tool, as JSON Schema. */
export interface ToolSchemas {
  input: JsonSchema
  output: JsonSchema
  /** Whether the output is not an object, and therefore wrapped in one with the field `result`. */
  wrapped: boolean
}

const known = new WeakMap<Operation, ToolSchemas>()

/** Returns the schemas of an operation. For a stream that ends with `done`, the output is the data of that event. */
export function schemasOf(operation: Operation): ToolSchemas {
  let schemas = known.get(operation)
  if (!schemas) {
    schemas = make(operation)
    known.set(operation, schemas)
  }
  return schemas
}

function make(operation: Operation): ToolSchemas {
  const input = convert(operation.input, 'input')
  // Unknown fields are refused, and a client's model should know that beforehand.
  input.additionalProperties ??= false
  if (listsAll(operation)) {
    const { limit } = input.properties as { limit: Record<string, unknown> }
    Object.assign(limit, { default: LISTED, description: 'Maximum number of results (1 to 1000)' })
  }
  const output = outputOf(operation)
  const whole = convert(output, 'output')
  if (whole.type === 'object') return { input: input as JsonSchema, output: whole as JsonSchema, wrapped: false }
  const wrapped = convert(z.object({ result: output }), 'output') as JsonSchema
  return { input: input as JsonSchema, output: wrapped, wrapped: true }
}

function outputOf({ output, events }: Operation): z.ZodType {
  if (!events) return output
  return events.done ?? z.array(z.object({ event: z.string(), data: z.unknown() }))
}

function convert(schema: z.ZodType, io: 'input' | 'output'): Record<string, unknown> {
  const { $schema: _, ...whole } = z.toJSONSchema(schema, { io, unrepresentable: 'any', override: tidy })
  const named = /^#\/\$defs\/(.+)$/.exec(whole.$ref ?? '')?.[1]
  if (named === undefined) return whole
  // A schema with an id is only a reference at the top level, but clients look for a type there, so it is inlined.
  const { $ref, $defs, ...rest } = whole
  const { [named]: own, ...others } = $defs!
  const isUsed = JSON.stringify([own, others]).includes(JSON.stringify($ref))
  return { ...rest, $defs: isUsed ? $defs : others, ...(own as Record<string, unknown>) }
}

/** Removes keywords without information, because models read the schema and each token costs money. */
function tidy({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: Record<string, unknown> }): void {
  dateAsText({ zodSchema, jsonSchema })
  if (jsonSchema.format) delete jsonSchema.pattern
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (JSON.stringify(jsonSchema.propertyNames) === '{"type":"string"}') delete jsonSchema.propertyNames
}
