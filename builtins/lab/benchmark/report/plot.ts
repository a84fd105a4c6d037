import { htmlText } from '#lab/trials/contract'

/** One line of a plot; values are fractions of the full width. */
export interface Bar {
  name: string
  value: number
  low: number | null
  high: number | null
  label: string
}

const LINE = 30
const LEFT = 190
const WIDTH = 420
const RIGHT = 250

/**
 * Draws horizontal bars with whiskers, as inline SVG.
 * @param end label at the right end of the axis
 */
export function bars(lines: readonly Bar[], end: string): string {
  const height = lines.length * LINE + 24
  const x = (part: number) => (LEFT + Math.min(1, Math.max(0, part)) * WIDTH).toFixed(1)
  const drawn = lines.map(({ name, value, low, high, label }, n) => {
    const y = n * LINE + 18
    const whisker =
      low === null || high === null
        ? ''
        : `<path class="mark" stroke-width="2" d="M${x(low)} ${y}H${x(high)}M${x(low)} ${y - 5}v10M${x(high)} ${y - 5}v10"/>`
    return [
      `<text x="${LEFT - 10}" y="${y + 4}" text-anchor="end">${htmlText(cut(name))}</text>`,
      `<rect class="dot" opacity=".45" x="${LEFT}" y="${y - 8}" width="${(Number(x(value)) - LEFT).toFixed(1)}" height="16"/>`,
      whisker,
      `<text x="${LEFT + WIDTH + 14}" y="${y + 4}">${htmlText(label)}</text>`,
    ].join('')
  })
  const foot = lines.length * LINE + 18
  const axis = `<path class="axis" d="M${LEFT} 4V${foot - 14}M${LEFT + WIDTH} 4V${foot - 14}"/>`
  const ends = `<text class="grid" x="${LEFT}" y="${foot}">0</text><text class="grid" x="${LEFT + WIDTH}" y="${foot}" text-anchor="end">${htmlText(end)}</text>`
  const legend = lines.map(({ name, label }) => `${name}: ${label}`).join('; ')
  return `<svg viewBox="0 0 ${LEFT + WIDTH + RIGHT} ${height}" width="${LEFT + WIDTH + RIGHT}" height="${height}" role="img" aria-label="${htmlText(legend)}">${axis}${drawn.join('')}${ends}</svg>`
}

function cut(name: string): string {
  return name.length > 26 ? `…${name.slice(-25)}` : name
}
