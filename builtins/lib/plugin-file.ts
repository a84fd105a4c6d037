import { basename, dirname, extname } from 'node:path'

/** Names of index files of a plugin folder, in the order of precedence. */
export const INDEX_FILES = ['ts', 'mts', 'cts', 'js', 'mjs', 'cjs'].map(ending => `index.${ending}`)

/** Returns the name of a plugin from its file: the name without extension, or the folder's name for an index file. */
export function stemOf(file: string): string {
  const name = basename(file)
  return INDEX_FILES.includes(name) ? basename(dirname(file)) : name.slice(0, name.length - extname(name).length)
}
