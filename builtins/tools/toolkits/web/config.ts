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
  web_search_url: z
    .string()
    .trim()
    .max(2_000)
    .regex(/^$|^https?:\/\/.*\{query\}/, 'must be an address with {query} in it')
    .default('')
    .meta({ env: 'SVC_WEB_SEARCH_URL' })
    .describe(
      'Where the web is searched, as in https://searx.example.org/search?format=json&q={query}; empty asks DuckDuckGo, or Brave where there is a key',
    ),
  web_search_key: z
    .string()
    .trim()
    .max(500)
    .default('')
    .meta({ env: 'SVC_WEB_SEARCH_KEY', secret: true })
    .describe(
      'Key of the search service, sent as X-Subscription-Token: that of Brave Search unless web_search_url names another',
    ),
})
export type WebConfig = z.infer<typeof WebConfig>
