import type { ModelRequest } from '../contract.ts'

/** Moves the response schema into the system prompt, for a model that cannot be given one. */
export function withSchemaInPrompt(request: ModelRequest): ModelRequest {
  const { response_schema, messages, ...rest } = request
  if (!response_schema) return request
  const instruction = `${rest.tools.length > 0 ? 'When you have what you need, answer' : 'Answer'} with one JSON object and nothing else: no words around it, no code fence. It follows this JSON Schema:\n${JSON.stringify(response_schema.schema)}`
  const [first, ...others] = messages
  const content = first?.role === 'system' ? `${first.content}\n\n${instruction}` : instruction
  return { ...rest, messages: [{ role: 'system', content }, ...(first?.role === 'system' ? others : messages)] }
}
