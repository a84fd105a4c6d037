import { EVENTS_INSERT, type PlannedEffect, type Statement } from './contract.ts'

const NAMES_EVENTS = /\bevents\b/

/** A statement of a transaction; `must`: it has to change one row. */
interface Step {
  statement: Statement
  must: boolean
}

/** Returns the statements of a transaction in order; one statement appends all events between which nothing reads events. */
export function mergeEvents(planned: readonly PlannedEffect[]): Step[] {
  const steps: Step[] = []
  let first: Step | undefined
  for (const { statements, must } of planned) {
    for (const statement of statements) {
      const isEvent = !must && statement.sql.startsWith(EVENTS_INSERT)
      if (isEvent && first) {
        first.statement = joined(first.statement, statement)
        continue
      }
      const step = { statement, must }
      steps.push(step)
      if (isEvent) first = step
      else if (NAMES_EVENTS.test(statement.sql)) first = undefined
    }
  }
  return steps
}

function joined(one: Statement, other: Statement): Statement {
  return {
    sql: `${one.sql} UNION ALL${other.sql.slice(EVENTS_INSERT.length)}`,
    params: [...(one.params ?? []), ...(other.params ?? [])],
  }
}
