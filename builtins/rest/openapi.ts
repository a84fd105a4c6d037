import { type Operation, z } from '#kernel'
import { PROBLEM_TYPE, Problem } from './problem.ts'
import { pathNames } from './routes.ts'

type Json = Record<string, unknown>

/** The OpenAPI 3.1 document of these operations, from the very schemas that check their requests and answers. */
export function openapiDocument(operations: readonly Operation[], version: string): Json {
  const schemas: Json = {}
  const paths: Record<string, Json> = {}
  const embed = (name: string, schema: z.ZodType, io: 'input' | 'output') => embedded(name, schema, io, schemas)
  schemas.Problem = embed('Problem', Problem, 'output')
  for (const operation of operations) {
    if (!operation.http) continue
    const { method, path } = operation.http
    paths[path] = { ...paths[path], [method.toLowerCase()]: describe(operation, embed) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'svc', version, description: 'Keeps autonomous agents alive, and lets you see and steer them.' },
    servers: [{ url: '/' }],
    paths,
    components: {
      schemas,
      securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Svc-Key' } },
      parameters: {
        tenant: {
          name: 'X-Svc-User',
          in: 'header',
          description: 'Whose request it is',
          schema: { type: 'string', pattern: '^[A-Za-z0-9._@-]{1,128}$', default: 'default' },
        },
      },
      responses: {
        problem: {
          description: 'What went wrong',
          content: { [PROBLEM_TYPE]: { schema: { $ref: '#/components/schemas/Problem' } } },
        },
      },
    },
    security: [{}, { key: [] }],
  }
}

type Embed = (name: string, schema: z.ZodType, io: 'input' | 'output') => Json

function describe({ name, summary, description, input, output, http, errors = [] }: Operation, embed: Embed): Json {
  const { method, path, open, status = 200, produces = 'application/json' } = http!
  const { properties = {}, required = [] } = embed(`${name}.input`, input, 'input') as {
    properties?: Record<string, Json>
    required?: string[]
  }
  const inPath = pathNames(path)
  const others = Object.keys(properties).filter(field => !inPath.includes(field))
  const inQuery = method === 'GET' || method === 'DELETE' ? others : []
  const inBody = inQuery.length > 0 ? [] : others
  const parameter = (field: string, place: 'path' | 'query') => {
    const { description: about, ...schema } = properties[field] ?? { type: 'string' }
    const needed = place === 'path' || required.includes(field)
    return { name: field, in: place, required: needed, schema, ...(about ? { description: about } : {}) }
  }
  return {
    operationId: name,
    tags: [name.split('.')[0]],
    summary,
    ...(description ? { description } : {}),
    ...(open ? { security: [] } : {}),
    parameters: [
      ...inPath.map(field => parameter(field, 'path')),
      ...inQuery.map(field => parameter(field, 'query')),
      { $ref: '#/components/parameters/tenant' },
    ],
    ...(inBody.length > 0 ? { requestBody: body(inBody, properties, required) } : {}),
    responses: {
      [status]:
        status === 204
          ? { description: 'Done' }
          : { description: summary, content: { [produces]: { schema: embed(`${name}.output`, output, 'output') } } },
      ...Object.fromEntries(errors.map(error => [error.status, { $ref: '#/components/responses/problem' }])),
      default: { $ref: '#/components/responses/problem' },
    },
  }
}

function body(
  fields: readonly string[],
  properties: Readonly<Record<string, Json>>,
  required: readonly string[],
): Json {
  const needed = required.filter(field => fields.includes(field))
  const schema = {
    type: 'object',
    properties: Object.fromEntries(fields.map(field => [field, properties[field]])),
    ...(needed.length > 0 ? { required: needed } : {}),
  }
  return { required: needed.length > 0, content: { 'application/json': { schema } } }
}

/** A zod schema as JSON Schema, with what it refers to moved to the document's components. */
function embedded(name: string, schema: z.ZodType, io: 'input' | 'output', schemas: Json): Json {
  const {
    $schema: _,
    $defs = {},
    ...root
  } = z.toJSONSchema(schema, { io, unrepresentable: 'any', override: tidy }) as Json
  const moved = (id: string) => (id.startsWith('__') ? `${name}.${id}` : id)
  const pointed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(pointed)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, below]) => {
        if (key !== '$ref' || typeof below !== 'string') return [key, pointed(below)]
        const id = below === '#' ? name : moved(below.replace('#/$defs/', ''))
        return [key, `#/components/schemas/${id}`]
      }),
    )
  }
  for (const [id, below] of Object.entries($defs as Json)) schemas[moved(id)] = pointed(below)
  const made = pointed(root) as Json
  if (!JSON.stringify(made).includes(`"#/components/schemas/${name}"`)) return made
  schemas[name] = made
  return io === 'output' ? { $ref: `#/components/schemas/${name}` } : made
}

/** Leaves out what says nothing: the pattern beside a format, and the bounds of every whole number. */
function tidy({ jsonSchema }: { jsonSchema: Json }): void {
  if (jsonSchema.format) delete jsonSchema.pattern
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
}
