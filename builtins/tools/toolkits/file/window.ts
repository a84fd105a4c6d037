import { contentTokens } from '#lib/output-limit'
import { pluralize } from '#lib/pluralize'
import { textTokens } from '#lib/text-tokens'

/** Maximum number of characters of a line shown as one row. */
const ROW_CHARS = 2_000

/**
 * Returns a window of a text as numbered rows, with a note on how to see the rest. A row is a line; a very long line
 * takes several rows, so that all of it can be reached. Text behind the window is not scanned.
 * @param offset rows to skip
 * @param limit maximum number of rows; fewer when they are long
 * @param result_tokens maximum tokens of the whole result
 */
export function windowOf(text: string, offset: number, limit: number, result_tokens?: number): string {
  if (text === '') return '[The file is empty.]'
  const shown: string[] = []
  let row = 0
  let left = contentTokens(result_tokens)
  let more = 0
  for (const { label, start, end } of rowsOf(text)) {
    if (row++ < offset) continue
    const line = `${label}\t${text.slice(start, end).replace(/\r$/, '')}`
    left -= textTokens(line) + 1
    if (shown.length === limit || (shown.length > 0 && left < 0)) {
      more = start
      break
    }
    shown.push(line)
  }
  if (shown.length === 0)
    return `[Nothing to show: the file has only ${pluralize(row, 'row')}, and offset is ${offset}.]`
  const next = offset + shown.length
  const part = Math.floor((100 * more) / text.length)
  const notes = [
    ...(shown.some(line => line.startsWith('…\t')) ? [`Long lines continue in rows marked "…".`] : []),
    ...(more > 0 ? [`This ends at ${part} % of the file; read on with offset=${next}.`] : []),
  ]
  return [...shown, ...notes.map(note => `[${note}]`)].join('\n')
}

/** Yields the positions of a text's rows, in order. Does not split a character. */
function* rowsOf(text: string): Generator<{ label: string; start: number; end: number }> {
  let line = 1
  for (let start = 0; start < text.length; line++) {
    const found = text.indexOf('\n', start)
    const last = found < 0 ? text.length : found
    let label = String(line)
    while (last - start > ROW_CHARS) {
      const end = start + ROW_CHARS - (isHighSurrogate(text.charCodeAt(start + ROW_CHARS - 1)) ? 1 : 0)
      yield { label, start, end }
      label = '…'
      start = end
    }
    yield { label, start, end: last }
    start = last + 1
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code < 0xdc00
}
