import { PLUGIN_KINDS } from '#interfaces/cli/scaffold/kinds'
import { scaffoldPlugin } from '#interfaces/cli/scaffold/plugin'
import type { TempDir } from '../../support/temp.ts'

/** Writes a plugin of every kind and its test, as the command does. */
export async function writeAll(dir: TempDir): Promise<void> {
  for (const kind of PLUGIN_KINDS) {
    const { source, test } = scaffoldPlugin(kind, `a-${kind}`)
    await dir.write({ [`plugins/a-${kind}.ts`]: source, [`plugins/a-${kind}.test.ts`]: test })
  }
}
