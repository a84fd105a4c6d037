const BARS = '▁▂▃▄▅▆▇█'

/** Figures as a line of bars, on a scale that others may share; a level line where there is nothing between its ends. */
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
