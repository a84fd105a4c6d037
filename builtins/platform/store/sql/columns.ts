/**
 * `agent_id ${AMONG}` holds for those of a list, which is one parameter however long it is: `jsonList(…)`. A place for each would make
 * another statement of each length.
 */
export const AMONG = 'IN (SELECT value FROM json_each(?))'
/** The parameter of `AMONG`. */
export function jsonList(values: readonly (string | number)[]): string {
  return JSON.stringify(values)
}

/** Dates in ISO 8601. */
export interface Dates {
  since?: string | undefined
  before?: string | undefined
}

/** A part of a WHERE, with its parameters. */
export interface Condition {
  where: string
  params: unknown[]
}

/** The parts that limit a column of milliseconds to the dates of a list. */
export function datesIn(column: string, { since, before }: Dates) {
  const parts: Condition[] = []
  if (since !== undefined) parts.push({ where: `${column} >= ?`, params: [Date.parse(since)] })
  if (before !== undefined) parts.push({ where: `${column} < ?`, params: [Date.parse(before)] })
  return parts
}

/** All parts as one condition. */
export function allOf(parts: readonly Condition[]): Condition {
  const where = parts.length === 0 ? '1 = 1' : parts.map(part => part.where).join(' AND ')
  return { where, params: parts.flatMap(part => part.params) }
}

/** ISO 8601 UTC of stored milliseconds, as on the wire. */
export function isoTime(ms: number): string {
  return new Date(ms).toISOString()
}
/** Dollars of stored integer micro-dollars. */
export function usdOf(micros: number): number {
  return micros / 1e6
}
