import { canonicalJson } from '#core/runtime/contract'
import { z } from '#kernel'
import { brief } from '#lib/brief'
import { isTree } from '#lib/tree'
import type { Tool } from '#tools/toolkits/contract'
import { type ArgumentMatches, ArgumentPattern } from '../contract.ts'

/** What a rule needs to know of the tool of a call. */
export interface MatchedTool {
  /** Names of the arguments that a shell runs. */
  shell?: readonly string[] | undefined
  /** Default values by argument: an argument that has its default counts as left out. */
  defaults?: Readonly<Record<string, unknown>>
}

/** Returns what rules need to know of a tool. */
export function matchedTool({ shell_arguments, parameters }: Tool): MatchedTool {
  const { properties = {} } = z.toJSONSchema(parameters, { io: 'input', unrepresentable: 'any' })
  const defaults = Object.entries(properties).flatMap(([name, property]) =>
    typeof property === 'object' && 'default' in property ? [[name, property.default] as const] : [],
  )
  return { shell: shell_arguments, defaults: Object.fromEntries(defaults) }
}

/** Returns whether arguments match a rule: it has a matching condition for each of them that is not left out. */
export function isMatch(matches: ArgumentMatches | null, args: unknown, tool: MatchedTool = {}): boolean {
  return mismatchOf(matches, args, tool) === undefined
}

/** Returns which argument of a call does not match a rule, in words; undefined if all match. */
export function mismatchOf(
  matches: ArgumentMatches | null,
  args: unknown,
  { shell = [], defaults = {} }: MatchedTool = {},
): string | undefined {
  if (matches === null) return undefined
  if (!isTree(args)) return 'its arguments are no object'
  const isSet = ([name, value]: [string, unknown]) =>
    !(Object.hasOwn(defaults, name) && canonicalJson(value) === canonicalJson(defaults[name]))
  const extra = Object.entries(args).find(each => isSet(each) && !Object.hasOwn(matches, each[0]))
  if (extra) return `it has ${extra[0]}: ${brief(JSON.stringify(extra[1]))}, for which the rule has no condition`
  for (const [name, match] of Object.entries(matches)) {
    const value = Object.hasOwn(args, name) ? args[name] : defaults[name]
    if (matchesValue(match, value, shell.includes(name))) continue
    const given = value === undefined ? 'is left out' : `is ${brief(JSON.stringify(value))}`
    return `its ${name} ${given}, which does not match`
  }
  return undefined
}

function matchesValue(match: unknown, value: unknown, isShell: boolean): boolean {
  const pattern = ArgumentPattern.safeParse(match)
  if (!pattern.success) return value !== undefined && canonicalJson(match) === canonicalJson(value)
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
