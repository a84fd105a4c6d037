import { createHash } from 'node:crypto'
import { canonicalJson } from '#core/runtime/contract'
import { z } from '#kernel'
import type { McpServerSettings } from './config.ts'
import type { McpToolChanged } from './contract.ts'
import { Listing } from './listing.ts'

/** Stored state of a server: its last list of tools, and which of them are accepted. */
export const KnownTools = Listing.extend({
  v: z.literal(1),
  /** Identity of the server: a hash of its command or address. */
  place: z.string(),
  /** Hash of each accepted tool's description, by tool name. */
  accepted: z.record(z.string(), z.string()),
})
export type KnownTools = z.output<typeof KnownTools>

/** Returns the identity of the server that the settings name. */
export function placeOf({ command, args, cwd, url }: McpServerSettings): string {
  return createHash('sha256').update(canonicalJson({ command, args, cwd, url })).digest('hex')
}

/**
 * Merges a new list of tools into the stored state, and returns which tools changed. Tools of the first list are
 * accepted; later ones too, unless the server is pinned.
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

/** Returns whether a tool waits for the operator to accept it. */
export function isHeld({ accepted }: KnownTools, { name, hash }: Listing['tools'][number], pin: boolean): boolean {
  return pin && accepted[name] !== hash
}
