import { CommandError } from './contract.ts'

const NO_SHELL = 'the command is a single program with its arguments, without a shell'
/** Characters that a shell interprets, and the suggested alternative to each. */
const MEANINGS: Readonly<Record<string, string>> = {
  ';': 'run one command at a time',
  '&': 'run one command at a time; to run it in the background, set background',
  '|': 'run one command at a time; give text to the next one as `input`',
  '<': 'give the text as `input`',
  '>': 'write files with file_write',
  '(': 'quote it if you mean the character itself',
  ')': 'quote it if you mean the character itself',
  '`': 'run the inner command first',
  $: 'variables and $(…) are not supported; write the value, or put the character in single quotes',
  '*': 'name the files, which list_dir shows, or quote the character',
  '?': 'name the files, which list_dir shows, or quote the character',
  '[': 'name the files, which list_dir shows, or quote the character',
  '\n': 'run one command at a time',
  '\r': 'run one command at a time',
}

/** A command line that needs a shell. */
class OperatorError extends CommandError {}

/**
 * Returns the words of a command line.
 * @param hasShell whether a line with operators may run in sh, which requires that any program is allowed
 * @throws CommandError
 */
export function wordsOf(line: string, hasShell = false): string[] {
  try {
    const words = splitWords(line)
    // The line begins with an environment variable, as in TZ=UTC date.
    return hasShell && /^\w+=/.test(words[0]!) ? ['sh', '-c', line] : words
  } catch (error) {
    if (hasShell && error instanceof OperatorError) return ['sh', '-c', line]
    throw error
  }
}

/**
 * Splits a command line into words by the quoting rules of a shell. Unquoted operators, variables and patterns are
 * refused with an alternative, so that nothing is interpreted differently than expected.
 * @throws CommandError
 */
function splitWords(line: string): string[] {
  const words: string[] = []
  let word: string | undefined
  for (let at = 0; at < line.length; at++) {
    const sign = line[at]!
    if (sign === ' ' || sign === '\t') {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (sign === "'") {
      const end = line.indexOf("'", at + 1)
      if (end < 0) throw new CommandError({ problem: "a quotation that begins with ' is not closed" })
      word = (word ?? '') + line.slice(at + 1, end)
      at = end
    } else if (sign === '"') {
      const { text, end } = doubleQuoted(line, at + 1)
      word = (word ?? '') + text
      at = end
    } else if (sign === '\\') {
      const next = line[++at]
      if (next === undefined || next === '\n') throw new CommandError({ problem: 'the command ends with a backslash' })
      word = (word ?? '') + next
    } else {
      if (MEANINGS[sign]) refuse(sign)
      if (sign === '~' && word === undefined) {
        throw new OperatorError({ problem: `${NO_SHELL}: "~" is not supported; paths are relative to your workspace` })
      }
      word = (word ?? '') + sign
    }
  }
  if (word !== undefined) words.push(word)
  if (words.length === 0) throw new CommandError({ problem: 'the command is empty' })
  if (words.some(each => each.includes('\0')))
    throw new CommandError({ problem: 'the command contains a NUL character' })
  return words
}

function doubleQuoted(line: string, from: number): { text: string; end: number } {
  let text = ''
  for (let at = from; at < line.length; at++) {
    const sign = line[at]!
    if (sign === '"') return { text, end: at }
    if (sign === '$' || sign === '`') refuse(sign)
    // Within double quotes a backslash is literal, except before these characters.
    const next = sign === '\\' ? line[at + 1] : undefined
    if (next !== undefined && '"\\$`'.includes(next)) at++
    text += next !== undefined && '"\\$`'.includes(next) ? next : sign
  }
  throw new CommandError({ problem: 'a quotation that begins with " is not closed' })
}

function refuse(sign: string): never {
  throw new OperatorError({ problem: `${NO_SHELL}: ${JSON.stringify(sign)} is refused; ${MEANINGS[sign]}` })
}
