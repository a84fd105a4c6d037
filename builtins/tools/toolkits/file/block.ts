/** A range of a text that an edit replaces. */
export interface Block {
  start: number
  end: number
  /** Returns replacement text with the indentation of the block. */
  indent(text: string): string
}

/** Maximum number of lines shown of the closest block, and maximum number of lines compared. */
const SHOWN = 12
const COMPARED = 200_000

const asItStands = (text: string) => text

/** Returns all exact occurrences of `part`, including overlapping ones, which are also ambiguous. */
export function exact(text: string, part: string): Block[] {
  const found: Block[] = []
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1))
    found.push({ start: at, end: at + part.length, indent: asItStands })
  return found
}

/** Line comparisons for a text without an exact match, in the order in which they are tried. */
export const matchers: readonly { name: string; find(text: string, part: string): Block[] }[] = [
  { name: 'blanks', find: (text, part) => blocksOf(text, part, sameBlanks, () => asItStands) },
  { name: 'indentation', find: (text, part) => blocksOf(text, part, trimLine, findIndent) },
]

/** Keeps the indentation, collapses other runs of blanks, and removes trailing ones. */
function sameBlanks(line: string): string {
  const [indent = ''] = /^\s*/.exec(line) ?? []
  return indent + line.slice(indent.length).trimEnd().replace(/\s+/g, ' ')
}

function trimLine(line: string): string {
  return line.trim().replace(/\s+/g, ' ')
}

function blocksOf(
  text: string,
  part: string,
  form: (line: string) => string,
  indentOf: (found: readonly string[], wanted: readonly string[]) => Block['indent'],
): Block[] {
  const endsLine = part.endsWith('\n')
  const wanted = (endsLine ? part.slice(0, -1) : part).split('\n')
  if (wanted.every(line => line.trim() === '')) return []
  const lines = text.split('\n')
  const [forms, sought] = [lines.map(form), wanted.map(form)]
  const found: Block[] = []
  let start = 0
  for (let at = 0; at + sought.length <= lines.length; start += lines[at++]!.length + 1) {
    if (!sought.every((line, n) => forms[at + n] === line)) continue
    const block = lines.slice(at, at + sought.length)
    const end = start + block.join('\n').length
    const isLast = at + sought.length === lines.length
    found.push({ start, end: end + (endsLine && !isLast ? 1 : 0), indent: indentOf(block, wanted) })
  }
  return found
}

/** Returns a function that replaces the indentation of the wanted lines with that of the found lines. */
function findIndent(found: readonly string[], wanted: readonly string[]): Block['indent'] {
  const at = wanted.findIndex(line => line.trim() !== '')
  const [from = '', to = ''] = [wanted[at], found[at]].map(line => /^\s*/.exec(line ?? '')?.[0])
  return text =>
    text
      .split('\n')
      .map(line => (line.trim() === '' ? line : line.startsWith(from) ? to + line.slice(from.length) : line))
      .join('\n')
}

/** Returns the most similar lines, numbered; undefined when none is similar. */
export function nearest(text: string, part: string): string | undefined {
  const lines = text.split('\n')
  const wanted = part.replace(/\n$/, '').split('\n').map(trimLine)
  const forms = lines.slice(0, COMPARED).map(trimLine)
  const words = wanted.map(wordsOf)
  let best = { at: 0, score: 0 }
  for (let at = 0; at < forms.length; at++) {
    let score = 0
    for (let n = 0; n < Math.min(wanted.length, SHOWN) && at + n < forms.length; n++) {
      score += likeness(forms[at + n]!, wanted[n]!, words[n]!)
    }
    if (score > best.score) best = { at, score }
  }
  if (best.score < 0.5) {
    const at = wanted.length === 1 ? lineLike(forms, wanted[0]!) : -1
    if (at < 0) return undefined
    best = { at, score: 1 }
  }
  const block = lines.slice(best.at, best.at + Math.min(SHOWN, wanted.length + 2))
  return block.map((line, n) => `${best.at + n + 1}\t${line.slice(0, 300)}`).join('\n')
}

/**
 * Returns the index of the first line that contains most of a mistyped text, as `import { getUser }` for `getUsers`; -1
 * for none.
 */
function lineLike(lines: readonly string[], part: string): number {
  const sought = piecesOf(part)
  let best = { at: -1, score: 0 }
  for (const [at, line] of lines.entries()) {
    const held = piecesOf(line)
    const score = [...sought].filter(piece => held.has(piece)).length / sought.size
    if (score > best.score) best = { at, score }
  }
  return best.score < 0.6 ? -1 : best.at
}

/** Returns all sequences of three characters. */
function piecesOf(text: string): Set<string> {
  return new Set(Array.from({ length: Math.max(0, text.length - 2) }, (_, at) => text.slice(at, at + 3)))
}

/** Returns the similarity from 0 to 1: 1 for equal lines, else the share of common words. */
function likeness(line: string, wanted: string, words: ReadonlySet<string>): number {
  if (wanted === '' || line === '') return 0
  if (line === wanted) return 1
  const own = wordsOf(line)
  if (own.size === 0 || words.size === 0) return 0
  let common = 0
  for (const word of own) if (words.has(word)) common++
  return common / Math.max(own.size, words.size)
}

function wordsOf(line: string): Set<string> {
  return new Set(line.match(/[\p{L}\p{N}_]+/gu) ?? [])
}
