import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import { z } from '#kernel'
import { LineSplitter } from '#lib/line-splitter'
import { maskJson, secretsIn } from '#lib/secrets'
import type { McpList, McpOffer, McpPipes, McpStdioModule } from '../contract.ts'
import { bareOffer } from '../offer.ts'
import { Peer } from '../peer.ts'
import { INVALID_REQUEST, MAX_MESSAGE_BYTES, PARSE_ERROR } from './rpc.ts'

/** Time for answering open requests after the client has closed our standard input, in milliseconds. */
const LAST_ANSWERS_MS = 1_000

/** See `McpStdioModule`. */
export const speak: McpStdioModule['speak'] = async (pipes, { operations, ports, version }) => {
  const transport = new StdioTransport(pipes)
  const secrets = secretsIn(ports.env)
  const offer = bareOffer(operations, json => maskJson(json, secrets))
  const peer = await Peer.connect(transport, { offer, ports, version, tenant: 'default' })
  const ended = transport.ended.then(async () => {
    await Promise.race([peer.idle(), ports.clock.sleep(LAST_ANSWERS_MS)])
    await peer.close()
  })
  return {
    ended,
    offer: (offer: McpOffer) => peer.offer(offer),
    notifyChanged: (lists: readonly McpList[]) => peer.notifyChanged(lists),
    log: (level, message) => peer.log(level, message),
    close: () => peer.close(),
  }
}

const Message = z.looseObject({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.int()]).optional(),
  method: z.string().optional(),
  params: z.looseObject({}).optional(),
})

/** Reads and writes messages as lines of JSON. Answers an invalid line with the matching JSON-RPC error. */
class StdioTransport implements Transport {
  readonly #pipes: McpPipes
  readonly ended: Promise<void>
  #end = () => {}
  readonly #lines = new LineSplitter(
    MAX_MESSAGE_BYTES,
    line => this.#receive(line),
    () => this.#refuse(INVALID_REQUEST, `A message may have at most ${MAX_MESSAGE_BYTES} bytes.`),
  )
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: NonNullable<Transport['onmessage']>

  constructor(pipes: McpPipes) {
    this.#pipes = pipes
    this.ended = new Promise(resolve => {
      this.#end = resolve
    })
  }

  async start(): Promise<void> {
    const { input } = this.#pipes
    input.on('data', this.#take)
    input.once('end', this.#end)
    input.once('error', this.#end)
    input.once('close', this.#end)
  }

  async send(message: JSONRPCMessage): Promise<void> {
    await this.#write(message)
  }

  async close(): Promise<void> {
    const { input } = this.#pipes
    input.off('data', this.#take)
    input.pause()
    this.#end()
    this.onclose?.()
  }

  readonly #take = (chunk: Buffer | string): void => {
    this.#lines.add(Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk))
  }

  #receive(text: string): void {
    if (text.trim() === '') return
    let value: unknown
    try {
      value = JSON.parse(text)
    } catch {
      this.#refuse(PARSE_ERROR, 'The line is not valid JSON; a message is one line of JSON.')
      return
    }
    const parsed = Message.safeParse(value)
    const { id } = (value ?? {}) as { id?: unknown }
    const known = typeof id === 'string' || Number.isInteger(id) ? (id as string | number) : null
    if (Array.isArray(value)) this.#refuse(INVALID_REQUEST, 'Batches are not part of the protocol.')
    else if (!parsed.success || !isMessage(parsed.data)) {
      this.#refuse(INVALID_REQUEST, 'The line is JSON, but not a JSON-RPC 2.0 message.', known)
    } else this.onmessage?.(value as JSONRPCMessage)
  }

  #refuse(code: number, message: string, id: string | number | null = null): void {
    this.#write({ jsonrpc: '2.0', id, error: { code, message } }).catch(() => {})
  }

  async #write(message: unknown): Promise<void> {
    try {
      await this.#pipes.write(`${JSON.stringify(message)}\n`)
    } catch (error) {
      this.#end()
      throw error
    }
  }
}

/**
 * Checks the shape of a message: a request or a notification has a method; an answer has an id and either a result or
 * an error.
 */
function isMessage(message: z.output<typeof Message>): boolean {
  if (message.method !== undefined) return true
  return message.id !== undefined && ('result' in message || 'error' in message)
}
