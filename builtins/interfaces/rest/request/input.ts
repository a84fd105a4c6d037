import { InvalidInputError, type Issue, type Operation, type z } from '#kernel'
import { MalformedRequestError } from '../contract.ts'
import { pathNames } from './routes.ts'

type Texts = Readonly<Record<string, unknown>>

/**
 * Merges path, query and body of a request into the input of an operation, before it is parsed.
 * Strings of path and query become numbers, booleans, arrays and objects where the schema requires them. An empty path parameter
 * leaves out an optional field, or one with a default, as in `/agents//tools`.
 * @throws InvalidInputError for query parameters and body fields that the operation does not have; MalformedRequestError for control characters in the path
 */
export function inputOf(
  operation: Operation,
  request: { params: Texts; query: Texts; body: Readonly<Record<string, unknown>> | undefined },
): Record<string, unknown> {
  const { params, query, body = {} } = request
  const names = pathNames(operation.http!.path)
  const takesQuery = operation.http!.method === 'GET' || operation.http!.method === 'DELETE'
  const fields = operation.input.shape
  const issues: Issue[] = []
  const input: [string, unknown][] = takesQuery ? [] : Object.entries(body)
  const takesMore = operation.input._zod.def.catchall !== undefined
  for (const path of Object.keys(body)) {
    if (names.includes(path)) issues.push({ path, message: 'is set by the path and must not be in the body' })
    else if (takesQuery || (!takesMore && !Object.hasOwn(fields, path))) {
      issues.push({ path, message: 'is not a known field' })
    }
  }
  for (const [path, text] of Object.entries(query)) {
    if (takesQuery && Object.hasOwn(fields, path) && !names.includes(path)) {
      input.push([path, fromText(text, fields[path]!, path, issues)])
    } else issues.push({ path, message: 'is not a known query parameter' })
  }
  for (const [path, text] of Object.entries(params)) {
    if (hasControls(String(text))) {
      throw new MalformedRequestError({ problem: `The path parameter ${path} contains control characters.` })
    }
    const field = fields[path]
    if (text === '' && field?._zod.optin) continue
    input.push([path, field ? fromText(text, field, path, issues) : text])
  }
  if (issues.length > 0) throw new InvalidInputError({ what: 'The request', issues }, { errors: issues })
  return Object.fromEntries(input)
}

function fromText(text: unknown, schema: z.core.$ZodType, path: string, issues: Issue[]): unknown {
  const { type, element } = definitionOf(schema)
  if (type === 'array') return [text].flat().map((each, n) => fromText(each, element!, `${path}.${n}`, issues))
  if (Array.isArray(text)) issues.push({ path, message: 'must not be given more than once' })
  else if (type === 'number' || type === 'int') {
    if (/^-?\d+(\.\d+)?$/.test(String(text))) return Number(text)
    issues.push({ path, message: 'must be a decimal number' })
  } else if (type === 'boolean') {
    if (text === 'true' || text === '1') return true
    if (text === 'false' || text === '0') return false
    issues.push({ path, message: 'must be true or false' })
  } else if (type === 'object' || type === 'record') {
    try {
      return JSON.parse(String(text))
    } catch {
      issues.push({ path, message: 'must be JSON' })
    }
  }
  return text
}

type Definition = z.core.$ZodTypeDef & { innerType?: z.core.$ZodType; element?: z.core.$ZodType }

/** Returns the definition of a schema without its optional and nullable wrappers. */
function definitionOf(schema: z.core.$ZodType): Definition {
  const definition: Definition = schema._zod.def
  return definition.innerType ? definitionOf(definition.innerType) : definition
}

function hasControls(text: string): boolean {
  for (const character of text) if (character < ' ' || character === '\x7f') return true
  return false
}
