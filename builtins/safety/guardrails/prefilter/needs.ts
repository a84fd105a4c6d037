import { type Node, parsePattern } from '../linear/parse.ts'

/** One of these literals occurs in every match, between `min` and `max` characters after its start. */
export interface RequiredLiteral {
  any: readonly string[]
  min: number
  max: number
}

/** Properties of a pattern that are known without matching it. */
export interface Needs {
  /** Most selective first. */
  needs: readonly RequiredLiteral[]
  /** Maximum length of a match; Infinity if unbounded. */
  longest: number
  /** Number of characters that the pattern looks at before and after a match. */
  behind: number
  ahead: number
}

/** Properties of a part of a pattern. `exact` has all texts that it matches, if they are few. */
interface Part {
  min: number
  max: number
  exact?: readonly string[]
  needs: readonly RequiredLiteral[]
}

const NOTHING: Part = { min: 0, max: 0, exact: [''], needs: [] }
/** Maximum number of literals; more make the automaton large and are not selective. */
const MOST_EXACT = 80
const MOST_NEEDS = 4
/** Maximum length of a literal; its beginning is as selective as all of it. */
const LONGEST_LITERAL = 10

/** Returns the symbol of a character: in lower case, each digit as 0. */
function symbol(char: string): string {
  return /\d/.test(char) ? '0' : char.toLowerCase()
}

/**
 * Returns the literals without which an expression cannot match, and their positions (R. Cox, 'Regular Expression
 * Matching with a Trigram Index', 2012). @throws PatternError for backreferences
 */
export function needsOf({ source }: RegExp): Needs {
  const looks = { behind: 1, ahead: 1 }
  const whole = partOf(parsePattern(source, { looks: true }), looks)
  const needs = [...whole.needs, ...toRequiredLiteral(whole)].filter(({ any }) => weightOf(any) >= 1)
  needs.sort((a, b) => weightOf(b.any) - weightOf(a.any))
  return { needs: needs.slice(0, MOST_NEEDS), longest: whole.max, ...looks }
}

function partOf(node: Node, looks: { behind: number; ahead: number }): Part {
  switch (node.kind) {
    case 'edge':
      return NOTHING
    case 'one': {
      const exact = charactersOf(node.atom)
      return { min: 1, max: 1, needs: [], ...(exact && { exact }) }
    }
    case 'look': {
      const seen = partOf(node.of, looks)
      const side = node.behind ? 'behind' : 'ahead'
      looks[side] = Math.max(looks[side], seen.max + 1)
      if (!node.behind || !node.wanted) return NOTHING
      return { min: 0, max: 0, needs: shiftNeeds([...seen.needs, ...toRequiredLiteral(seen)], -seen.max, -seen.min) }
    }
    case 'all':
      return combineSequence(partsOf(node.parts, looks))
    case 'any':
      return combineAlternatives(node.parts.map(part => partOf(part, looks)))
    case 'repeat': {
      const once = partOf(node.of, looks)
      const rest: Part = { min: 0, max: once.max === 0 ? 0 : (node.max - node.min) * once.max, needs: [] }
      if (node.max === node.min) return combineSequence(Array<Part>(node.min).fill(once))
      if (node.min === 0 && node.max === 1 && once.exact) return { ...rest, exact: [...new Set(['', ...once.exact])] }
      return combineSequence([...Array<Part>(node.min).fill(once), rest])
    }
  }
}

/** Joins characters that match themselves into one part. */
function partsOf(nodes: readonly Node[], looks: { behind: number; ahead: number }): Part[] {
  const parts: Part[] = []
  for (let n = 0; n < nodes.length; n++) {
    let plain = ''
    for (let node = nodes[n]; node?.kind === 'one' && node.atom.length === 1 && node.atom !== '.'; node = nodes[++n])
      plain += symbol(node.atom)
    if (plain) parts.push({ min: plain.length, max: plain.length, exact: [plain], needs: [] })
    if (n < nodes.length) parts.push(partOf(nodes[n] as Node, looks))
  }
  return parts
}

function combineSequence(parts: readonly Part[]): Part {
  let row = NOTHING
  const needs: RequiredLiteral[] = []
  let min = 0
  let max = 0
  // `row` has the exact texts that end here, which begin between `from` and `to`.
  let from = 0
  let to = 0
  let broken = false
  for (const part of parts) {
    const joined = row.exact && part.exact && product(row.exact, part.exact)
    if (joined) row = { ...row, exact: joined }
    else {
      needs.push(...shiftNeeds(toRequiredLiteral(row), from, to), ...shiftNeeds(part.needs, min, max))
      broken = true
      row = part.exact ? part : NOTHING
      from = part.exact ? min : min + part.min
      to = part.exact ? max : max + part.max
    }
    min += part.min
    max += part.max
    if (joined) needs.push(...shiftNeeds(part.needs, min - part.min, max - part.max))
  }
  if (!broken && row.exact) return { min, max, exact: row.exact, needs }
  return { min, max, needs: [...needs, ...shiftNeeds(toRequiredLiteral(row), from, to)] }
}

