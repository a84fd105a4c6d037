// Controls, invisible formatting (bidi, zero-width, tags), lone surrogates, and line breaks that are none for a terminal.
const UNPRINTABLE = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/**
 * Text that agents, users or files wrote, safe for a terminal: what moves the cursor, hides or reorders text is shown as
 * its escape (`\x1b`, `\u202e`). Line breaks and tabs stay.
 */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escapeOf)
}

/** The same on one line, for a cell of a table. */
export function printableLine(text: string): string {
  return printable(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t')
}

/** JSON text with the same characters escaped in JSON's own way. */
export function printableJson(text: string): string {
  return text.replace(UNPRINTABLE, character =>
    Array.from({ length: character.length }, (_, at) => unicodeEscape(character.charCodeAt(at))).join(''),
  )
}

function escapeOf(character: string): string {
  const code = character.codePointAt(0)!
  if (code > 0xffff) return `\\u{${code.toString(16)}}`
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : unicodeEscape(code)
}

function unicodeEscape(code: number): string {
  return `\\u${code.toString(16).padStart(4, '0')}`
}
