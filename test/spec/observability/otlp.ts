import type { IncomingMessage } from 'node:http'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { httpServer } from '../../support/model/http.ts'

/** The protobuf reader of the official packages, loaded on demand. */
interface Reader {
  isAtEnd(): boolean
  readTag(): { fieldNumber: number; wireType: number }
  readVarint(): number
  readBytes(): Uint8Array
  skip(wireType: number): void
}
type Field = number | Uint8Array

function fieldsOf(bytes: Uint8Array): Map<number, Field[]> {
  const require = createRequire(import.meta.url)
  const file = join(dirname(require.resolve('@opentelemetry/otlp-transformer')), 'common/protobuf/protobuf-reader.js')
  const { ProtobufReader } = require(file) as { ProtobufReader: new (bytes: Uint8Array) => Reader & { pos: number } }
  const reader = new ProtobufReader(bytes)
  const fields = new Map<number, Field[]>()
  while (!reader.isAtEnd()) {
    const { fieldNumber, wireType } = reader.readTag()
    const from = reader.pos
    let value: Field
    if (wireType === 0) value = reader.readVarint()
    else if (wireType === 2) value = reader.readBytes()
    else {
      reader.skip(wireType)
      value = bytes.subarray(from, reader.pos)
    }
    fields.set(fieldNumber, [...(fields.get(fieldNumber) ?? []), value])
  }
  return fields
}

type Fields = ReturnType<typeof fieldsOf>
const inside = (fields: Fields, n: number) => (fields.get(n) ?? []).map(each => fieldsOf(each as Uint8Array))
const textIn = (fields: Fields, n: number) => Buffer.from((fields.get(n)?.[0] as Uint8Array) ?? []).toString()
const hexIn = (fields: Fields, n: number) => Buffer.from((fields.get(n)?.[0] as Uint8Array) ?? []).toString('hex')
const view = (bytes: Field | undefined) => Buffer.from((bytes as Uint8Array) ?? Buffer.alloc(8))
const fixed64 = (fields: Fields, n: number) => view(fields.get(n)?.[0]).readBigUInt64LE()
const double = (fields: Fields, n: number) => view(fields.get(n)?.[0]).readDoubleLE()

/** Reads AnyValue of common.proto: string 1, bool 2, int 3, double 4, array 5. */
function anyValue(fields: Fields): unknown {
  if (fields.has(1)) return textIn(fields, 1)
  if (fields.has(2)) return fields.get(2)?.[0] === 1
  if (fields.has(3)) return fields.get(3)?.[0]
  if (fields.has(4)) return double(fields, 4)
  return inside(fields, 5).flatMap(array => inside(array, 1).map(anyValue))
}
const attributesIn = (fields: Fields, n: number) =>
  Object.fromEntries(inside(fields, n).map(pair => [textIn(pair, 1), anyValue(inside(pair, 2)[0]!)]))

export interface SentSpan {
  name: string
  trace_id: string
  span_id: string
  parent_id: string
  kind: number
  ms: number
  status: number
  message: string
  attributes: Record<string, unknown>
  events: string[]
}
interface SentPoint {
  metric: string
  unit: string
  attributes: Record<string, unknown>
  value: number
  count: number
}

/** Reads Span of trace.proto. */
function spanOf(span: Fields): SentSpan {
  const [status] = inside(span, 15)
  return {
    trace_id: hexIn(span, 1),
    span_id: hexIn(span, 2),
    parent_id: hexIn(span, 4),
    name: textIn(span, 5),
    kind: (span.get(6)?.[0] as number) ?? 0,
    ms: Number(fixed64(span, 8) - fixed64(span, 7)) / 1e6,
    attributes: attributesIn(span, 9),
    events: inside(span, 11).map(event => textIn(event, 2)),
    status: (status?.get(3)?.[0] as number) ?? 0,
    message: status ? textIn(status, 2) : '',
  }
}

/** Reads Metric of metrics.proto: gauge 5, sum 7, histogram 9; the attributes of points are 7 and 9. */
function pointsOf(metric: Fields): SentPoint[] {
  const about = { metric: textIn(metric, 1), unit: textIn(metric, 3) }
  const numbers = [5, 7].flatMap(kind => inside(metric, kind)).flatMap(data => inside(data, 1))
  const histograms = inside(metric, 9).flatMap(data => inside(data, 1))
  return [
    ...numbers.map(point => ({
      ...about,
      attributes: attributesIn(point, 7),
      count: 1,
      value: point.has(4) ? double(point, 4) : Number(view(point.get(6)?.[0]).readBigInt64LE()),
    })),
    ...histograms.map(point => ({
      ...about,
      attributes: attributesIn(point, 9),
      count: Number(fixed64(point, 4)),
      value: double(point, 5),
    })),
  ]
}

export interface Collector {
  url: string
  spans: SentSpan[]
  points: SentPoint[]
  resources: Record<string, unknown>[]
  requests: { path: string; headers: IncomingMessage['headers'] }[]
  /** Status of its answers; `hang` accepts requests and never answers. */
  answer: number | 'hang'
  close(): Promise<void>
}

/** Starts an OTLP collector over HTTP that decodes what it receives. */
export async function collector(): Promise<Collector> {
  const collector: Omit<Collector, 'close'> = {
    url: '',
    spans: [],
    points: [],
    resources: [],
    requests: [],
    answer: 200,
  }
  const { url, close } = await httpServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part as Buffer)
    const { url: path = '', headers } = request
    const body = headers['content-encoding'] === 'gzip' ? gunzipSync(Buffer.concat(parts)) : Buffer.concat(parts)
    collector.requests.push({ path, headers })
    if (collector.answer === 'hang') return
    if (collector.answer === 200) {
      for (const resource of inside(fieldsOf(body), 1)) {
        collector.resources.push(attributesIn(inside(resource, 1)[0]!, 1))
        for (const scope of inside(resource, 2)) {
          if (path.endsWith('/traces')) collector.spans.push(...inside(scope, 2).map(spanOf))
          else collector.points.push(...inside(scope, 2).flatMap(pointsOf))
        }
      }
    }
    response.writeHead(collector.answer, { 'content-type': 'application/x-protobuf' }).end()
  })
  return Object.assign(collector, { url, close })
}