function combineAlternatives(parts: readonly Part[]): Part {
  const min = Math.min(...parts.map(part => part.min))
  const max = Math.max(...parts.map(part => part.max))
  const exact = [...new Set(parts.flatMap(part => part.exact ?? []))]
  if (parts.every(part => part.exact) && exact.length <= MOST_EXACT) return { min, max, exact, needs: [] }
  // The most selective literals of each alternative.
  const best = parts.map(part =>
    [...part.needs, ...toRequiredLiteral(part)].reduce<RequiredLiteral | undefined>(
      (one, other) => (one && weightOf(one.any) >= weightOf(other.any) ? one : other),
      undefined,
    ),
  )
  if (best.some(need => need === undefined)) return { min, max, needs: [] }
  const all = best as RequiredLiteral[]
  const together = {
    any: leanest(all.flatMap(need => need.any)),
    min: Math.min(...all.map(need => need.min)),
    max: Math.max(...all.map(need => need.max)),
  }
  return { min, max, needs: [together] }
}

function toRequiredLiteral({ exact }: Part): RequiredLiteral[] {
  return exact && weightOf(exact) > 0 ? [{ any: leanest(exact), min: 0, max: 0 }] : []
}

function shiftNeeds(needs: readonly RequiredLiteral[], min: number, max: number): RequiredLiteral[] {
  return needs.map(need => ({ any: need.any, min: need.min + min, max: need.max + max }))
}

function product(before: readonly string[], after: readonly string[]): string[] | undefined {
  if (before.length * after.length > MOST_EXACT) return undefined
  const [only = ''] = after
  if (after.length === 1) return before.map(one => one + only)
  return [...new Set(before.flatMap(one => after.map(other => one + other)))]
}

/** Returns shortened literals without those that begin with another. */
function leanest(literals: readonly string[]): string[] {
  const kept: string[] = []
  // After sorting, a literal follows its prefixes.
  for (const literal of literals.map(each => each.slice(0, LONGEST_LITERAL)).sort()) {
    if (kept.length === 0 || !literal.startsWith(kept.at(-1) as string)) kept.push(literal)
  }
  return kept
}

/** Returns how selective these literals are: higher for more and rarer characters. */
function weightOf(literals: readonly string[]): number {
  let least = Number.POSITIVE_INFINITY
  for (const literal of literals) {
    let weight = 0
    for (let at = 0; at < literal.length; at++) weight += WEIGHTS[literal.charCodeAt(at)] ?? 2
    least = Math.min(least, weight)
  }
  return least
}

/** Weights of ASCII characters; others are more selective. */
const WEIGHTS = Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code)
  return '0 .'.includes(char) ? 0.5 : /[a-z]/.test(char) ? 0.6 : 1
})

const ESCAPES: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', d: '0' }
/** Maximum number of characters of an atom that are listed. */
const FEW = 4

function charactersOf(atom: string): string[] | undefined {
  if (atom === '.') return undefined
  if (atom[0] !== '[') return oneCharacter(atom)
  if (atom[1] === '^') return undefined
  const inside = atom.slice(1, -1).match(/\\u[\da-f]{4}|\\.|[^\\]/gisu) ?? []
  const found = new Set<string>()
  for (let n = 0; n < inside.length; n++) {
    const first = oneCharacter(inside[n] as string)
    if (!first) return undefined
    const past = inside[n + 1] === '-' && n + 2 < inside.length ? oneCharacter(inside[n + 2] as string) : undefined
    const last = past?.[0]?.charCodeAt(0) ?? 0
    if (past) n += 2
    for (let code = (first[0] as string).charCodeAt(0); ; code++) {
      found.add(symbol(String.fromCharCode(code)))
      if (code >= last || found.size > FEW) break
    }
  }
  return found.size > FEW ? undefined : [...found]
}

function oneCharacter(written: string): string[] | undefined {
  if (written[0] !== '\\') return [symbol(written)]
  const name = written[1] as string
  if (/[ux]/.test(name) && written.length > 2)
    return [symbol(String.fromCharCode(Number.parseInt(written.slice(2), 16)))]
  if (name in ESCAPES) return [ESCAPES[name] as string]
  return /[a-z]/i.test(name) ? undefined : [symbol(name)]
}
