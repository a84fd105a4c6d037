import type { Operation } from '#kernel'
import { Problem, shapeOf } from '../contract.ts'
import { PROBLEM_TYPE } from '../request/problem.ts'
import { entryOf, requestHeaders } from './entry.ts'
import { Components, type Json, ref } from './schemas.ts'

const ABOUT = `Runs autonomous agents, and lets you observe and steer them.

Every error is a problem document of RFC 9457 with a stable \`code\` and the \`request_id\` that identifies the request
in the log. A method that a path does not support is answered with 405 and \`Allow\`, a request that takes too long to
arrive with 408. Unknown query parameters and body fields are refused; the error names them. Lists are returned in
full by default, and, where they have \`limit\` and \`offset\`, in pages: with \`X-Total-Count\` and, except on the last page, a \`Link\` to
the next.`

const TENANT = {
  name: 'X-Svc-User',
  in: 'header',
  description: 'User whose sessions and tasks the request concerns; not a security boundary',
  schema: { type: 'string', pattern: '^[A-Za-z0-9._@-]{1,128}$', default: 'default' },
}
const MARK = { type: 'string', minLength: 1, maxLength: 200 }
/** Header parameters of operations, by the names that the entries use. */
const TAKEN: Record<string, Json> = {
  tenant: TENANT,
  known: {
    name: 'If-None-Match',
    in: 'header',
    description: 'The `ETag` of the answer that you have',
    schema: { type: 'string' },
  },
  again: {
    name: 'Idempotency-Key',
    in: 'header',
    description: 'Makes a retry safe: a request with the same key is carried out once, and gets the same answer',
    schema: MARK,
  },
  after: {
    name: 'Last-Event-ID',
    in: 'header',
    description: 'The last event that you received; the stream continues after it',
    schema: MARK,
  },
}
const header = (description: string, type = 'string') => ({ description, schema: { type } })

/** Tags in reading order; others follow in the order of their plugins. */
const TAG_ORDER = [
  'agents',
  'goals',
  'tasks',
  'sessions',
  'approvals',
  'budget',
  'memory',
  'schedules',
  'a2a',
  'events',
  'runs',
  'profiles',
  'models',
  'settings',
  'daemon',
  'plugins-admin',
]
const placeOf = (tag: string) => (TAG_ORDER.includes(tag) ? TAG_ORDER.indexOf(tag) : TAG_ORDER.length)

export interface DocumentedApi {
  version: string
  /** Operations with an HTTP route. */
  operations: readonly Operation[]
  /** Whether the server requires a key. */
  keyed: boolean
  /** Returns the module of an operation, and its description. */
  moduleOf(operation: Operation): { name: string; description: string }
  /** Lets the event loop run between two operations, because all together take noticeably long. */
  pause(): Promise<void>
}

/** Returns the OpenAPI 3.1 document of these operations, from the schemas that check their requests and answers. */
export async function openapiDocument(documented: DocumentedApi): Promise<Json> {
  const { version, operations, keyed, moduleOf, pause } = documented
  const components = new Components()
  components.schemas.Problem = components.embed('Problem', Problem, 'output')
  const places = new Map<string, { path: string; entries: Json }>()
  const tags = new Map<string, Json>()
  const taken = new Set<string>()
  for (const operation of operations) {
    const { method, path } = operation.http!
    const shape = shapeOf(path)
    const place = places.get(shape) ?? { path, entries: {} }
    const module = moduleOf(operation)
    tags.set(module.name, module)
    place.entries[method.toLowerCase()] = entryOf(operation, place.path, module.name, components)
    for (const name of requestHeaders(operation)) taken.add(name)
    places.set(shape, place)
    await pause()
  }
  return {
    openapi: '3.1.0',
    info: { title: 'svc', version, description: ABOUT, license: { name: 'MIT', identifier: 'MIT' } },
    servers: [{ url: '/' }],
    tags: [...tags].toSorted(([a], [b]) => placeOf(a) - placeOf(b)).map(([, tag]) => tag),
    paths: Object.fromEntries([...places.values()].map(({ path, entries }) => [path, entries])),
    components: {
      schemas: components.schemas,
      securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Svc-Key', description: "The server's key" } },
      parameters: Object.fromEntries(Object.entries(TAKEN).filter(([name]) => taken.has(name))),
      headers: {
        'X-Request-Id': header('The id of this request in the log'),
        'X-Total-Count': header('With `limit` or `offset`: the total number of items', 'integer'),
        'X-Hidden-Count': header('The number of rows that `all=false` leaves out; absent when none', 'integer'),
        'X-Notice': header('Notice for people about the whole answer, in one line; absent when there is none'),
        Link: header('With `limit`: URL of the next page, as `rel="next"`; absent on the last page'),
        Location: header('URL of what was created'),
        ETag: header('Identifier of this version of the answer'),
        'Idempotency-Replayed': header(
          '`true` if this is the answer to an earlier request with the same `Idempotency-Key`',
        ),
        'Retry-After': header('Seconds after which to try again', 'integer'),
      },
      responses: {
        ...components.responses,
        unchanged: {
          description: 'The answer still has the `ETag` in `If-None-Match`',
          headers: { ETag: ref('headers', 'ETag') },
        },
        problem: {
          description: 'Any other error',
          headers: { 'X-Request-Id': ref('headers', 'X-Request-Id') },
          content: { [PROBLEM_TYPE]: { schema: ref('schemas', 'Problem') } },
        },
      },
    },
    security: keyed ? [{ key: [] }] : [{}, { key: [] }],
  }
}
