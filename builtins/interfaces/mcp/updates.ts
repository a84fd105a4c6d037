import type { Clock, OperationCall } from '#kernel'
import { isStream } from '#lib/stream'
import type { McpOffer, McpResource } from './contract.ts'
import { matchUri, parametersOf } from './resources.ts'
import { INVALID_PARAMS, NOT_FOUND, RpcError } from './transport/rpc.ts'

/** Time within which changes are gathered into one notification, in milliseconds. */
const GATHER_MS = 100
/** Maximum number of resources that a client may follow. */
const MOST_FOLLOWED = 200
/** Events that change the list of resources. */
const LISTED_AFTER = ['agent_spawned', 'agent_deleted']

interface FollowedResource {
  resource: McpResource
  /** ID of the agent that the resource describes. */
  agent_id: string | undefined
}

export interface UpdatesParts {
  clock: Clock
  offer: () => McpOffer
  call: (signal: AbortSignal) => OperationCall
  /** Notifies the client that the content of a resource changed. */
  onUpdated: (uri: string) => void
  /** Notifies that the list of resources changed. */
  onListed: () => void
  onError: (error: unknown) => void
}

/**
 * Resources that one client follows. Changes are read from the event log, which all processes write, so a server beside
 * the daemon reports the daemon's changes too. Without followed resources nothing is read.
 */
export class Updates {
  readonly #parts: UpdatesParts
  readonly #followed = new Map<string, FollowedResource>()
  readonly #changed = new Set<string>()
  #reading: AbortController | undefined
  #cancel: (() => void) | undefined
  #lists = false

  constructor(parts: UpdatesParts) {
    this.#parts = parts
  }

  /**
   * Follows a resource.
   * @throws RpcError for a URI that names nothing, SvcError for an agent that does not exist
   */
  async follow(uri: string): Promise<void> {
    if (this.#followed.has(uri)) return
    if (this.#followed.size >= MOST_FOLLOWED) {
      throw new RpcError(
        INVALID_PARAMS,
        `This client already follows ${MOST_FOLLOWED} resources, the maximum; unsubscribe from one first.`,
      )
    }
    const found = matchUri(this.#parts.offer(), uri)
    if (!found) throw new RpcError(NOT_FOUND, `There is no resource ${uri} to follow.`, { uri })
    const { resource, params } = found
    const agent_id = params.agent === undefined ? undefined : await this.#agentOf(params.agent)
    this.#followed.set(uri, { resource, agent_id })
    this.#read()
  }

  leave(uri: string): void {
    this.#followed.delete(uri)
    this.#changed.delete(uri)
    if (this.#followed.size === 0) this.close()
  }

  close(): void {
    this.#followed.clear()
    this.#changed.clear()
    this.#cancel?.()
    this.#cancel = undefined
    this.#reading?.abort()
    this.#reading = undefined
  }

  /** Returns the id of an agent, as events name agents by id. */
  async #agentOf(ref: string): Promise<string> {
    const call = this.#parts.call(new AbortController().signal)
    const { agent_id } = (await this.#parts.offer().invoke('agents.get', { id: ref }, call)) as { agent_id: string }
    return agent_id
  }

  #read(): void {
    if (this.#reading) return
    const reading = new AbortController()
    this.#reading = reading
    this.#follow(reading.signal).catch(error => {
      if (reading.signal.aborted) return
      this.#reading = undefined
      this.#parts.onError(error)
    })
  }

  async #follow(signal: AbortSignal): Promise<void> {
    const events = await this.#parts.offer().invoke('events.follow', {}, this.#parts.call(signal))
    if (!isStream(events)) return
    for await (const { event, data } of events) {
      if (signal.aborted) return
      if (event === 'message') this.#take(data as { type: string; agent_id: string | null })
    }
  }

  #take({ type, agent_id }: { type: string; agent_id: string | null }): void {
    for (const [uri, { resource, agent_id: about }] of this.#followed) {
      const concerns =
        about === undefined
          ? parametersOf(resource.uri).length === 0 && resource.changes?.some(begin => type.startsWith(begin))
          : about === agent_id
      if (concerns) this.#changed.add(uri)
    }
    this.#lists ||= LISTED_AFTER.includes(type)
    if (this.#changed.size > 0 || this.#lists) this.#cancel ??= this.#parts.clock.after(GATHER_MS, () => this.#notify())
  }

  #notify(): void {
    this.#cancel = undefined
    const uris = [...this.#changed]
    this.#changed.clear()
    if (this.#lists) this.#parts.onListed()
    this.#lists = false
    for (const uri of uris) this.#parts.onUpdated(uri)
  }
}
