/** A part of a long text, with a sentence on how to read on. @param offset characters to skip */
export function partOf(text: string, offset: number, limit: number): string {
  if (offset > 0 && offset >= text.length)
    return `[The text ends before this offset: it has ${text.length} characters.]`
  // Half of a surrogate pair is not valid text.
  const part = text.slice(offset, offset + limit).replace(/[\ud800-\udbff]$/, '')
  const next = offset + part.length
  return next < text.length ? `${part}\n[${text.length - next} more characters; read on with offset=${next}.]` : part
}

/** One line that shows what a text is about. */
export function lineOf(text: string, longest: number): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > longest ? `${line.slice(0, longest).replace(/[\ud800-\udbff]$/, '')}…` : line
}
