/**
 * Matches a column against a list, as in `agent_id ${AMONG}`. The list is one parameter, `jsonList(…)`, so that its
 * length does not change the SQL and one prepared statement suffices.
 */
export const AMONG = 'IN (SELECT value FROM json_each(?))'
/** Returns the parameter for `AMONG`. */
export function jsonList(values: readonly (string | number)[]): string {
  return JSON.stringify(values)
}

/** Date limits of a list, in ISO 8601. */
export interface Dates {
  since?: string | undefined
  before?: string | undefined
}

/** One condition of a WHERE clause, with its parameters. */
export interface Condition {
  where: string
  params: unknown[]
}

/** Returns conditions that limit a column of milliseconds to the dates of a list. */
export function datesIn(column: string, { since, before }: Dates) {
  const parts: Condition[] = []
  if (since !== undefined) parts.push({ where: `${column} >= ?`, params: [Date.parse(since)] })
  if (before !== undefined) parts.push({ where: `${column} < ?`, params: [Date.parse(before)] })
  return parts
}

/** Joins conditions with AND. */
export function allOf(parts: readonly Condition[]): Condition {
  const where = parts.length === 0 ? '1 = 1' : parts.map(part => part.where).join(' AND ')
  return { where, params: parts.flatMap(part => part.params) }
}

/** Returns stored milliseconds as an ISO 8601 UTC string; null for null. */
export function isoTime<T extends number | null>(ms: T): T extends null ? null : string
export function isoTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString()
}
/** Converts stored integer micro-dollars to dollars. */
export function usdOf(micros: number): number {
  return micros / 1e6
}

/** A record whose row has numbers in some fields: times in milliseconds, and 1 or 0 for true or false. */
export type Stored<T, Numbers extends keyof T> = Omit<T, Numbers> & {
  [K in Numbers]: number | Extract<T[K], null>
}
