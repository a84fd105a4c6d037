import { canonicalJson } from '#core/runtime/contract'
import { type ArgumentMatches, ArgumentPattern } from '../contract.ts'

/**
 * Returns whether arguments match a rule: the same names on both sides, and each value matches.
 * @param shell names of the arguments that a shell runs
 */
export function isMatch(matches: ArgumentMatches | null, args: unknown, shell: readonly string[] = []): boolean {
  if (matches === null) return true
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return false
  const given = new Map(Object.entries(args))
  const asked = Object.entries(matches)
  return (
    asked.length === given.size &&
    asked.every(([name, match]) => given.has(name) && matchesValue(match, given.get(name), shell.includes(name)))
  )
}

function matchesValue(match: unknown, value: unknown, isShell: boolean): boolean {
  const pattern = ArgumentPattern.safeParse(match)
  if (!pattern.success) return canonicalJson(match) === canonicalJson(value)
  if ('any' in pattern.data) return true
  const { glob } = pattern.data
  return typeof value === 'string' && isGlob(glob, value) && !(isShell && addsCommand(glob, value))
}

/** What separates commands in a shell, runs one within another, or redirects input or output. */
const OPERATORS = /[;&|<>`\n\r]|\$\(/g
/** The same, and the quotes that could let an operator act that is quoted in the rule. */
const OPERATORS_AND_QUOTES = /[;&|<>`\n\r'"\\]|\$\(/g

/** Returns whether a matching command line has operators that its glob does not have, in quotes or not. */
function addsCommand(glob: string, line: string): boolean {
  const count = (text: string, marks: RegExp) => text.match(marks)?.length ?? 0
  const marks = count(glob, OPERATORS) > 0 ? OPERATORS_AND_QUOTES : OPERATORS
  return count(line, marks) > count(glob, marks)
}

/** Maximum length of a string that can match a glob. */
const LONGEST = 10_000

/** Matches `..` as a path segment, also percent-encoded. */
const STEP_UP = /(?<=^|[/\\])(?:\.|%2e){2}(?=$|[/\\?#])/gi

/**
 * Matches a glob: `*` is anything but `/`, `**` is anything. Neither matches `..`, which would lead out of the named
 * folder. Scans the string once per part, so that no pattern is slow.
 */
function isGlob(glob: string, text: string): boolean {
  if (text.length > LONGEST || stepsUp(text) > stepsUp(glob)) return false
  // Positions in the text up to which the parts so far match.
  let ends = new Set([0])
  for (const part of glob.split(/(\*+)/)) {
    ends = part.startsWith('*') ? spread(ends, text, part !== '*') : step(ends, text, part)
  }
  return ends.has(text.length)
}

/** Counts `..` segments. Line breaks and tabs are removed first, because URL parsers ignore them. */
function stepsUp(text: string): number {
  return text.replace(/[\t\n\r]/g, '').match(STEP_UP)?.length ?? 0
}

function spread(ends: ReadonlySet<number>, text: string, overSlashes: boolean): Set<number> {
  const next = new Set<number>()
  for (let at = 0, open = false; at <= text.length; at++) {
    open = ends.has(at) || (open && (overSlashes || text[at - 1] !== '/'))
    if (open) next.add(at)
  }
  return next
}

function step(ends: ReadonlySet<number>, text: string, part: string): Set<number> {
  return new Set([...ends].filter(at => text.startsWith(part, at)).map(at => at + part.length))
}
