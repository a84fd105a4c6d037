/** Names of the keys that send no printable character. */
const NAMED: Readonly<Record<string, string>> = {
  '\x03': 'ctrl-c',
  '\r': 'enter',
  '\n': 'enter',
  '\x7f': 'backspace',
  '\b': 'backspace',
  '\x15': 'ctrl-u',
  '\x1b': 'escape',
  '\x1b[A': 'up',
  '\x1bOA': 'up',
  '\x1b[B': 'down',
  '\x1bOB': 'down',
  '\x1b[5~': 'page-up',
  '\x1b[6~': 'page-down',
}
// An escape sequence (CSI or SS3), or one character.
// biome-ignore lint/suspicious/noControlCharactersInRegex: keys are control characters
const KEY = /\x1b\[[0-9;?]*[ -/]*[@-~]|\x1bO[A-Za-z]|[\s\S]/gu

/**
 * Returns the keys that a terminal sent: names as in `NAMED`, else the character. Other control characters and escape
 * sequences are left out.
 */
export function keysOf(bytes: string): string[] {
  return (bytes.match(KEY) ?? []).flatMap(part => NAMED[part] ?? (part >= ' ' && !part.startsWith('\x1b') ? part : []))
}
