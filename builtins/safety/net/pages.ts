import type { PluginHandle } from '#kernel'
import { FetchFailedError, GuardedFetch, type WebPages } from './contract.ts'
import { oneLine, pageOf, readPage } from './page.ts'

/** Headers of requests for pages. */
const HEADERS = { 'user-agent': 'Mozilla/5.0 (compatible; svc agent)', accept: 'text/html, text/*;q=0.9, */*;q=0.1' }

/** Returns pages as text, fetched through the current network guard. */
export function webPages(svc: PluginHandle): WebPages {
  return {
    async read(address, { headers, ...request } = {}) {
      const fetched = await svc.use(GuardedFetch).fetch(address, { ...request, headers: { ...HEADERS, ...headers } })
      const { url, status, body, truncated } = fetched
      if (status >= 400) throw new FetchFailedError({ url, problem: `the server answered ${status}` })
      const type = fetched.headers.get('content-type')
      const page = readPage(body, type)
      if (!page) {
        throw new FetchFailedError({ url, problem: `its type is ${type?.slice(0, 100)}, but only text can be read` })
      }
      return { ...page, url, links: absolute(page.links, url), truncated }
    },
    words: html => oneLine(pageOf(html).text),
  }
}

/** Returns the links to other pages as absolute URLs, without duplicates. */
function absolute(links: readonly { href: string; text: string }[], base: string): { url: string; text: string }[] {
  const found = new Map<string, string>()
  for (const { href, text } of links) {
    const url = URL.canParse(href, base) ? new URL(href, base) : undefined
    if (!url || !/^https?:$/.test(url.protocol)) continue
    url.hash = ''
    if (!found.get(url.href)) found.set(url.href, text)
  }
  return [...found].map(([url, text]) => ({ url, text }))
}
