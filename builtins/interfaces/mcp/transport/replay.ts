import type { EventStore } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'

/** Limits of what is kept per session for a client that reconnects: number of messages, and their characters. */
const MOST_MESSAGES = 1_000
const MOST_CHARACTERS = 1024 * 1024

interface KeptMessage {
  seq: number
  stream: string
  message: JSONRPCMessage
  size: number
}

/** The last messages of a session, for a client that reconnects with `Last-Event-ID`. */
export class Replay implements EventStore {
  #kept: KeptMessage[] = []
  #seq = 0
  #size = 0

  async storeEvent(stream: string, message: JSONRPCMessage): Promise<string> {
    const size = JSON.stringify(message).length
    const seq = ++this.#seq
    this.#kept.push({ seq, stream, message, size })
    this.#size += size
    while (this.#kept.length > MOST_MESSAGES || (this.#size > MOST_CHARACTERS && this.#kept.length > 1)) {
      this.#size -= this.#kept.shift()!.size
    }
    return String(seq)
  }

  async getStreamIdForEventId(id: string): Promise<string | undefined> {
    return this.#kept.find(({ seq }) => String(seq) === id)?.stream
  }

  async replayEventsAfter(
    id: string,
    { send }: { send: (id: string, message: JSONRPCMessage) => Promise<void> },
  ): Promise<string> {
    const last = this.#kept.find(({ seq }) => String(seq) === id)
    if (!last) throw new Error('the messages after this event id are no longer stored')
    for (const { seq, stream, message } of this.#kept) {
      // An empty message only gave the client an event id to resume from.
      if (seq > last.seq && stream === last.stream && 'jsonrpc' in message) await send(String(seq), message)
    }
    return last.stream
  }
}
