import type { Operation, z } from '#kernel'
import { pathNames } from '../request/routes.ts'
import { exampleOf } from './examples.ts'
import { failureResponses } from './failures.ts'
import { type Components, type Json, ref } from './schemas.ts'

interface Shape {
  properties: Record<string, Json>
  required: string[]
}

/**
 * Returns the OpenAPI entry of an operation with a route: its input, and every status that it may answer with. `path`
 * is the path in the document, whose parameters may have other names than those of the operation.
 */
export function entryOf(operation: Operation, path: string, tag: string, components: Components): Json {
  const { name, summary, description, input } = operation
  const http = operation.http!
  const {
    properties = {},
    required = [],
    ...rest
  } = components.embed(`${name}.input`, input, 'input') as Partial<Shape> & Json
  const shape = { properties, required }
  const inPath = pathNames(http.path)
  const others = Object.keys(properties).filter(field => !inPath.includes(field) && !http.hidden?.includes(field))
  const inQuery = http.method === 'GET' || http.method === 'DELETE' ? others : []
  const inBody = inQuery.length > 0 ? [] : others
  // Input that allows any fields, such as a patch of the configuration.
  const open = http.method !== 'GET' && typeof rest.additionalProperties === 'object'
  return {
    operationId: name,
    tags: [tag],
    summary,
    ...(description ? { description } : {}),
    ...(http.open ? { security: [] } : {}),
    parameters: [
      ...inPath.map((field, n) => ({
        ...parameter(field, 'path', shape),
        name: pathNames(path)[n]!,
        example: exampleOf(components, properties[field] ?? {}, true),
      })),
      ...inQuery.map(field => parameter(field, 'query', shape)),
      ...requestHeaders(operation).map(each => ref('parameters', each)),
    ],
    ...(inBody.length > 0 || open ? { requestBody: bodyOf(operation, inBody, { ...rest, ...shape }, components) } : {}),
    responses: {
      ...mergeContent(successResponses(operation, components), failureResponses(operation, components), components),
      default: ref('responses', 'problem'),
    },
  }
}

function parameter(field: string, place: 'path' | 'query', { properties, required }: Shape): Json {
  const { description, ...schema } = properties[field] ?? { type: 'string' }
  const needed = place === 'path' || required.includes(field)
  const form = schema.type === 'object' ? { content: { 'application/json': { schema } } } : { schema }
  return { name: field, in: place, required: needed, ...form, ...(description ? { description } : {}) }
}

/** Returns the request headers of an operation, by their names in `TAKEN`. */
export function requestHeaders({ http, events }: Operation): string[] {
  const [known, again] = [http?.method === 'GET' && !events, http?.idempotent]
  return ['tenant', ...(known ? ['known'] : []), ...(again ? ['again'] : []), ...(events ? ['after'] : [])]
}

function bodyOf(
  operation: Operation,
  fields: string[],
  { properties, required, ...rest }: Shape,
  made: Components,
): Json {
  const needed = required.filter(field => fields.includes(field))
  const schema = {
    type: 'object',
    properties: Object.fromEntries(fields.map(field => [field, properties[field]])),
    ...(needed.length > 0 ? { required: needed } : {}),
    additionalProperties: false,
    ...rest,
  }
  const example = exampleOf(made, schema, true) as Json
  const inPath = pathNames(operation.http!.path).map(name => [name, exampleOf(made, properties[name] ?? {}, true)])
  const fits = operation.input.safeParse({ ...Object.fromEntries(inPath), ...example }).success
  return {
    required: needed.length > 0,
    content: { 'application/json': { schema, ...(fits ? { example } : {}) } },
  }
}

/** Returns the successful responses of an operation, one per status, with their headers. */
function successResponses(operation: Operation, components: Components): Record<string, Json> {
  const { summary, http, count, hidden, notice, events } = operation
  const { method, status = 200, statuses = {}, location } = http!
  const cached = method === 'GET' && !events
  const headers = {
    'X-Request-Id': ref('headers', 'X-Request-Id'),
    ...(location ? { Location: ref('headers', 'Location') } : {}),
    ...(http!.idempotent ? { 'Idempotency-Replayed': ref('headers', 'Idempotency-Replayed') } : {}),
    ...(cached ? { ETag: ref('headers', 'ETag') } : {}),
    ...(count ? { 'X-Total-Count': ref('headers', 'X-Total-Count'), Link: ref('headers', 'Link') } : {}),
    ...(hidden ? { 'X-Hidden-Count': ref('headers', 'X-Hidden-Count') } : {}),
    ...(notice ? { 'X-Notice': ref('headers', 'X-Notice') } : {}),
  }
  const content = contentOf(operation, components)
  const answers = Object.entries({ [status]: summary, ...statuses }).map(([code, description]) => {
    const more = code === '503' ? { 'Retry-After': ref('headers', 'Retry-After') } : {}
    return [code, { description, headers: { ...headers, ...more }, ...(code === '204' ? {} : { content }) }]
  })
  return { ...Object.fromEntries(answers), ...(cached ? { 304: ref('responses', 'unchanged') } : {}) }
}

/**
 * Merges responses. A status that is both success and failure, such as the 503 of a health check, gets both contents.
 */
function mergeContent(
  good: Record<string, Json>,
  bad: Record<string, Json>,
  components: Components,
): Record<string, Json> {
  const shared = Object.keys(good).filter(status => bad[status])
  const merged = shared.map(status => {
    const problem = components.resolve(bad[status]!) as { content: Json }
    return [status, { ...good[status], content: { ...(good[status]!.content as Json), ...problem.content } }]
  })
  return { ...good, ...bad, ...Object.fromEntries(merged) }
}

function contentOf({ name, output, http, events }: Operation, made: Components): Json {
  if (events)
    return { 'text/event-stream': { schema: eventOf(name, events, made), example: eventExample(name, events, made) } }
  const schema = made.embed(`${name}.output`, output, 'output')
  const example = exampleOf(made, schema, false)
  const fits = example !== undefined && output.safeParse(example).success
  return { [http!.produces ?? 'application/json']: { schema, ...(fits ? { example } : {}) } }
}

/** Returns the first event of a stream as an example. */
function eventExample(name: string, events: Readonly<Record<string, z.ZodType>>, components: Components): Json {
  const [event, data] = Object.entries(events)[0]!
  return { id: '1', event, data: exampleOf(components, components.embed(`${name}.${event}`, data, 'output'), false) }
}

/** Describes one event of a stream; on the wire, `data` is a JSON string. */
function eventOf(name: string, events: Readonly<Record<string, z.ZodType>>, components: Components): Json {
  const embedded = Object.entries(events).map(([event, data]): [string, Json] => {
    return [event, components.embed(`${name}.${event}`, data, 'output')]
  })
  // A stream that throws sends the error as its last event.
  const data = { error: ref('schemas', 'Problem'), ...Object.fromEntries(embedded) }
  const oneOf = Object.entries(data).map(([event, data]) => ({
    type: 'object',
    properties: { id: { type: 'string' }, event: { const: event }, data },
    required: ['event', 'data'],
  }))
  return { description: 'Server-sent events, each of one of these types', oneOf }
}
