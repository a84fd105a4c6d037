import { pluralize } from '#lib/pluralize'

/** Record kind of completed goals: the first line is the objective, the rest the result. */
export const GOAL = 'goal'

type Excerpted = { thought: string; metadata: Record<string, unknown> }

/** A part of a long text, with a sentence on how to read on. @param offset characters to skip */
export function partOf(text: string, offset: number, limit: number): string {
  if (offset > 0 && offset >= text.length)
    return `[The text ends before this offset: it has ${text.length} characters.]`
  // Half of a surrogate pair is not valid text.
  const part = text.slice(offset, offset + limit).replace(/[\ud800-\udbff]$/, '')
  const next = offset + part.length
  return next < text.length
    ? `${part}\n[${pluralize(text.length - next, 'more character')}; read on with offset=${next}.]`
    : part
}

/** Share of an excerpt of a completed goal that its objective may take. */
const OBJECTIVE_SHARE = 0.4
/** Number of characters shown before a match. */
const LEAD = 20

/**
 * Returns a record as one line: of a completed goal the beginning of its objective, then its result.
 * @param query words around which a long text is shown; without it, the beginning is shown
 */
export function excerptOf({ thought, metadata: { kind } }: Excerpted, longest: number, query = ''): string {
  const end = kind === GOAL ? thought.indexOf('\n') : -1
  if (end < 0) return around(thought, query, longest)
  const objective = lineOf(thought.slice(0, end), Math.floor(longest * OBJECTIVE_SHARE))
  return `${objective} → ${around(thought.slice(end), query, longest - objective.length)}`
}

/** Returns the part of a text that has the most words of a query, on one line. */
function around(text: string, query: string, longest: number): string {
  const line = lineOf(text, Number.POSITIVE_INFINITY)
  const lower = line.toLowerCase()
  const words = query.toLowerCase().match(/[\p{L}\p{N}]{3,}/gu) ?? []
  const found = [...new Set(words.map(word => lower.indexOf(word)))].filter(at => at >= 0).sort((a, b) => a - b)
  const countFrom = (start: number) => found.filter(at => at >= start && at < start + longest - LEAD).length
  const best = [0, ...found].reduce((a, b) => (countFrom(b) > countFrom(a) ? b : a))
  const start = Math.max(0, best - LEAD)
  return `${start > 0 ? '…' : ''}${lineOf(line.slice(start), longest)}`
}

/** One line that shows what a text is about. */
export function lineOf(text: string, longest: number): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > longest ? `${line.slice(0, longest).replace(/[\ud800-\udbff]$/, '')}…` : line
}
