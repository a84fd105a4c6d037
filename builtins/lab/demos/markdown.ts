import type { DemoReport, ReportBlock } from './contract.ts'
import { rangeOf, sparkline } from './spark.ts'

/** Returns the report as Markdown that is also readable as plain text. */
export function markdown({ title, lead, blocks }: DemoReport): string {
  return `${[`# ${text(title)}`, text(lead), ...blocks.map(blockOf)].join('\n\n')}\n`
}

function blockOf(block: ReportBlock): string {
  switch (block.kind) {
    case 'heading':
      return `## ${text(block.text)}`
    case 'text':
      return text(block.text)
    case 'list':
      return block.items.map(item => `- ${text(item)}`).join('\n')
    case 'table':
      return tableOf(block.head, block.rows)
    case 'quote':
      return `> ${block.text.trim().split('\n').map(text).join('\n> ')}\n>\n> ${text(block.by)}`
    case 'series': {
      const width = Math.max(...block.lines.map(({ name }) => name.length))
      const range = block.range ?? rangeOf(block.lines.flatMap(({ values }) => values))
      const lines = block.lines.map(
        ({ name, values }) => `${name.padEnd(width)}  ${sparkline(values, range)}  ${spanOf(values, block.unit)}`,
      )
      return `${text(block.title)}\n\n\`\`\`\n${lines.map(line => plain(line).replace(/\s*\n\s*/g, ' ')).join('\n')}\n\`\`\``
    }
  }
}

/** Describes values by their first and last, and by their lowest and highest. */
export function spanOf(values: readonly number[], unit: string): string {
  if (values.length === 0) return ''
  const figure = (value: number) => value.toLocaleString('en-US', { maximumFractionDigits: 2 })
  const [lowest, highest] = rangeOf(values)
  return `${figure(values[0]!)} → ${figure(values.at(-1)!)} ${unit} (${figure(lowest)} to ${figure(highest)})`
}

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [head, ...rows].map(row => row.map(cell => text(cell).replaceAll('|', '\\|')))
  const widths = head.map((_, at) => Math.max(3, ...cells.map(row => [...(row[at] ?? '')].length)))
  const line = (row: readonly string[]) => `| ${widths.map((width, at) => (row[at] ?? '').padEnd(width)).join(' | ')} |`
  return [
    line(cells[0]!),
    `|${widths.map(width => '-'.repeat(width + 2)).join('|')}|`,
    ...cells.slice(1).map(line),
  ].join('\n')
}

/** Puts text on one line and escapes Markdown, so that text of agents cannot add a heading, a link or a picture. */
function text(words: string): string {
  return plain(words)
    .replace(/\s+/g, ' ')
    .trim()
    .replace(/[\\`*_{}[\]<>#!~]/g, '\\$&')
    .replace(/^([-+]|\d+[.)])(?=\s)/, '\\$1')
}

function plain(words: string): string {
  return words.replace(/(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}]/gu, '\ufffd').replaceAll('```', "'''")
}
