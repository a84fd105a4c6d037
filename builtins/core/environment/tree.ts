import { join } from 'node:path'
import type { Ports } from '#kernel'

/** Maximum number of listed entries; those of deeper folders come last. */
const MAX_ENTRIES = 60
const DEPTH = 2
/** Folders with third-party code or build output. */
const SKIPPED = ['node_modules', 'dist', 'build', 'target', 'venv', '__pycache__']

/**
 * Returns the entries of a folder, one line each, with nested entries below their folder.
 * @param closed folders that are not shown
 */
export async function treeOf(files: Ports['files'], root: string, closed: readonly string[]): Promise<string[]> {
  const found: string[] = []
  let level = ['']
  for (let depth = 0; depth < DEPTH && found.length < MAX_ENTRIES; depth++) {
    const next: string[] = []
    for (const below of level) {
      const entries = await files.readdir(join(root, below), { withFileTypes: true }).catch(() => [])
      for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
        const path = join(below, entry.name)
        if (entry.name.startsWith('.') || /\p{C}/u.test(entry.name) || closed.includes(join(root, path))) continue
        if (found.length >= MAX_ENTRIES) return [...found.sort(), '…']
        found.push(entry.isDirectory() ? `${path}/` : path)
        if (entry.isDirectory() && !SKIPPED.includes(entry.name)) next.push(path)
      }
    }
    level = next
  }
  return found.sort()
}
