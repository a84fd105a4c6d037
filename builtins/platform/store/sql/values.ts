import { z } from '#kernel'
import type { Store } from '../contract.ts'
import { defineEffect } from './effects.ts'

/** Stores a value for a plugin without its own tables; `undefined` removes it. */
export const setValue = defineEffect({
  name: 'values.set',
  schema: z.object({ namespace: z.string(), key: z.string(), value: z.unknown() }),
  statements: ({ namespace, key, value }) =>
    value === undefined
      ? { sql: 'DELETE FROM plugin_values WHERE namespace = ? AND key = ?', params: [namespace, key] }
      : {
          sql: 'INSERT INTO plugin_values (namespace, key, value) VALUES (?, ?, ?) ON CONFLICT (namespace, key) DO UPDATE SET value = excluded.value',
          params: [namespace, key, JSON.stringify(value)],
        },
})

/** Returns the value that `setValue` stored under a key; undefined when there is none. */
export async function getValue(
  store: Pick<Store, 'get'>,
  { namespace, key }: { namespace: string; key: string },
): Promise<unknown> {
  const row = await store.get<{ value: string }>('SELECT value FROM plugin_values WHERE namespace = ? AND key = ?', [
    namespace,
    key,
  ])
  return row && (JSON.parse(row.value) as unknown)
}
