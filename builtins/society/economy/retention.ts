import type { PluginHandle } from '#kernel'
import { RetentionRules } from '#platform/retention/contract'
import { Store } from '#platform/store/contract'
import { foldEntries } from './market/ledger.ts'

/** Removes old entries of the ledger. Their sums are carried over, so that balances stay the same. */
export function economyForgets(svc: PluginHandle): void {
  const old = async (before: number, limit: number) => {
    const sql =
      'SELECT count(*) AS n, max(seq) AS seq FROM (SELECT seq FROM world_entries WHERE at < ? ORDER BY seq LIMIT ?) e'
    return (await svc.use(Store).get<{ n: number; seq: number | null }>(sql, [before, limit])) ?? { n: 0, seq: null }
  }
  svc.add(RetentionRules, {
    name: 'world_entries',
    count: async before => (await old(before, Number.MAX_SAFE_INTEGER)).n,
    async piece(before, limit) {
      const { n, seq } = await old(before, limit)
      if (seq !== null) await svc.use(Store).apply([foldEntries({ seq })])
      return n
    },
  })
}
