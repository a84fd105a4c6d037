import { basename, dirname, extname } from 'node:path'

/** The files that may stand for the folder in which they lie, in the order in which they are looked for. */
export const INDEX_FILES = ['ts', 'mts', 'cts', 'js', 'mjs', 'cjs'].map(ending => `index.${ending}`)

/** What a plugin's file is called: its name without the ending, for an index its folder's name. */
export function stemOf(file: string): string {
  const name = basename(file)
  return INDEX_FILES.includes(name) ? basename(dirname(file)) : name.slice(0, name.length - extname(name).length)
}
