import { type PluginHandle, z } from '#kernel'

/** The package's version. Its package.json is two folders up in the source tree, one up in the bundle. */
export async function versionOf({ ports }: Pick<PluginHandle, 'ports'>): Promise<string> {
  for (const place of ['../package.json', '../../package.json']) {
    const text = await ports.files.readFile(new URL(place, import.meta.url), 'utf8').catch(() => undefined)
    if (text) return z.object({ version: z.string() }).parse(JSON.parse(text)).version
  }
  return '0.0.0'
}
