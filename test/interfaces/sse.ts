import { type ClientRequest, type IncomingMessage, type RequestOptions, request } from 'node:http'
import { onTestFinished } from 'vitest'
import { until } from '../support/index.ts'

export interface Message {
  id?: string
  event: string
  // biome-ignore lint/suspicious/noExplicitAny: what a test expects of it is its own business.
  data: any
}

/** A client of a server-sent event stream that keeps every byte. */
export class Sse {
  text = ''
  ended = false
  readonly response: IncomingMessage
  readonly #request: ClientRequest

  constructor(sent: ClientRequest, response: IncomingMessage) {
    this.#request = sent
    this.response = response
    response.setEncoding('utf8')
    response.on('data', text => {
      this.text += text
    })
    response.on('close', () => {
      this.ended = true
    })
    response.on('error', () => {})
  }

  get status(): number {
    return this.response.statusCode ?? 0
  }

  /** Complete messages, without comments. Parsed by hand, so that a fault of a parser cannot hide one of ours. */
  get messages(): Message[] {
    const blocks = this.text.split('\n\n').slice(0, -1)
    return blocks.flatMap(block => {
      const fields = new Map(block.split('\n').map(line => split(line)))
      if (!fields.has('event')) return []
      const id = fields.get('id')
      return [
        { event: fields.get('event')!, data: JSON.parse(fields.get('data')!), ...(id === undefined ? {} : { id }) },
      ]
    })
  }

  get comments(): number {
    return this.text.split('\n').filter(line => line.startsWith(':')).length
  }

  /** Waits for a number of messages. */
  async has(count: number): Promise<Message[]> {
    await until(() => this.messages.length >= count)
    return this.messages
  }

  /** Waits for the end and returns all messages. */
  async end(): Promise<Message[]> {
    await until(() => this.ended)
    return this.messages
  }

  /** Closes the connection. */
  cut(): void {
    this.#request.destroy()
  }
}

function split(line: string): [string, string] {
  const at = line.indexOf(': ')
  return [line.slice(0, at), line.slice(at + 2)]
}

/** Opens a stream; resolves when the response headers have arrived. */
export function sse(
  url: string,
  {
    headers = {},
    body,
    ...options
  }: Omit<RequestOptions, 'headers'> & { headers?: Record<string, string>; body?: unknown } = {},
): Promise<Sse> {
  return new Promise((resolve, reject) => {
    const json = body === undefined ? {} : { 'content-type': 'application/json' }
    const sent = request(url, { agent: false, ...options, headers: { ...json, ...headers } }, response =>
      resolve(new Sse(sent, response)),
    )
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
    onTestFinished(() => void sent.destroy())
  })
}
