import type { Store } from '../contract.ts'

/** Returns the number of rows of `from`, such as `FROM goals WHERE agent_id = ?`. */
export async function countRows(store: Pick<Store, 'get'>, from: string, params?: readonly unknown[]): Promise<number> {
  return (await store.get<{ n: number }>(`SELECT count(*) AS n ${from}`, params))?.n ?? 0
}

/** Returns the values of a query's first column. */
export async function listColumn<V = string>(
  store: Pick<Store, 'all'>,
  sql: string,
  params?: readonly unknown[],
): Promise<V[]> {
  return (await store.all<Record<string, V>>(sql, params)).map(row => Object.values(row)[0]!)
}
