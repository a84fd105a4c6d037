import type { FetchRequest } from '#safety/net/contract'
import type { WebConfig } from './config.ts'

/** The configured search service. */
export interface SearchService {
  name: string
  /** Reason for the choice: the end of a message after "because". */
  reason: string
  /** Why it cannot be used and what to do; undefined if it can. */
  problem?: string
  /** Returns the request for a query. */
  request(query: string): { url: string } & Pick<FetchRequest, 'method' | 'headers' | 'body'>
}

type Provider = Exclude<WebConfig['web_search_provider'], 'auto'>

const NAMES: Record<Provider, string> = {
  brave: 'Brave Search',
  tavily: 'Tavily',
  searxng: 'SearXNG',
  duckduckgo: 'DuckDuckGo',
}

/**
 * Default addresses, which `web_search_url` overrides.
 * https://api-dashboard.search.brave.com/app/documentation/web-search/get-started
 * https://docs.tavily.com/documentation/api-reference/endpoint/search
 * https://duckduckgo.com/duckduckgo-help-pages/get-duckduckgo/non-javascript
 */
const ADDRESSES: Record<Provider, string> = {
  brave: 'https://api.search.brave.com/res/v1/web/search?q={query}',
  tavily: 'https://api.tavily.com/search',
  searxng: '',
  duckduckgo: 'https://html.duckduckgo.com/html/?q={query}',
}
/** Path of a SearXNG, below the address of the instance. https://docs.searxng.org/dev/search_api.html */
const SEARXNG_PATH = '/search?format=json&q={query}'
const TAVILY_KEY = /^tvly-/
/** Maximum number of results that `web_search` shows. */
const MAX_RESULTS = 10

/** Returns the service to use: the configured provider, else by address and key, else the one without a key. */
export function serviceOf(config: WebConfig): SearchService {
  const { web_search_key: key, web_search_url: url } = config
  const { provider, reason } = choose(config)
  const name = provider ? NAMES[provider] : new URL(url.replaceAll('{query}', '')).host
  const address = url || (provider ? ADDRESSES[provider] : '')
  const problem = problemOf(provider, address, key)
  const headers = {
    'user-agent': 'Mozilla/5.0 (compatible; svc agent)',
    accept: 'application/json, text/html;q=0.9',
  }
  return {
    name,
    reason,
    ...(problem ? { problem } : {}),
    request(query) {
      if (provider === 'tavily') {
        const body = JSON.stringify({ query, max_results: MAX_RESULTS })
        const own = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
        return { url: address, method: 'POST', headers: { ...headers, ...own }, body }
      }
      const template = address.includes('{query}') ? address : address.replace(/\/+$/, '') + SEARXNG_PATH
      const isSent = key !== '' && provider !== 'duckduckgo'
      return {
        url: template.replaceAll('{query}', encodeURIComponent(query)),
        headers: { ...headers, ...(isSent ? { 'x-subscription-token': key } : {}) },
      }
    },
  }
}

/** Chooses a service by its address when no provider is set; the answer's format determines how it is parsed. */
function choose(config: WebConfig): { provider?: Provider; reason: string } {
  const { web_search_provider: named, web_search_url: url, web_search_key: key } = config
  if (named !== 'auto') return { provider: named, reason: 'tools.web_search_provider names it' }
  if (url.includes('{query}')) return { reason: 'tools.web_search_url names it' }
  if (url) return { provider: 'searxng', reason: 'tools.web_search_url is an address without {query}' }
  if (TAVILY_KEY.test(key)) return { provider: 'tavily', reason: 'tools.web_search_key is a key of Tavily' }
  if (key) return { provider: 'brave', reason: 'tools.web_search_key is set' }
  return { provider: 'duckduckgo', reason: 'tools.web_search_key and tools.web_search_url are not set' }
}

function problemOf(provider: Provider | undefined, address: string, key: string): string | undefined {
  if (provider === 'searxng' && !address) return 'Set tools.web_search_url to the address of your SearXNG.'
  if ((provider === 'brave' || provider === 'tavily') && !key) {
    return `Set tools.web_search_key (SVC_WEB_SEARCH_KEY) to a key of ${NAMES[provider]}.`
  }
  if ((provider === 'brave' || provider === 'duckduckgo') && !address.includes('{query}')) {
    return 'Put {query} into tools.web_search_url, or leave it empty.'
  }
  return undefined
}
