import { createHash } from 'node:crypto'
import { canonicalJson } from '#core/runtime/contract'
import { z } from '#kernel'
import type { McpServerSettings } from './config.ts'
import type { McpToolChanged } from './contract.ts'
import { Listing } from './listing.ts'

/** What is known of a server from one start to the next: what it listed last, and which of that is accepted. */
export const KnownTools = Listing.extend({
  v: z.literal(1),
  /** Which server it was: a hash of its program or address. */
  place: z.string(),
  /** By the name of a tool, the hash of what it said of itself when that was accepted. */
  accepted: z.record(z.string(), z.string()),
})
export type KnownTools = z.output<typeof KnownTools>

/** Which server the settings mean, whatever else they say of it. */
export function placeOf({ command, args, cwd, url }: McpServerSettings): string {
  return createHash('sha256').update(canonicalJson({ command, args, cwd, url })).digest('hex')
}

/**
 * What is known once a server has listed its tools, and which of them are other than what was known. What a server lists
 * first is accepted; what comes or changes later too, unless the server is pinned.
 */
export function learnTools(
  before: KnownTools | undefined,
  listing: Listing,
  server: string,
  settings: McpServerSettings,
): { known: KnownTools; changes: McpToolChanged[] } {
  const accepted = new Map(Object.entries(before?.accepted ?? {}))
  const last = new Map(before?.tools.map(({ name, hash }) => [name, hash]))
  const changes: McpToolChanged[] = []
  for (const { name, hash } of listing.tools) {
    const isNews = before !== undefined && accepted.get(name) !== hash
    const held = isNews && settings.pin
    if (isNews && last.get(name) !== hash) {
      changes.push({ server, tool: name, change: accepted.has(name) || last.has(name) ? 'changed' : 'added', held })
    }
    if (!held) accepted.set(name, hash)
  }
  const known = { v: 1 as const, place: placeOf(settings), ...listing, accepted: Object.fromEntries(accepted) }
  return { known, changes }
}

/** Whether a tool waits for the operator to accept it. */
export function isHeld({ accepted }: KnownTools, { name, hash }: Listing['tools'][number], pin: boolean): boolean {
  return pin && accepted[name] !== hash
}
