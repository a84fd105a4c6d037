/** How many columns of a terminal a text takes, and how it is made to fit. Texts are printable: without control characters. */

const ZERO = /\p{Mn}|\p{Me}/u
// East Asian Wide and Fullwidth (Unicode Standard Annex 11), and emoji by default presentation.
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u

export function widthOf(text: string): number {
  let width = 0
  for (const character of text) width += columnsOf(character)
  return width
}

function columnsOf(character: string): number {
  if (character < '\u0300') return 1
  return ZERO.test(character) ? 0 : WIDE.test(character) ? 2 : 1
}

/** The text with spaces up to a width. */
export function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

/** Returns the beginning of a string that fits into this number of columns. */
export function take(text: string, width: number): string {
  let taken = ''
  let left = width
  for (const character of text) {
    left -= columnsOf(character)
    if (left < 0) break
    taken += character
  }
  return taken
}

/**
 * The text in lines of a width, broken between words.
 * @param hard also breaks a word that is longer than a line; else such a word has a line of its own, which is too long
 */
export function wrap(text: string, width: number, hard = false): string[] {
  return text.split('\n').flatMap(line => wrapLine(line, Math.max(1, width), hard))
}

/**
 * A text that has been laid out, made to fit: a line that is too long goes on below, further in than it began, and behind its
 * name where it is a name and a value. Lines that fit stay as they are.
 */
export function fold(text: string, columns: number): string {
  return text
    .split('\n')
    .map(line => (widthOf(line) <= columns ? line : foldLine(line, columns)))
    .join('\n')
}

function foldLine(line: string, columns: number): string {
  const [indent = ''] = /^ */.exec(line) ?? []
  const [head, ...rest] = line.slice(indent.length).split(/ {2,}/)
  const [, bullet = ''] = /^([-*•→!✓✗…·+~] )/u.exec(line.slice(indent.length)) ?? []
  const named = rest.length === 1 && head !== '' ? widthOf(line.slice(0, -rest[0]!.length || undefined)) : columns
  const below = named <= columns / 2 ? named : indent.length + (rest.length > 0 ? 4 : bullet.length)
  // A very narrow terminal leaves no space for an indent.
  const hang = ' '.repeat(Math.min(below, Math.floor(columns / 2)))
  const [first, ...more] = wrapLaid(line, columns, columns - hang.length)
  return [first, ...more.map(part => hang + part)].join('\n')
}

/** Breaks between words; the spaces of the layout stay in the first line. */
function wrapLaid(line: string, first: number, others: number): string[] {
  const lines = ['']
  for (const [, space = '', word = ''] of line.matchAll(/( *)([^ ]+)/g)) {
    const last = lines.at(-1)!
    const width = lines.length === 1 ? first : others
    if (last.trim() === '' || widthOf(last + space + word) <= width) lines[lines.length - 1] = last + space + word
    else lines.push(word)
  }
  return lines
}

function wrapLine(text: string, width: number, hard: boolean): string[] {
  if (widthOf(text) <= width) return [text]
  const lines: string[] = []
  let line = ''
  for (const word of text.trim().split(/ +/)) {
    const longer = line === '' ? word : `${line} ${word}`
    if (widthOf(longer) <= width) line = longer
    else {
      if (line !== '') lines.push(line)
      line = word
      while (hard && widthOf(line) > width) {
        // A character wider than the line still takes its place.
        const part = take(line, width) || [...line][0]!
        lines.push(part)
        line = line.slice(part.length)
      }
    }
  }
  return line === '' ? lines : [...lines, line]
}
