/** Meter for a value from 0 to 1; it is marked above `high`. */
export function Meter({ label, value, high = 0.9 }: { label: string; value: number; high?: number }) {
  return <meter aria-label={label} min={0} max={1} high={high} optimum={0} value={Math.min(1, Math.max(0, value))} />
}
