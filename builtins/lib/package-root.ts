import { isAbsolute, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The package's root: two folders up in the source tree, one from the bundle. */
export const PACKAGE_ROOT = fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? '../../' : '../', import.meta.url))

/** Returns a path for display: relative to the project, or starting with `svc/` in the package. */
export function displayPath(path: string, project: string): string {
  for (const [folder, prefix] of [[project, ''] as const, [PACKAGE_ROOT, 'svc/'] as const]) {
    const below = relative(folder, path)
    if (!below.startsWith('..') && !isAbsolute(below)) return prefix + below
  }
  return path
}
