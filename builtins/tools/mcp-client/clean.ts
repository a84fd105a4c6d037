/** Variation selectors beyond those of letters: they show nothing and can carry any text. */
const HIDING = /[\u{e0100}-\u{e01ef}]/gu
/** What follows an escape, so that no rest of a sequence remains. */
const SEQUENCE = /[^\P{Cc}\t\n\r]\[[0-9;?]{0,32}[A-Za-z]/gu

/** A text of a server without what moves a cursor, hides, or reverses: control and format characters, halves of pairs. */
export function clean(text: string): string {
  const plain = text.replace(/\r\n?/g, '\n').replace(SEQUENCE, '').replace(HIDING, '')
  return plain.replace(/[^\P{Cc}\t\n]|[\p{Cf}\p{Cs}]/gu, '')
}

/** The same on one line. */
export function cleanLine(text: string): string {
  return clean(text).replace(/\s+/g, ' ').trim()
}

/** Shortens a text, with a mark where characters are missing. */
export function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest - 1).replace(/[\ud800-\udbff]$/, '')}…`
}
