/** Formats a number of tokens or other things for people, as in `12,345`. */
export function formatCount(count: number): string {
  return count.toLocaleString('en-US')
}
