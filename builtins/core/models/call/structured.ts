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
 * Returns whether OpenAI's `strict` may be set, by which the server enforces the schema: each object must list all of
 * its properties as required and allow no others.
 */
function isStrict(schema: unknown): boolean {
  if (Array.isArray(schema)) return schema.every(isStrict)
  if (typeof schema !== 'object' || schema === null) return true
  const { type, properties, required, additionalProperties, ...rest } = schema as Schema
  if (type === 'object' || properties !== undefined) {
    const names = Object.keys((properties ?? {}) as Schema)
    const requiredNames = Array.isArray(required) ? new Set(required) : new Set()
    if (additionalProperties !== false || names.some(name => !requiredNames.has(name))) return false
  }
  // The values of these four keywords are data, not schemas.
  const { default: _, examples: __, enum: ___, const: ____, ...keywords } = rest
  return [...Object.values((properties ?? {}) as Schema), ...Object.values(keywords)].every(isStrict)
}

/** Moves the response schema into the system prompt, for a model that cannot be given one. */
export function withSchemaInPrompt(request: ModelRequest): ModelRequest {
  const { response_schema, messages, ...rest } = request
  if (!response_schema) return request
  const instruction = `${rest.tools.length > 0 ? 'When you have what you need, answer' : 'Answer'} with one JSON object and nothing else: no words around it, no code fence. It follows this JSON Schema:\n${JSON.stringify(response_schema.schema)}`
  const [first, ...others] = messages
  const content = first?.role === 'system' ? `${first.content}\n\n${instruction}` : instruction
  return { ...rest, messages: [{ role: 'system', content }, ...(first?.role === 'system' ? others : messages)] }
}
