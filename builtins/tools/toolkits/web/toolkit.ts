import { lineOf, partOf } from '#core/memory/contract'
import { type PluginHandle, z } from '#kernel'
import { contentTokens } from '#lib/output-limit'
import { pluralize } from '#lib/pluralize'
import { beginningWithin } from '#lib/text-tokens'
import { markUntrusted, type WebPage, WebPages } from '#safety/net/contract'
import { type ToolCall, type Toolkit, tool } from '#tools/toolkits/contract'
import { Allowance } from './allowance.ts'
import type { WebConfig } from './config.ts'
import { search } from './search.ts'

/** Maximum number of characters of a page shown at a time. */
const PART = 30_000
const MOST_LINKS = 40
/** Maximum number of cached pages, and their lifetime in milliseconds. */
const KEPT = 16
const KEPT_MS = 600_000

/** Tools that read web pages as text and search the web. Their content is marked as untrusted. */
export function webToolkit(svc: PluginHandle, config: WebConfig): Toolkit {
  const allowance = new Allowance(config.web_requests_per_cycle)
  /** Cached pages by address: the requested one, and the one that it redirects to. */
  const kept = new Map<string, { page: WebPage; until: number }>()
  /** Requests under way. */
  const loading = new Map<string, { page: Promise<WebPage>; signal: AbortSignal }>()
  const countRequest = (call: ToolCall) => {
    if (allowance.take(call)) return
    const most = pluralize(config.web_requests_per_cycle, 'web request')
    throw new Error(
      call.goal_id === null
        ? `you have already made ${most}, which is the limit for one task. Finish with what you know`
        : `you have already made ${most}, which is the limit for now. Continue with what you know; in your next cycle you can make more`,
    )
  }
  const keep = (url: string, page: WebPage) => {
    kept.delete(url)
    kept.set(url, { page, until: svc.clock.monotonic() + KEPT_MS })
    const [oldest = ''] = kept.keys()
    if (kept.size > KEPT) kept.delete(oldest)
  }
  /**
   * Returns a page: of a request under way, so that neighbouring calls share it; or from the cache when an agent reads
   * on, so that it sees the same page without a second request.
   */
  const pageAt = async (url: string, offset: number, call: ToolCall): Promise<WebPage> => {
    // A request under way that another call cancels does not end this call.
    for (let shared = loading.get(url); shared; shared = loading.get(url)) {
      try {
        return await shared.page
      } catch (error) {
        if (!shared.signal.aborted) throw error
      }
    }
    const known = kept.get(url)
    if (offset > 0 && known && svc.clock.monotonic() < known.until) return known.page
    countRequest(call)
    const { signal } = call
    const page = svc.use(WebPages).read(url, { signal })
    loading.set(url, { page, signal })
    try {
      const read = await page
      for (const address of new Set([url, read.url])) keep(address, read)
      return read
    } finally {
      if (loading.get(url)?.page === page) loading.delete(url)
    }
  }
  return {
    name: 'web',
    everyday: true,
    tools: [
      tool({
        name: 'web_fetch',
        description: 'Read the text of a web page. Long pages come in parts: the last line says how to read on.',
        parameters: z.object({
          url: z.string().trim().min(1).max(2_000).describe('The whole address, beginning with https://'),
          offset: z.coerce.number().int().min(0).default(0).describe('Number of characters to skip'),
          links: z.boolean().default(false).describe('Whether to list the links of the page, too'),
        }),
        read_only: true,
        async execute({ url, offset, links }, call) {
          const page = await pageAt(url, offset, call)
          return renderPage(page, offset, links, call.result_tokens)
        },
      }),
      tool({
        name: 'web_search',
        description: 'Search the web. Gives titles, addresses and summaries; read a page with web_fetch.',
        parameters: z.object({
          query: z.string().trim().min(1).max(400).describe('Words to look for'),
          limit: z.coerce.number().int().min(1).max(10).default(5).describe('Maximum number of results (1 to 10)'),
        }),
        read_only: true,
        async execute({ query, limit }, call) {
          countRequest(call)
          const hits = await search(svc, config, query, call.signal)
          if (hits.length === 0) return '[Nothing was found. Try fewer or other words.]'
          const lines = hits
            .slice(0, limit)
            .map(
              ({ url, title, summary }, n) =>
                `${n + 1}. ${lineOf(title, 150)}\n   ${url.slice(0, 500)}\n   ${lineOf(summary, 300)}`,
            )
          return markUntrusted('the results of the search', lines.join('\n'))
        },
      }),
    ],
  }
}

function renderPage(
  { url, title, text, links, truncated }: WebPage,
  offset: number,
  withLinks: boolean,
  result_tokens: number | undefined,
): string {
  const shown = text || 'The page contains no text.'
  const length = beginningWithin(shown.slice(offset, offset + PART), contentTokens(result_tokens)).length
  const part = partOf(shown, offset, length)
  const isEnd = offset + length >= text.length
  const listed = links
    .slice(0, MOST_LINKS)
    .map(link => `- ${lineOf(link.text, 100) || '(no text)'}: ${link.url.slice(0, 500)}`)
  const more = links.length > listed.length ? [`… and ${links.length - listed.length} more`] : []
  return markUntrusted(
    `the text of ${url.slice(0, 500)}`,
    [
      offset === 0 && title,
      part,
      truncated && isEnd && 'The page is too long to be read completely; the rest is missing.',
      withLinks && ['Links:', ...listed, ...more].join('\n'),
    ]
      .filter(Boolean)
      .join('\n\n'),
  )
}
