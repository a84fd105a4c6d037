import { createHash } from 'node:crypto'

/** Returns the id of a memory that is stored once: the same text gives the same id. */
export function idOf(text: string): string {
  return `mem-${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
}
