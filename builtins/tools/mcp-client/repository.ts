import type { Effect, PluginHandle } from '#kernel'
import { getValue, Store, setValue } from '#platform/store/contract'
import { KnownTools } from './memory.ts'

const NAMESPACE = 'mcp-client'

/** Returns the stored state of each server, by name. */
export async function allKnown(svc: PluginHandle): Promise<Map<string, KnownTools>> {
  const rows = await svc
    .use(Store)
    .all<{ key: string; value: string }>('SELECT key, value FROM plugin_values_view WHERE namespace = ?', [NAMESPACE])
  return new Map(
    rows.flatMap(({ key, value }) => {
      const known = KnownTools.safeParse(JSON.parse(value))
      return known.success ? [[key, known.data]] : []
    }),
  )
}

export async function knownOf(svc: PluginHandle, name: string): Promise<KnownTools | undefined> {
  return KnownTools.safeParse(await getValue(svc.use(Store), { namespace: NAMESPACE, key: name })).data
}

export function remember(name: string, known: KnownTools): Effect {
  return setValue({ namespace: NAMESPACE, key: name, value: known })
}
