// biome-ignore-all lint/suspicious/noExplicitAny: a schema may hold anything.
import fc, { type Arbitrary } from 'fast-check'
import type { Entry, OpenApiDocument } from './document.ts'
import { anything, fromSchema, texts } from './from-schema.ts'

/** Request with placeholders for ids that the server gave: `pick.agent_id.3.` stands for one of them. */
export interface GeneratedRequest {
  operationId: string
  /** Path template, as in the document. */
  place: string
  method: string
  path: string
  headers: Record<string, string>
  body: string | undefined
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']
/** Longer addresses are refused by Node's parser before they become requests. */
const LONGEST_IN_ADDRESS = 2000

const pick = (field: string) => fc.nat(50).map(n => `pick.${field}.${n}.`)
const pickId = (field: string) => (field.endsWith('_id') ? pick(field) : undefined)

/** Headers that a program or a browser may send, valid or not. */
const HEADERS: Record<string, string[]> = {
  'x-svc-user': ['alice', 'bob@example.org', '../../x', '', 'a b', 'x'.repeat(200), '\x80\xff'],
  'content-type': ['application/json; charset=utf-8', 'text/plain', 'application/json garbage', 'x', ''],
  'if-none-match': ['*', '"x"', 'W/"x", "y"', ''],
  'idempotency-key': ['k-1', 'k-2', '', 'a b', 'x'.repeat(201)],
  'last-event-id': ['0', '1', '-1', 'x', '9007199254740993', ''],
  accept: ['*/*', 'text/event-stream', 'image/png', ';;;'],
  origin: ['https://evil.example', 'null', ''],
  host: ['evil.example', 'localhost', '127.0.0.1:1', ''],
  'sec-fetch-site': ['cross-site', 'same-origin', 'none', 'x'],
  'x-svc-key': ['x', '\xe9', ''],
  range: ['bytes=0-1'],
  'content-encoding': ['gzip'],
  'x-http-method-override': ['DELETE'],
  'user-agent': ['a\x80\x9b31m'],
}
const pairs = Object.entries(HEADERS).flatMap(([name, values]) => values.map(value => [name, value] as const))
const headers: Arbitrary<Record<string, string>> = fc
  .array(fc.constantFrom(...pairs), { minLength: 1, maxLength: 2 })
  .map(Object.fromEntries)

/** Generates requests for every operation: valid ones, nearly valid ones, and some that no one should send. */
export function requestsOf(document: OpenApiDocument, entries: readonly Entry[]): Arbitrary<GeneratedRequest> {
  const none: Arbitrary<Record<string, string>> = fc.constant({})
  const each = entries.map(entry =>
    fc
      .record({
        method: weightedOneOf([19, fc.constant(entry.method.toUpperCase())], [1, fc.constantFrom(...METHODS)]),
        path: addressOf(document, entry),
        headers: weightedOneOf([3, none], [1, headers]),
        body: bodyOf(document, entry),
      })
      .map(({ method, path, headers, body }): GeneratedRequest => {
        const typed = body === undefined ? {} : { 'content-type': 'application/json' }
        const { operationId, path: place } = entry
        return { operationId, place, method, path, headers: { ...typed, ...headers }, body }
      }),
  )
  return fc.oneof(...each)
}

function addressOf(document: OpenApiDocument, { path, parameters }: Entry): Arbitrary<string> {
  const [, groups = ''] = path.split('/')
  const idName = (name: string) => (name === 'id' ? `${groups.replace(/s$/, '')}_id` : name)
  const generateValue = ({ name, schema }: Entry['parameters'][number]) =>
    pickId(idName(name)) ?? fromSchema(document, schema, pickId)
  const places = parameters.filter(each => each.in === 'path')
  const queries = parameters.filter(each => each.in === 'query')
  const filled = fc.record(
    Object.fromEntries(places.map(each => [each.name, weightedOneOf([12, generateValue(each)], [1, texts])])),
  )
  const right = fc.record(Object.fromEntries(queries.map(each => [each.name, generateValue(each)])), {
    requiredKeys: queries.flatMap(({ name, required }) => (required ? [name] : [])),
  })
  const name = fc.constantFrom(...queries.map(({ name }) => name), 'x', '__proto__', '')
  const odd = fc.array(fc.tuple(name, fc.oneof(texts, fc.constantFrom('0', '1001', '1e3', '-1'))), { maxLength: 3 })
  const query = weightedOneOf<[string, unknown][]>([4, right.map(Object.entries)], [1, odd])
  return fc.tuple(filled, query).map(([values, asked]) => {
    const place = Object.entries(values).reduce(
      (whole, [name, value]) => whole.replace(`{${name}}`, encodeValue(value)),
      path,
    )
    const pairs = asked.flatMap(([name, value]) =>
      [value].flat().map(each => `${encodeValue(name)}=${encodeValue(each)}`),
    )
    return pairs.length > 0 ? `${place}?${pairs.join('&')}` : place
  })
}

function bodyOf(document: OpenApiDocument, { requestBody }: Entry): Arbitrary<string | undefined> {
  const schema = requestBody?.content['application/json']?.schema
  const nothing = fc.constant(undefined)
  const broken = fc.oneof(
    texts,
    fc.constantFrom('{', '\ufeff{}', '{"a":1}x', '{"__proto__":{"a":1}}', 'NaN', '[]', 'null'),
  )
  if (!schema) return weightedOneOf<string | undefined>([8, nothing], [1, anything.map(json)], [1, broken])
  const right = fromSchema(document, schema, pickId)
  const names = fc.constantFrom(...Object.keys(schema.properties ?? {}), 'unknown', 'constructor')
  const nearly = fc.tuple(right, names, anything).map(([fields, name, value]) => ({ ...fields, [name]: value }))
  const lacking = fc.tuple(right, names).map(([fields, name]) => ({ ...fields, [name]: undefined }))
  return weightedOneOf<string | undefined>(
    [6, right.map(json)],
    [3, nearly.map(json)],
    [1, lacking.map(json)],
    [1, anything.map(json)],
    [1, broken],
    [requestBody.required ? 1 : 3, nothing],
  )
}

function weightedOneOf<T>(...options: [number, Arbitrary<T>][]): Arbitrary<T> {
  return fc.oneof(...options.map(([weight, arbitrary]) => ({ weight, arbitrary })))
}

function json(value: unknown): string {
  return JSON.stringify(value) ?? 'null'
}

/** Percent-encodes a value; lone surrogates become bytes that are no valid UTF-8. */
function encodeValue(value: unknown): string {
  const text = (typeof value === 'string' ? value : json(value)).slice(0, LONGEST_IN_ADDRESS)
  return [...text].map(each => (/\p{Cs}/u.test(each) ? '%ED%A0%80' : encodeURIComponent(each))).join('')
}
