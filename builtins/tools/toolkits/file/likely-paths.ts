import { closestMatches, type Ports } from '#kernel'
import type { JailFolder } from '#safety/sandbox/contract'
import { IgnoreRules } from './search/ignore.ts'
import { Walk } from './search/walk.ts'

/** Maximum number of files compared with a path. */
const MOST_FILES = 3_000
const MOST_HITS = 3

/**
 * Returns files that a missing path may mean: those with the same name in other folders, else those with a similar
 * name.
 * @param folder the open workspace
 */
export async function likelyPaths(
  files: Ports['files'],
  folder: JailFolder,
  path: string,
  signal: AbortSignal,
): Promise<string[]> {
  const found: string[] = []
  for await (const file of new Walk(files, { base: '', rules: IgnoreRules.none, all: false, signal }).walkFolder(
    folder,
    '.',
  )) {
    if (found.push(file.path) >= MOST_FILES) break
  }
  const nameOf = (each: string) => each.slice(each.lastIndexOf('/') + 1)
  const sameName = found.filter(each => nameOf(each) === nameOf(path))
  return (sameName.length > 0 ? sameName : closestMatches(path, found)).slice(0, MOST_HITS)
}
