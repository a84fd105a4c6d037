import { CONTROL } from '#lib/sanitize'

/** Escape sequences, removed as a whole so that no remainder stays visible. */
const SEQUENCE = /[^\P{Cc}\t\n\r]\[[0-9;?]{0,32}[A-Za-z]/gu

/**
 * Removes characters that move the cursor, hide text or reverse it: control and format characters, and unpaired
 * surrogates.
 */
export function clean(text: string): string {
  const plain = text.replace(/\r\n?/g, '\n').replace(SEQUENCE, '')
  return plain.replace(CONTROL, '').replace(/\p{Cs}/gu, '')
}

/** Cleans a string and puts it on one line. */
export function cleanLine(text: string): string {
  return clean(text).replace(/\s+/g, ' ').trim()
}

/** Shortens a text, with a mark where characters are missing. */
export function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
