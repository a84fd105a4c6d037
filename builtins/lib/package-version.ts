import type { Ports } from '#kernel'

/** Path of package.json: two folders up in the source tree, one from the bundle. */
const MANIFEST = new URL(import.meta.url.endsWith('.ts') ? '../../package.json' : '../package.json', import.meta.url)

let known: string | undefined

/** Returns the package's version as read at the first call. */
export async function packageVersion({ files }: Pick<Ports, 'files'>): Promise<string> {
  if (known !== undefined) return known
  const text = await files.readFile(MANIFEST, 'utf8').catch(() => '{}')
  known = (JSON.parse(text) as { version?: string }).version
  return known ?? '0.0.0'
}
