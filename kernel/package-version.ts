import type { Ports } from './ports.ts'

let known: string | undefined

/** The package's version, as this process began with it. Its package.json is one folder up, from the source tree as from the bundle. */
export async function packageVersion({ files }: Pick<Ports, 'files'>): Promise<string> {
  if (known !== undefined) return known
  const text = await files.readFile(new URL('../package.json', import.meta.url), 'utf8').catch(() => '{}')
  known = (JSON.parse(text) as { version?: string }).version
  return known ?? '0.0.0'
}
