/** A part of a text that an edit is about. */
export interface Block {
  start: number
  end: number
  /** Gives text that takes its place the indentation of the block. */
  indent(text: string): string
}

/** Lines of the closest block that are shown, and lines that are compared with it. */
const SHOWN = 12
const COMPARED = 200_000

const asItStands = (text: string) => text

/** Where `part` stands as it is, overlaps too: they are just as ambiguous. */
export function exact(text: string, part: string): Block[] {
  const found: Block[] = []
  for (let at = text.indexOf(part); at >= 0; at = text.indexOf(part, at + 1))
    found.push({ start: at, end: at + part.length, indent: asItStands })
  return found
}

/** How whole lines are compared where a text does not stand as it is, in this order. */
export const matchers: readonly { name: string; find(text: string, part: string): Block[] }[] = [
  { name: 'blanks', find: (text, part) => blocksOf(text, part, sameBlanks, () => asItStands) },
  { name: 'indentation', find: (text, part) => blocksOf(text, part, trimLine, findIndent) },
]

/** The indentation stays; other runs of blanks are one, and those at the end none. */
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

/** Moves text from the indentation that was given to the one that was found. */
function findIndent(found: readonly string[], wanted: readonly string[]): Block['indent'] {
  const at = wanted.findIndex(line => line.trim() !== '')
  const [from = '', to = ''] = [wanted[at], found[at]].map(line => /^\s*/.exec(line ?? '')?.[0])
  return text =>
    text
      .split('\n')
      .map(line => (line.trim() === '' ? line : line.startsWith(from) ? to + line.slice(from.length) : line))
      .join('\n')
}

/** The lines that are most like a text, numbered; undefined when none is like it. */
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

/** The first line that holds most of a text with a slip in it, as `getUsers` is held by `import { getUser }`; -1 for none. */
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

/** Three signs each. */
function piecesOf(text: string): Set<string> {
  return new Set(Array.from({ length: Math.max(0, text.length - 2) }, (_, at) => text.slice(at, at + 3)))
}

/** From 0 to 1: the same, or the share of words in common. */
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
