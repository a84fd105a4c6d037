import { DECEIVING, printableJson, unicodeEscape } from '#lib/sanitize'
import type { Context } from '../context.ts'

export { printableJson }

/**
 * Makes text from agents, users or files safe for a terminal: characters that move the cursor, hide or reorder text
 * become escapes (`\x1b`, `\u202e`). Line breaks and tabs stay.
 */
export function printable(text: string): string {
  return text.replace(DECEIVING, escapeOf)
}

/** Makes text printable on one line, as for a table cell. */
export function printableLine(text: string): string {
  return printable(text).replaceAll('\n', '\\n').replaceAll('\t', '\\t')
}

/**
 * Prints the result of a command: its text, or its data as JSON for programs.
 * @returns exit code 0
 */
export function print({ terminal, json }: Pick<Context, 'terminal' | 'json'>, data: unknown, text: string): number {
  terminal.out(json ? printableJson(JSON.stringify(data, null, 2)) : text)
  return 0
}

function escapeOf(character: string): string {
  const code = character.codePointAt(0)!
  if (code > 0xffff) return `\\u{${code.toString(16)}}`
  return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : unicodeEscape(code)
}
