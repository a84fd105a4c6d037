/** One result of a search. */
export interface Hit {
  url: string
  title: string
  summary: string
}

/** Maximum length of a tag, and of its content, in characters. */
const LONGEST = 4_000
const TITLE = 'class="result__a"'
const SUMMARY = 'class="result__snippet"'

/**
 * Parses the results in DuckDuckGo's HTML page, without advertisements: empty when the page reports no results,
 * undefined for a different page. Runs in linear time. Titles and summaries are still HTML.
 */
export function resultsIn(html: string): Hit[] | undefined {
  const places: number[] = []
  for (let at = html.indexOf(TITLE); at >= 0; at = html.indexOf(TITLE, at + 1)) places.push(at)
  if (places.length === 0) return html.includes('no-results') ? [] : undefined
  return places.flatMap((at, n) => {
    const url = targetOf(tagAround(html, at))
    if (!url) return []
    const rest = html.slice(at, Math.min(places[n + 1] ?? html.length, at + 4 * LONGEST))
    const snippet = rest.indexOf(SUMMARY)
    return [{ url, title: inner(rest), summary: snippet < 0 ? '' : inner(rest.slice(snippet)) }]
  })
}

function tagAround(html: string, at: number): string {
  const before = html.slice(Math.max(0, at - LONGEST), at)
  const after = html.slice(at, at + LONGEST)
  return before.slice(Math.max(0, before.lastIndexOf('<'))) + after.slice(0, Math.max(0, after.indexOf('>')))
}

/** Returns a result's target address, which the address of a redirect contains. */
function targetOf(tag: string): string | undefined {
  const href = /\shref="([^"]*)"/.exec(tag)?.[1]?.replaceAll('&amp;', '&')
  if (!href || !URL.canParse(href, 'https://duckduckgo.com/')) return undefined
  const url = new URL(href, 'https://duckduckgo.com/')
  const isOwn = /(?:^|\.)duckduckgo\.com$/.test(url.hostname)
  const target = isOwn ? url.searchParams.get('uddg') : url.href
  // Advertisements redirect through DuckDuckGo a second time.
  if (!target || !URL.canParse(target) || /(?:^|\.)duckduckgo\.com$/.test(new URL(target).hostname)) return undefined
  return /^https?:/.test(target) ? target : undefined
}

/** Returns the content of the element whose tag begins before this text. */
function inner(text: string): string {
  const from = text.indexOf('>') + 1
  const end = text.indexOf('</a>', from)
  return text.slice(from, end < 0 ? from + LONGEST : Math.min(end, from + LONGEST))
}
