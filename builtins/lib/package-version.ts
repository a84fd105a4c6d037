import { join } from 'node:path'
import type { Ports } from '#kernel'
import { PACKAGE_ROOT } from './package-root.ts'

let known: string | undefined

/** Returns the package's version as read at the first call. */
export async function packageVersion({ files }: Pick<Ports, 'files'>): Promise<string> {
  if (known !== undefined) return known
  const text = await files.readFile(join(PACKAGE_ROOT, 'package.json'), 'utf8').catch(() => '{}')
  known = (JSON.parse(text) as { version?: string }).version
  return known ?? '0.0.0'
}
