import { htmlPage, htmlText } from '#lab/trials/contract'
import type { DemoReport, ReportBlock } from './contract.ts'
import { spanOf } from './markdown.ts'
import { rangeOf } from './spark.ts'

const WIDTH = 560
const HEIGHT = 70
const LEFT = 130

/** Returns the report as one self-contained HTML file with plots and without scripts. */
export function html({ title, lead, blocks }: DemoReport): string {
  const body = [`<h1>${htmlText(title)}</h1>`, `<p class="dim">${htmlText(lead)}</p>`, ...blocks.map(blockOf)]
  return htmlPage(title, body.join('\n'))
}

function blockOf(block: ReportBlock): string {
  switch (block.kind) {
    case 'heading':
      return `<h2>${htmlText(block.text)}</h2>`
    case 'text':
      return `<p>${htmlText(block.text)}</p>`
    case 'list':
      return `<ul>${block.items.map(item => `<li>${htmlText(item)}</li>`).join('')}</ul>`
    case 'table': {
      const cells = (row: readonly string[], tag: string) =>
        row.map(each => `<${tag}>${htmlText(each)}</${tag}>`).join('')
      const rows = block.rows.map(row => `<tr>${cells(row, 'td')}</tr>`).join('')
      return `<table><thead><tr>${cells(block.head, 'th')}</tr></thead><tbody>${rows}</tbody></table>`
    }
    case 'quote':
      return `<blockquote>${htmlText(block.text.trim())}\n<span class="dim">${htmlText(block.by)}</span></blockquote>`
    case 'series':
      return `<figure>${plotOf(block)}<figcaption>${htmlText(block.title)}</figcaption></figure>`
  }
}

/** Draws one curve per line, on a common scale. */
function plotOf({ lines, unit, title, range }: Extract<ReportBlock, { kind: 'series' }>): string {
  const [lowest, highest] = range ?? rangeOf(lines.flatMap(({ values }) => values))
  const span = highest - lowest || 1
  const drawn = lines.map(({ name, values }, n) => {
    const top = n * (HEIGHT + 34) + 10
    const x = (at: number) => (LEFT + (at / Math.max(1, values.length - 1)) * WIDTH).toFixed(1)
    const y = (value: number) => (top + HEIGHT - ((value - lowest) / span) * HEIGHT).toFixed(1)
    const points = values.map((value, at) => `${x(at)},${y(value)}`).join(' ')
    const zero = lowest < 0 && highest > 0 ? `<path class="axis" d="M${LEFT} ${y(0)}h${WIDTH}"/>` : ''
    return [
      `<text x="0" y="${top + HEIGHT / 2}">${htmlText(name)}</text>`,
      `<path class="axis" d="M${LEFT} ${top}v${HEIGHT}h${WIDTH}" fill="none"/>${zero}`,
      `<polyline class="mark" stroke-width="2" points="${points}"/>`,
      `<text class="grid" x="${LEFT}" y="${top + HEIGHT + 17}">${htmlText(spanOf(values, unit))}</text>`,
    ].join('')
  })
  const height = lines.length * (HEIGHT + 34) + 10
  return `<svg viewBox="0 0 ${LEFT + WIDTH + 10} ${height}" width="${LEFT + WIDTH + 10}" height="${height}" role="img" aria-label="${htmlText(title)}">${drawn.join('')}</svg>`
}
