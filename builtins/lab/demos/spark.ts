const BARS = '▁▂▃▄▅▆▇█'

/**
 * Draws values as a line of bars, on a scale that several lines may share. On a scale without range, all bars have
 * medium height.
 */
export function sparkline(values: readonly number[], [lowest, highest] = rangeOf(values)): string {
  const span = highest - lowest
  return values
    .map(
      value => BARS[span === 0 ? 3 : Math.min(BARS.length - 1, Math.floor(((value - lowest) / span) * BARS.length))]!,
    )
    .join('')
}

export function rangeOf(values: readonly number[]): readonly [number, number] {
  return [Math.min(...values), Math.max(...values)]
}
