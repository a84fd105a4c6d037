import type { ModelRequest } from '../contract.ts'

type Schema = Record<string, unknown>
type ResponseSchema = NonNullable<ModelRequest['response_schema']>

/**
 * Returns a schema for answers in the format of OpenAI's chat completions
 * (https://developers.openai.com/api/docs/guides/structured-outputs).
 */
export function responseFormat({ name, schema }: ResponseSchema) {
  return { type: 'json_schema' as const, json_schema: { name, schema, ...(isStrict(schema) ? { strict: true } : {}) } }
}

/**
 * Returns whether a server can enforce a schema by its grammar. As OpenAI requires, each object must list all of its
 * properties as required and allow no others.
 */
function isStrict(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict)
  if (typeof schema !== 'object' || schema === null) return true
  const { type, properties, required, additionalProperties, ...rest } = schema as Schema
  if (type === 'object' || properties !== undefined) {
    const names = Object.keys((properties ?? {}) as Schema)
    const all = Array.isArray(required) ? new Set(required) : new Set()
    if (additionalProperties !== false || names.some(name => !all.has(name))) return false
  }
  const { default: _, examples: __, enum: ___, const: ____, ...keywords } = rest
  return [...Object.values((properties ?? {}) as Schema), ...Object.values(keywords)].every(isStrict)
}

/** Returns the request for a model without schemas: the prompt describes the answer's form. */
export function promptedSchema(request: ModelRequest): ModelRequest {
  const { response_schema, messages, ...rest } = request
  if (!response_schema) return request
  const asked = `${rest.tools.length > 0 ? 'When you have what you need, answer' : 'Answer'} with one JSON object and nothing else: no words around it, no code fence. It follows this JSON Schema:\n${JSON.stringify(response_schema.schema)}`
  const [first, ...others] = messages
  const content = first?.role === 'system' ? `${first.content}\n\n${asked}` : asked
  return { ...rest, messages: [{ role: 'system', content }, ...(first?.role === 'system' ? others : messages)] }
}
