import { z } from '#kernel'

/** The part of the section `tools` that is about reading and searching the web. */
export const WebConfig = z.object({
  web_requests_per_cycle: z
    .number()
    .int()
    .min(0)
    .max(10_000)
    .default(10)
    .describe('Pages and searches that an agent may ask for in one cycle, or in one task; 0 sets no limit'),
  web_search_provider: z
    .enum(['auto', 'brave', 'tavily', 'searxng', 'duckduckgo'])
    .default('auto')
    .meta({ env: 'SVC_WEB_SEARCH_PROVIDER' })
    .describe(
      'Search service. `auto`: that of web_search_url; else Tavily for a key that begins with tvly-, Brave for any other key, DuckDuckGo without one',
    ),
  web_search_url: z
    .string()
    .trim()
    .max(2_000)
    .regex(/^$|^https?:\/\/[^\s/]/, 'must be an address that begins with http:// or https://')
    .default('')
    .meta({ env: 'SVC_WEB_SEARCH_URL' })
    .describe(
      'Address of the search service, in place of its usual one: that of a SearXNG, as in https://searx.example.org, or one with {query} in it',
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
