import type { LookupAddress } from 'node:dns'
import { errorMessage, type PluginHandle } from '#kernel'
import { keyedMutex } from '#lib/keyed-mutex'
import { orAbort } from '#lib/or-abort'
import { isListed, privacyOf } from './address.ts'
import type { NetConfig } from './config.ts'
import {
  AddressRefusedError,
  type FetchedPage,
  FetchFailedError,
  type FetchRequest,
  type GuardedFetch,
} from './contract.ts'
import { readBody } from './read-body.ts'

const MAX_REDIRECTS = 5
const TIME_LIMIT_MS = 15_000
const MAX_BYTES = 2 * 1024 * 1024
/** Headers that identify the caller; not sent to a redirect's target on another origin. */
const CREDENTIALS = ['authorization', 'cookie', 'proxy-authorization', 'x-subscription-token']

/** Returns all addresses of a host name, by the system's resolver. */
export type Resolve = (host: string) => Promise<LookupAddress[]>

/**
 * Fetches only from checked addresses: resolves a name once, checks all its addresses, and connects to these alone,
 * again for each redirect.
 */
export class Guard implements GuardedFetch {
  readonly #svc: PluginHandle
  readonly #config: NetConfig
  readonly #resolve: Resolve
  /** Serializes lookups: Node runs two at a time, and slow ones would keep model calls from theirs. */
  readonly #inTurn = keyedMutex()

  constructor(svc: PluginHandle, config: NetConfig, resolve: Resolve) {
    this.#svc = svc
    this.#config = config
    this.#resolve = resolve
  }

  async fetch(url: string, request: FetchRequest = {}): Promise<FetchedPage> {
    const stop = new AbortController()
    const abort = () => stop.abort(request.signal?.reason)
    request.signal?.addEventListener('abort', abort, { once: true })
    if (request.signal?.aborted) abort()
    const cancel = this.#svc.clock.after(TIME_LIMIT_MS, () =>
      stop.abort(new FetchFailedError({ url, problem: `it took longer than ${TIME_LIMIT_MS / 1000} s` })),
    )
    try {
      return await this.#follow(url, request, stop.signal)
    } catch (error) {
      if (request.signal?.aborted) throw request.signal.reason
      if (stop.signal.aborted) throw stop.signal.reason
      throw error
    } finally {
      cancel()
      request.signal?.removeEventListener('abort', abort)
    }
  }

  async #follow(first: string, request: FetchRequest, signal: AbortSignal): Promise<FetchedPage> {
    let { method = 'GET', body, headers = {} } = request
    let url = parseUrl(first)
    for (let redirects = 0; ; redirects++) {
      const response = await this.#ask(url, { method, headers, ...(body === undefined ? {} : { body }), signal })
      const target = response.status >= 300 && response.status < 400 ? response.headers.get('location') : null
      if (target === null) {
        const limit = Math.min(request.max_bytes ?? MAX_BYTES, MAX_BYTES)
        const { bytes, truncated } = await readBody(response, limit).catch(error => this.#fail(url, error))
        return { url: url.href, status: response.status, headers: response.headers, body: bytes, truncated }
      }
      await response.body?.cancel()
      if (redirects === MAX_REDIRECTS) {
        throw new FetchFailedError({ url: first, problem: `it redirects more than ${MAX_REDIRECTS} times` })
      }
      const next = parseUrl(target, url)
      if (next.origin !== url.origin) headers = omitHeaders(headers, CREDENTIALS)
      // Like browsers: the body is not sent again, except for the two status codes that require it.
      if (method === 'POST' && response.status !== 307 && response.status !== 308) {
        method = 'GET'
        body = undefined
        headers = omitHeaders(headers, ['content-type', 'content-length'])
      }
      url = next
    }
  }

  /** Sends one request to the checked addresses. */
  async #ask(url: URL, init: RequestInit & { signal: AbortSignal }): Promise<Response> {
    const addresses = await this.#checkAddress(url, init.signal)
    const { Agent } = await import('undici')
    const dispatcher = new Agent({
      connect: {
        timeout: TIME_LIMIT_MS,
        lookup: (_host, options, done) => {
          const [one] = addresses
          if (options.all) done(null, addresses)
          else done(null, one!.address, one!.family)
        },
      },
      // One response per connection, without keep-alive.
      pipelining: 0,
      maxHeaderSize: 16 * 1024,
    })
    try {
      // The platform's fetch accepts a dispatcher, although its type does not say so.
      return await this.#svc.ports.fetch(url, { ...init, redirect: 'manual', ...({ dispatcher } as object) })
    } catch (error) {
      return this.#fail(url, error)
    } finally {
      void dispatcher.close()
    }
  }

  /** Returns the addresses of a URL's host, all of which are allowed. @throws AddressRefusedError */
  async #checkAddress(url: URL, signal: AbortSignal): Promise<LookupAddress[]> {
    const refuse = (reason: string): never => {
      throw new AddressRefusedError({ url: url.href, reason })
    }
    const { default: ipaddr } = await import('ipaddr.js')
    const host = url.hostname.replace(/^\[|\]$/g, '')
    const { web_allow, web_deny, web_allow_private } = this.#config
    if (isListed(host, web_deny)) refuse(`${host} is in tools.web_deny`)
    if (web_allow.length > 0 && !isListed(host, web_allow)) refuse(`${host} is not in tools.web_allow`)
    const port = url.port || (url.protocol === 'https:' ? '443' : '80')
    const place = `${url.hostname}:${port}`
    const free = web_allow_private.includes(place)
    const remedy = `The operator can allow it: svc config set tools.web_allow_private '${JSON.stringify([...web_allow_private, place])}', then svc restart`
    const literal = ipaddr.isValid(host)
    const addresses = literal
      ? [{ address: host, family: host.includes(':') ? 6 : 4 }]
      : await this.#lookUp(host, signal).catch(error => this.#fail(url, error))
    if (addresses.length === 0) refuse(`${host} has no address`)
    // All addresses are checked: DNS rebinding mixes a private address among public ones.
    for (const { address } of addresses) {
      const why = free ? undefined : privacyOf(address, ipaddr)
      if (why) refuse(`${literal ? '' : `${host} resolves to an address that is not allowed: `}${why}. ${remedy}`)
    }
    return addresses
  }

  #lookUp(host: string, signal: AbortSignal): Promise<LookupAddress[]> {
    const work = async () => {
      signal.throwIfAborted()
      return this.#resolve(host)
    }
    return orAbort(signal, this.#inTurn('lookup', work))
  }

  #fail(url: URL, error: unknown): never {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    throw new FetchFailedError({ url: url.href, problem: errorMessage(cause) }, { cause: error })
  }
}

/** Parses a URL of the web. @throws AddressRefusedError for any other string */
function parseUrl(text: string, base?: URL): URL {
  const url = URL.canParse(text, base?.href) ? new URL(text, base) : undefined
  if (!url) throw new AddressRefusedError({ url: text.slice(0, 200), reason: 'it is not a URL' })
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new AddressRefusedError({ url: url.href.slice(0, 200), reason: 'only http and https are allowed' })
  }
  if (url.username || url.password) {
    throw new AddressRefusedError({ url: url.host, reason: 'a URL with a user name or password is not allowed' })
  }
  return url
}

function omitHeaders(headers: Readonly<Record<string, string>>, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name.toLowerCase())))
}
