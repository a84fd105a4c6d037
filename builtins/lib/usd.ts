/** Formats US dollars: `$1.2500`; below a cent with six decimals, which is the precision of the ledger. */
export function formatUsd(value: number): string {
  return `$${value.toFixed(value !== 0 && Math.abs(value) < 0.01 ? 6 : 4)}`
}
