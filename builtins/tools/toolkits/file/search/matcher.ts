import { createContext, Script } from 'node:vm'
import { defineError } from '#kernel'
import { ripgrepPattern } from './ripgrep-pattern.ts'

/** Maximum number of characters that are matched at once; a longer text is divided between its lines. */
const PART_CHARS = 250_000
/**
 * Time limit for matching one part, in milliseconds, because some expressions take exponential time and block the
 * process.
 */
const FILE_MS = 250
/**
 * Number of tries: the limit includes time in which a busy machine ran other processes, but a slow expression exceeds
 * it again.
 */
const TRIES = 2

/** The search pattern is invalid or takes too long to match. */
export const PatternError = defineError({
  code: 'bad_pattern',
  status: 422,
  title: 'Invalid pattern',
  message: (p: { pattern: string; problem: string }) => `The pattern ${JSON.stringify(p.pattern)} ${p.problem}.`,
})

/** Special characters of regular expressions. */
const SIGNS = /[\\^$.*+?()[\]{}|]/

function plainLines(text: string, part: string, most: number): number[] {
  const found: number[] = []
  for (const [at, line] of text.split('\n').entries()) {
    if (found.length >= most) break
    if (line.includes(part)) found.push(at)
  }
  return found
}

/** Yields whole lines together, at most `PART_CHARS` unless a line is longer. The line end between two parts is left out. */
function* partsOf(text: string): Generator<string> {
  let from = 0
  while (text.length - from > PART_CHARS) {
    const last = text.lastIndexOf('\n', from + PART_CHARS)
    const end = last >= from ? last : text.indexOf('\n', from)
    if (end < 0) break
    yield text.slice(from, end)
    from = end + 1
  }
  yield text.slice(from)
}

const SEARCH = new Script(`{
  const found = []
  const expression = new RegExp(pattern, flags)
  const lines = text.split('\\n')
  for (let at = 0; at < lines.length && found.length < most; at++) if (expression.test(lines[at])) found.push(at)
  found.join()
}`)

export interface MatchOptions {
  literal: boolean
  ignore_case: boolean
}

/** Finds lines by a regular expression, within a time limit. */
export class Matcher {
  readonly #pattern: string
  readonly #source: string
  readonly #flags: string
  /** Whether the pattern has no special characters; it then needs no time limit. */
  readonly #isPlain: boolean

  /** @throws PatternError */
  constructor(pattern: string, { literal, ignore_case }: MatchOptions) {
    this.#pattern = pattern
    this.#source = literal ? pattern.replace(new RegExp(SIGNS, 'g'), '\\$&') : pattern
    this.#flags = ignore_case ? 'i' : ''
    this.#isPlain = !ignore_case && (literal || !SIGNS.test(pattern))
    try {
      new RegExp(this.#source, this.#flags)
    } catch (error) {
      const reason = (error as Error).message.replace(/^.*\/[a-z]*: /, '')
      const remedy = pattern.startsWith('(?i)')
        ? 'set ignore_case instead of (?i)'
        : 'correct it, or set literal to search for it as plain text'
      const problem = `is not a valid JavaScript regular expression (${reason}); ${remedy}`
      throw new PatternError({ pattern, problem }, { cause: error })
    }
  }

  /** Returns the pattern for ripgrep, see `ripgrepPattern`. */
  ripgrepPattern(): string | undefined {
    return ripgrepPattern(this.#source, this.#flags)
  }

  /** Returns the indices of at most `most` lines that match. @throws PatternError when it takes too long */
  linesIn(text: string, most: number): number[] {
    const found: number[] = []
    let before = 0
    for (const part of partsOf(text)) {
      for (const line of this.#linesInPart(part, most - found.length)) found.push(before + line)
      if (found.length >= most || part.length === text.length) break
      before += part.split('\n').length
    }
    return found
  }

  /** Returns the index of the first match in a line that `linesIn` has found. */
  columnIn(line: string): number {
    return Math.max(0, line.search(new RegExp(this.#source, this.#flags)))
  }

  #linesInPart(text: string, most: number): number[] {
    if (this.#isPlain) return plainLines(text, this.#pattern, most)
    const context = createContext({ pattern: this.#source, flags: this.#flags, text, most })
    let timeout: unknown
    for (let tries = 0; tries < TRIES; tries++) {
      try {
        const found = String(SEARCH.runInContext(context, { timeout: FILE_MS }))
        return found === '' ? [] : found.split(',').map(Number)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
        timeout = error
      }
    }
    const problem = 'takes too long to match; write it without nested repetitions such as (a+)+, or set literal'
    throw new PatternError({ pattern: this.#pattern, problem }, { cause: timeout })
  }
}
