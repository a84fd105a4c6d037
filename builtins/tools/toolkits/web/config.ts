import { z } from '#kernel'

/** The part of the section `tools` that is about reading and searching the web. */
export const WebConfig = z.object({
  web_requests_per_cycle: z
    .int()
    .min(0)
    .max(10_000)
    .default(10)
    .describe('Maximum number of pages and searches that an agent may request in one cycle or task; 0 sets no limit'),
  web_search_provider: z
    .enum(['auto', 'brave', 'tavily', 'searxng', 'duckduckgo'])
    .default('auto')
    .meta({ env: 'SVC_WEB_SEARCH_PROVIDER' })
    .describe(
      'Search service. `auto` selects the one of web_search_url if that is set, else Tavily for a key that begins with tvly-, Brave for any other key, and DuckDuckGo without a key',
    ),
  web_search_url: z
    .string()
    .trim()
    .max(2_000)
    .regex(/^$|^https?:\/\/[^\s/]/, 'must be an address that begins with http:// or https://')
    .default('')
    .meta({ env: 'SVC_WEB_SEARCH_URL' })
    .describe(
      'Address of the search service, instead of its default address: that of a SearXNG instance, such as https://searx.example.org, or one that contains {query}',
    ),
  web_search_key: z
    .string()
    .trim()
    .max(500)
    .default('')
    .meta({ env: 'SVC_WEB_SEARCH_KEY', secret: true })
    .describe('Key of the search service, sent to that service only'),
})
export type WebConfig = z.infer<typeof WebConfig>
