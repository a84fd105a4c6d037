import { lineOf, Memory, partOf } from '#core/memory/contract'
import { type PluginHandle, z } from '#kernel'
import { markUntrusted } from '#safety/net/contract'
import { type Toolkit, tool } from '#tools/toolkits/contract'
import { addressOf, LINK, linkLine, visit } from './links.ts'
import { namedLinkTools } from './named.ts'

/** Number of characters of a page shown at a time. */
const PART = 8_000

const url = z.string().trim().min(1).max(2_000).describe('The whole address, beginning with https://')
const limit = (most: number, usual: number) =>
  z.coerce.number().int().min(1).max(most).default(usual).describe(`Number of links to show, at most ${most}`)
const offset = (what: string) => z.coerce.number().int().min(0).default(0).describe(what)

/** Tools for web addresses, in the agent's memory and under names. */
export function linksToolkit(svc: PluginHandle): Toolkit {
  const memoryOf = (agent_id: string) => svc.use(Memory).of(agent_id)
  return {
    name: 'links',
    tools: [
      tool({
        name: 'save_link',
        description: 'Save an address with the title and a summary of its page, so that you can search for it later.',
        parameters: z.object({
          url,
          tags: z.string().trim().max(200).optional().describe('Tags for the link, separated by commas'),
          notes: z.string().trim().max(2_000).optional().describe('Why the link is worth keeping'),
        }),
        idempotent: true,
        async execute({ url, tags, notes }, call) {
          const { agent_id, signal } = call
          const address = addressOf(url)
          const page = await visit(svc, address, signal)
          const found = typeof page === 'string' ? [] : [page.title, page.summary]
          const thought = [found[0], notes, found[1]].filter(Boolean).join('\n') || address
          const id = svc.use(Memory).idOf(`${LINK}:${address}`)
          const origin = await svc.use(Memory).origin(call, 'save_link')
          await memoryOf(agent_id).put(id, thought, { kind: LINK, url: address, ...(tags ? { tags } : {}), ...origin })
          if (typeof page === 'string') return `Saved as ${id}, without title and summary. ${page}`
          return `Saved as ${id}.\n${quote([page.title, page.summary].filter(Boolean).join('\n') || 'The page is empty.')}`
        },
      }),
      tool({
        name: 'search_links',
        description: 'Search your saved links by words of their titles, summaries, notes, tags or addresses.',
        parameters: z.object({
          query: z.string().trim().min(1).max(500).describe('Words to look for'),
          limit: limit(50, 5),
        }),
        read_only: true,
        async execute({ query, limit }, { agent_id }) {
          const hits = await memoryOf(agent_id).search(query, limit, { kind: LINK })
          if (hits.length === 0) return '[None of your saved links contains these words. Try others, or list_links.]'
          const more = hits.length === limit && limit < 50 ? ['[There may be more; ask with a higher limit.]'] : []
          return [quote(hits.map(linkLine).join('\n')), ...more].join('\n')
        },
      }),
      tool({
        name: 'list_links',
        description: 'List the links that you saved, newest first.',
        parameters: z.object({ limit: limit(100, 20), offset: offset('Number of newest links to skip') }),
        read_only: true,
        async execute({ limit, offset }, { agent_id }) {
          const found = await memoryOf(agent_id).recent(limit + 1, { only: { kind: LINK }, offset })
          if (found.length === 0) return offset > 0 ? '[There are no older links.]' : '[You have saved no links yet.]'
          const more = found.length > limit ? [`[See older links with offset=${offset + limit}.]`] : []
          return [quote(found.slice(0, limit).map(linkLine).join('\n')), ...more].join('\n')
        },
      }),
      tool({
        name: 'scrape_link',
        description: 'Read the text of the page at an address, without saving it.',
        parameters: z.object({ url, offset: offset('Number of characters to skip, to continue a long page') }),
        idempotent: true,
        async execute({ url, offset }, { signal }) {
          const page = await visit(svc, addressOf(url), signal)
          if (typeof page === 'string') return `[${page}]`
          const title = offset === 0 && page.title ? `${lineOf(page.title, 200)}\n\n` : ''
          return quote(title + (partOf(page.text, offset, PART) || 'The page contains no text.'))
        },
      }),
      ...namedLinkTools(svc),
    ],
  }
}

/** Marks text of others as a quotation. */
function quote(text: string): string {
  return markUntrusted('text from web pages', text)
}
