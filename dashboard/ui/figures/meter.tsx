/** Meter for a value from 0 to 1; it is marked above `high`. */
export function Meter({ label, value, high = 0.9 }: { label: string; value: number; high?: number }) {
  return <meter aria-label={label} min={0} max={1} high={high} optimum={0} value={Math.min(1, Math.max(0, value))} />
}

interface Amounts<N> {
  usd: N
  tokens: N
}

/** Returns the used share of the tighter of the two limits; above 1 if it is exceeded. */
export function usedOf({ spent, limits }: { spent: Amounts<number>; limits: Amounts<number | null> }): number {
  const share = (of: number, limit: number | null) => (limit === null ? 0 : limit === 0 ? 1 : of / limit)
  return Math.max(share(spent.usd, limits.usd), share(spent.tokens, limits.tokens))
}
