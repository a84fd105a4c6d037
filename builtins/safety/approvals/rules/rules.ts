import { canonicalJson } from '#core/runtime/contract'
import { type ArgumentMatches, ArgumentPattern } from '../contract.ts'

/** Whether a call's arguments are such as a rule lets through: every argument is named by it, and every one that it names is there. */
export function isMatch(matches: ArgumentMatches | null, args: unknown): boolean {
  if (matches === null) return true
  if (typeof args !== 'object' || args === null || Array.isArray(args)) return false
  const given = new Map(Object.entries(args))
  const asked = Object.entries(matches)
  return (
    asked.length === given.size &&
    asked.every(([name, match]) => given.has(name) && matchesValue(match, given.get(name)))
  )
}

function matchesValue(match: unknown, value: unknown): boolean {
  const pattern = ArgumentPattern.safeParse(match)
  if (!pattern.success) return canonicalJson(match) === canonicalJson(value)
  if ('any' in pattern.data) return true
  return typeof value === 'string' && isGlob(pattern.data.glob, value)
}

/** Longer texts fit no glob. */
const LONGEST = 10_000

/** A step to the folder above, also as it is spelled in addresses. */
const STEP_UP = /(?<=^|[/\\])(?:\.|%2e){2}(?=$|[/\\?#])/gi

/**
 * `*` stands for anything but `/`, `**` for anything; neither for a step up, which would lead out of what the glob names.
 * Goes through the text once for each part, so that no pattern takes long.
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

/** Line breaks and tabs are no part of an address, wherever they stand in it. */
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
