import type { Ports } from './ports.ts'

/** The package's version. Its package.json is one folder up, from the source tree as from the bundle. */
export async function packageVersion({ files }: Pick<Ports, 'files'>): Promise<string> {
  const text = await files.readFile(new URL('../package.json', import.meta.url), 'utf8').catch(() => '{}')
  const { version } = JSON.parse(text) as { version?: string }
  return version ?? '0.0.0'
}
