import { CommandError } from './contract.ts'

const WHY_REFUSED = 'the command is a single program with its arguments, without a shell'
/** What to do instead of each character that a shell interprets. */
const ALTERNATIVES: Readonly<Record<string, string>> = {
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
 * @param mayUseShell whether a line with operators may run in sh, which requires that any program is allowed
 * @throws CommandError
 */
export function wordsOf(line: string, mayUseShell = false): string[] {
  try {
    const words = splitWords(line)
    // The line begins with an environment variable, as in TZ=UTC date.
    return mayUseShell && /^\w+=/.test(words[0]!) ? ['sh', '-c', line] : words
  } catch (error) {
    if (mayUseShell && error instanceof OperatorError) return ['sh', '-c', line]
    throw error
  }
}

/**
 * Splits a command line into words by the quoting rules of a shell. Unquoted operators, variables and patterns are
 * refused with an alternative, so that no line means something else here than in a shell.
 * @throws CommandError
 */
function splitWords(line: string): string[] {
  const words: string[] = []
  let word: string | undefined
  for (let index = 0; index < line.length; index++) {
    const char = line[index]!
    if (char === ' ' || char === '\t') {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (char === "'") {
      const end = line.indexOf("'", index + 1)
      if (end < 0) throw new CommandError({ problem: "a quotation that begins with ' is not closed" })
      word = (word ?? '') + line.slice(index + 1, end)
      index = end
    } else if (char === '"') {
      const { text, end } = readDoubleQuoted(line, index + 1)
      word = (word ?? '') + text
      index = end
    } else if (char === '\\') {
      const next = line[++index]
      if (next === undefined || next === '\n') throw new CommandError({ problem: 'the command ends with a backslash' })
      word = (word ?? '') + next
    } else {
      if (ALTERNATIVES[char]) refuseOperator(char)
      if (char === '~' && word === undefined) {
        throw new OperatorError({
          problem: `${WHY_REFUSED}: "~" is not supported; paths are relative to your workspace`,
        })
      }
      word = (word ?? '') + char
    }
  }
  if (word !== undefined) words.push(word)
  if (words.length === 0) throw new CommandError({ problem: 'the command is empty' })
  if (words.some(each => each.includes('\0')))
    throw new CommandError({ problem: 'the command contains a NUL character' })
  return words
}

/**
 * Reads a quotation in double quotes.
 * @param from index after the opening quote
 * @returns its text, and the index of the closing quote
 */
function readDoubleQuoted(line: string, from: number): { text: string; end: number } {
  let text = ''
  for (let index = from; index < line.length; index++) {
    const char = line[index]!
    if (char === '"') return { text, end: index }
    if (char === '$' || char === '`') refuseOperator(char)
    // Within double quotes a backslash is literal, except before these characters.
    const next = char === '\\' ? line[index + 1] : undefined
    if (next !== undefined && '"\\$`'.includes(next)) index++
    text += next !== undefined && '"\\$`'.includes(next) ? next : char
  }
  throw new CommandError({ problem: 'a quotation that begins with " is not closed' })
}

function refuseOperator(char: string): never {
  throw new OperatorError({ problem: `${WHY_REFUSED}: ${JSON.stringify(char)} is refused; ${ALTERNATIVES[char]}` })
}
