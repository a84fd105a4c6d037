import type { Statement } from '../contract.ts'
import type { Condition } from './columns.ts'

/**
 * Returns a statement that inserts a row, given as its columns.
 * @param conflict an ON CONFLICT clause
 */
export function insertInto(table: string, row: object, conflict = ''): Statement {
  return { sql: `${columnsOf(table, row)} VALUES (${marksOf(row)}) ${conflict}`, params: Object.values(row) }
}

/** Returns a statement that inserts a row if a condition holds. See `insertInto`. */
export function insertIf(table: string, row: object, { where, params }: Condition, conflict = ''): Statement {
  return {
    sql: `${columnsOf(table, row)} SELECT ${marksOf(row)} WHERE ${where} ${conflict}`,
    params: [...Object.values(row), ...params],
  }
}

function columnsOf(table: string, row: object): string {
  return `INSERT INTO ${table} (${Object.keys(row).join(', ')})`
}

function marksOf(row: object): string {
  return Object.keys(row)
    .map(() => '?')
    .join(', ')
}
