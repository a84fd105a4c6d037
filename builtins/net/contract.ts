import { defineError, token } from '#kernel'

export interface FetchRequest {
  method?: 'GET' | 'HEAD' | 'POST'
  headers?: Readonly<Record<string, string>>
  body?: string
  signal?: AbortSignal
  /** More than this of the body, decompressed, is not read; 2 MiB unless told, which is also the most. */
  max_bytes?: number
}

export interface Fetched {
  /** After all redirects. */
  url: string
  status: number
  headers: Headers
  body: Uint8Array
  /** The body was longer. */
  truncated: boolean
}

/** The one way out to the network for what an agent, or a text that it read, chose the address of. */
export interface GuardedFetch {
  /**
   * Fetches over http or https from a public address. The name is resolved once, every answer is checked, and the connection
   * goes to the address that was checked; each of at most five redirects is treated the same way.
   * @throws AddressRefusedError, FetchFailedError
   */
  fetch(url: string, request?: FetchRequest): Promise<Fetched>
}
export const GuardedFetch = token<GuardedFetch>('guarded_fetch')

export const AddressRefusedError = defineError({
  code: 'address_refused',
  status: 403,
  title: 'Address refused',
  sentence: (p: { url: string; reason: string }) => `${p.url} is not fetched: ${p.reason}.`,
})
export const FetchFailedError = defineError({
  code: 'fetch_failed',
  status: 502,
  title: 'Fetch failed',
  sentence: (p: { url: string; problem: string }) => `${p.url} could not be fetched: ${p.problem}.`,
})
