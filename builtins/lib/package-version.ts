import type { Ports } from '#kernel'

/** Two folders up in the source tree, one from the bundle. */
const MANIFEST = new URL(import.meta.url.endsWith('.ts') ? '../../package.json' : '../package.json', import.meta.url)

let known: string | undefined

/** Returns the package's version when the process first asked. */
export async function packageVersion({ files }: Pick<Ports, 'files'>): Promise<string> {
  if (known !== undefined) return known
  const text = await files.readFile(MANIFEST, 'utf8').catch(() => '{}')
  known = (JSON.parse(text) as { version?: string }).version
  return known ?? '0.0.0'
}
