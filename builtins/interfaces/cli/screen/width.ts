/**
 * Measures strings in terminal columns, and wraps and pads them to a width. Strings must be free of control characters.
 */

import stringWidth from 'fast-string-width'

/** Fast path: measuring by grapheme is slow, and most text is ASCII. */
const ASCII = /^[ -~]*$/

/** Created at first use: it loads ICU's tables, which takes 5 ms of a start. */
let segmenter: Intl.Segmenter | undefined

function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter()
  return segmenter.segment(text)
}

export function widthOf(text: string): number {
  return ASCII.test(text) ? text.length : stringWidth(text)
}

/** Pads a string with spaces to a width. */
export function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

/** Returns the beginning of a string that fits into this number of columns. */
export function take(text: string, width: number): string {
  let taken = ''
  let left = width
  for (const { segment } of graphemesOf(text)) {
    left -= widthOf(segment)
    if (left < 0) break
    taken += segment
  }
  return taken
}

/**
 * Wraps text at a width, between words.
 * @param hard also breaks a word that is longer than a line; else such a word gets its own line, which is too long
 */
export function wrap(text: string, width: number, hard = false): string[] {
  return text.split('\n').flatMap(line => wrapLine(line, Math.max(1, width), hard))
}

/**
 * Wraps the lines of preformatted text that are too long. The rest is indented further, or aligned behind the name
 * where the line is a name and a value. Lines that fit stay as they are.
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
  const [, bullet = ''] = /^([-*•→!✓✗?…·+~] )/u.exec(line.slice(indent.length)) ?? []
  const named = rest.length === 1 && head !== '' ? widthOf(line.slice(0, -rest[0]!.length || undefined)) : columns
  const below = named <= columns / 2 ? named : indent.length + (rest.length > 0 ? 4 : bullet.length)
  // A very narrow terminal leaves no space for an indent.
  const hang = ' '.repeat(Math.min(below, Math.floor(columns / 2)))
  const [first, ...more] = wrapLaid(line, columns, columns - hang.length)
  return [first, ...more.map(part => hang + part)].join('\n')
}

/**
 * Words with the spaces before them. Chinese and Japanese have no spaces, so each of their characters counts as a word,
 * with the marks that may not begin a line.
 */
const WORDS =
  /( *)([\p{sc=Han}\p{sc=Hira}\p{sc=Kana}][ー、。，．：；！？）」』】〉》]*|(?:(?![\p{sc=Han}\p{sc=Hira}\p{sc=Kana}])[^ ])+)/gu

/** Splits text into the parts between which it may be wrapped. */
export function wordsOf(text: string): { space: string; word: string }[] {
  return Array.from(text.matchAll(WORDS), ([, space = '', word = '']) => ({ space, word }))
}

/** Wraps between words; the spaces of the layout stay in the first line. */
function wrapLaid(line: string, first: number, others: number): string[] {
  const lines = ['']
  for (const { space, word } of wordsOf(line)) {
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
  for (const { space, word } of wordsOf(text.trim())) {
    const longer = line === '' || space === '' ? line + word : `${line} ${word}`
    if (widthOf(longer) <= width) line = longer
    else {
      if (line !== '') lines.push(line)
      line = word
      while (hard && widthOf(line) > width) {
        // A character wider than the line is taken anyway, so that the loop ends.
        const part = take(line, width) || [...graphemesOf(line)][0]!.segment
        lines.push(part)
        line = line.slice(part.length)
      }
    }
  }
  return line === '' ? lines : [...lines, line]
}
