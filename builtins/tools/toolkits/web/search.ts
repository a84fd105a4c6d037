import { defineError, errorMessage, type PluginHandle, z } from '#kernel'
import { GuardedFetch, WebPages } from '#safety/net/contract'
import type { WebConfig } from './config.ts'
import { type Hit, resultsIn } from './duckduckgo.ts'
import { serviceOf } from './service.ts'

const SearchFailedError = defineError({
  code: 'web_search_failed',
  status: 502,
  title: 'Web search failed',
  message: (p: { host: string; problem: string }) =>
    `The web cannot be searched now: ${p.host} ${p.problem}. Do not try again at once; go on without, or read pages whose addresses you know. The operator can name another search service in tools.web_search_provider.`,
})

const SearchNotSetUpError = defineError({
  code: 'web_search_not_set_up',
  status: 503,
  title: 'Web search not set up',
  message: (p: { name: string; problem: string }) =>
    `The web cannot be searched: ${p.name} is not set up. Go on without, or read pages whose addresses you know. For the operator: ${p.problem}`,
})

const text = z.string().catch('')
const Found = z.array(z.object({ url: z.string(), title: text, content: text, description: text }).partial().catch({}))
/**
 * Answer of a search service. SearXNG and Tavily have `results`, with `content`; Brave has `web.results`, with
 * `description`.
 */
const Answer = z.object({ results: Found.optional(), web: z.object({ results: Found.optional() }).optional() })

/**
 * Queries the configured search service.
 * @throws SearchFailedError, SearchNotSetUpError
 */
export async function search(svc: PluginHandle, config: WebConfig, query: string, signal: AbortSignal): Promise<Hit[]> {
  const { name, problem, request } = serviceOf(config)
  if (problem) throw new SearchNotSetUpError({ name, problem })
  const { url, ...rest } = request(query)
  const { host } = new URL(url)
  const fail = (problem: string): never => {
    throw new SearchFailedError({ host, problem })
  }
  const fetched = await svc
    .use(GuardedFetch)
    .fetch(url, { ...rest, signal })
    .catch(error => {
      if (signal.aborted) throw error
      return fail(`could not be reached (${errorMessage(error).replace(`${url} `, 'it ').replace(/\.$/, '')})`)
    })
  if (fetched.status !== 200) fail(`answered ${fetched.status}${REASONS[fetched.status] ?? ''}`)
  const answer = new TextDecoder().decode(fetched.body)
  const isJson = /\bjson\b/.test(fetched.headers.get('content-type') ?? '')
  const hits = (isJson ? hitsOf(answer) : resultsIn(answer)) ?? fail('returned an answer without a list of results')
  const words = (html: string) => svc.use(WebPages).words(html)
  return hits.map(({ url, title, summary }) => ({ url, title: words(title), summary: words(summary) }))
}

const REASONS: Readonly<Record<number, string>> = {
  // DuckDuckGo's bot check.
  202: ', which it does when it takes a request for an automated one',
  401: ', so tools.web_search_key is missing or wrong',
  403: ', so it rejects requests from this machine',
  429: ', so it received too many requests',
  // Tavily's status when the plan's limit or the pay-as-you-go limit is reached.
  432: ', so the plan of tools.web_search_key is used up',
  433: ', so the spending limit of tools.web_search_key is reached',
}

function hitsOf(answer: string): Hit[] | undefined {
  let json: unknown
  try {
    json = JSON.parse(answer)
  } catch {
    return undefined
  }
  const parsed = Answer.safeParse(json).data
  const results = parsed?.results ?? parsed?.web?.results ?? (parsed?.web ? [] : undefined)
  return results?.flatMap(({ url, title = '', content = '', description = '' }) =>
    url && /^https?:/.test(url) ? [{ url, title, summary: content || description }] : [],
  )
}
