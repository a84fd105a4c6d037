import type { ToolSpec } from '../contract.ts'
import { oneLine } from './scene.ts'

type Schema = Record<string, unknown>

/** Arguments for a tool that no rule knows: what its JSON Schema requires, taken from the words of the request. */
export function argumentsFor({ parameters }: ToolSpec, asked: string): Record<string, unknown> {
  const { properties = {}, required = [] } = parameters as { properties?: Record<string, Schema>; required?: string[] }
  const quotes = [...asked.matchAll(/[“"'`]([^”"'`]+)[”"'`]/g)].map(match => match[1]!)
  const numbers = [...asked.matchAll(/-?\d+(?:\.\d+)?/g)].map(match => Number(match[0]))
  const about = /\b(?:for|of|in|about|to|on|with)\s+([\p{L}\p{N}_-]+)[^\p{L}]*$/u.exec(oneLine(asked))?.[1]

  const fitting = (schema: Schema): unknown => {
    if (schema.default !== undefined) return schema.default
    if (schema.const !== undefined) return schema.const
    if (Array.isArray(schema.enum)) return schema.enum.find(each => asked.includes(String(each))) ?? schema.enum[0]
    switch (schema.type) {
      case 'number':
      case 'integer':
        return numbers.shift() ?? schema.minimum ?? 1
      case 'boolean':
        return true
      case 'array':
        return []
      case 'object':
        return {}
      default:
        return quotes.shift() ?? about ?? oneLine(asked).slice(0, 200)
    }
  }
  return Object.fromEntries(required.map(name => [name, fitting(properties[name] ?? {})]))
}
