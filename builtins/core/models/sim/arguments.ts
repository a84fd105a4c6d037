import type { ToolSpec } from '../contract.ts'
import { oneLine } from './scene.ts'

type Schema = Record<string, unknown>

/**
 * Returns arguments for a tool without a rule: the required parameters of its JSON Schema, filled with words of the
 * request.
 */
export function argumentsFor(
  { parameters }: Pick<ToolSpec, 'parameters'>,
  instructions: string,
): Record<string, unknown> {
  const quotes = [...instructions.matchAll(/[“"'`]([^”"'`]+)[”"'`]/g)].map(match => match[1]!)
  const numbers = [...instructions.matchAll(/-?\d+(?:\.\d+)?/g)].map(match => Number(match[0]))
  const about = /\b(?:for|of|in|about|to|on|with)\s+([\p{L}\p{N}_-]+)[^\p{L}]*$/u.exec(oneLine(instructions))?.[1]

  const fitting = (schema: Schema): unknown => {
    if (schema.default !== undefined) return schema.default
    if (schema.const !== undefined) return schema.const
    if (Array.isArray(schema.enum))
      return schema.enum.find(each => instructions.includes(String(each))) ?? schema.enum[0]
    switch (schema.type) {
      case 'number':
      case 'integer':
        return numbers.shift() ?? schema.minimum ?? 1
      case 'boolean':
        return true
      case 'array':
        return Number(schema.minItems ?? 0) > 0 ? [fitting((schema.items ?? {}) as Schema)] : []
      case 'object':
        return objectOf(schema)
      default:
        return quotes.shift() ?? about ?? oneLine(instructions).slice(0, 200)
    }
  }
  const objectOf = ({ properties = {}, required = [] }: Schema) => {
    const known = properties as Record<string, Schema>
    return Object.fromEntries((required as string[]).map(name => [name, fitting(known[name] ?? {})]))
  }
  return objectOf(parameters)
}
