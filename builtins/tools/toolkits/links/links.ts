import { lineOf, Memory, type MemoryRecord } from '#core/memory/contract'
import { defineError, errorMessage, type PluginHandle } from '#kernel'
import { type WebPage, WebPages } from '#safety/net/contract'

/** Record kind of links. */
export const LINK = 'link'

/** The address does not begin with http:// or https://, or contains a user; or the name has no letters or digits. */
const LinkError = defineError({
  code: 'link_refused',
  status: 422,
  title: 'Link refused',
  message: (p: { message: string }) => p.message,
})

/**
 * Returns an address in its stored form.
 * @throws LinkError when it is not a web address
 */
export function addressOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password) return url.href
  throw new LinkError({
    message: `${JSON.stringify(lineOf(text, 200))} is not a valid address: it must begin with https:// or http:// and contain no user or password.`,
  })
}

/** Returns the page at an address, or a message why it cannot be read. */
export async function visit(svc: PluginHandle, url: string, signal: AbortSignal): Promise<WebPage | string> {
  if (!svc.has(WebPages)) return 'The page was not fetched: network access is disabled.'
  try {
    return await svc.use(WebPages).read(url, { signal })
  } catch (error) {
    if (signal.aborted) throw error
    return `The page could not be read: ${errorMessage(error)}`
  }
}

/** Returns a link of an agent by its id; undefined when the id is not that of a link. */
export async function linkOf(svc: PluginHandle, agent_id: string, id: string) {
  const record = await svc.use(Memory).of(agent_id).recall(id)
  return record?.metadata.kind === LINK ? { ...record, url: String(record.metadata.url) } : undefined
}

/** Formats a link as a line of a list. */
export function linkLine({ memory_id, thought, metadata: { url, tags } }: MemoryRecord): string {
  const tagged = tags ? ` (${lineOf(String(tags), 100)})` : ''
  return `${memory_id} ${lineOf(String(url), 300)}${tagged} ${lineOf(thought, 200)}`
}

/**
 * Returns the normalized name of a link: lower case, with dashes.
 * @throws LinkError for a name without letters and digits
 */
export function nameOf(text: string): string {
  const name = text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, '-')
    .replace(/^-|-$/g, '')
  if (name) return name
  throw new LinkError({ message: 'A name must contain letters or digits, such as "project-docs".' })
}
