import { EVENTS_INSERT, type PlannedEffect, type Statement } from './contract.ts'

/** SQLite takes 500 at most; more than some save little and make each number of them another statement to prepare. */
const MOST_IN_ONE = 100
const NAMES_EVENTS = /\bevents\b/
const READS = /\bFROM (\w+)/g
const CHANGES = /\b(?:INTO|UPDATE(?: OR \w+)?|DELETE FROM) (\w+)/g

/** A statement of a transaction; `must`: it has to change one row. */
interface Step {
  statement: Statement
  must: boolean
}

/** A statement that appends events; `changed`: the tables that statements after it change. */
interface Appending {
  step: Step
  events: number
  changed: Set<string>
}

/**
 * Returns the statements of a transaction in order; one statement appends all events between which nothing reads events, and
 * nothing changes what a later one reads.
 */
export function mergeEvents(planned: readonly PlannedEffect[]): Step[] {
  const steps: Step[] = []
  let last: Appending | undefined
  for (const { statements, must } of planned) {
    for (const statement of statements) {
      const isEvent = !must && statement.sql.startsWith(EVENTS_INSERT)
      if (isEvent && last && takes(last, statement)) {
        last.step.statement = joinStatements(last.step.statement, statement)
        last.events++
        continue
      }
      const step = { statement, must }
      steps.push(step)
      if (isEvent) last = { step, events: 1, changed: new Set() }
      else if (NAMES_EVENTS.test(statement.sql)) last = undefined
      else if (last) for (const [, table] of statement.sql.matchAll(CHANGES)) last.changed.add(table!)
    }
  }
  return steps
}

function takes({ events, changed }: Appending, { sql }: Statement): boolean {
  if (events >= MOST_IN_ONE) return false
  return changed.size === 0 || ![...sql.matchAll(READS)].some(([, table]) => changed.has(table!))
}

function joinStatements(one: Statement, other: Statement): Statement {
  return {
    sql: `${one.sql} UNION ALL${other.sql.slice(EVENTS_INSERT.length)}`,
    params: [...(one.params ?? []), ...(other.params ?? [])],
  }
}
