import { errorMessage, type PluginHandle } from '#kernel'
import { PluginMigrationError, PluginMigrations } from '#platform/store/contract'
import { SCHEMAS } from '#platform/store/statements'
import { UncopyableTablesError } from '../contract.ts'
import type { Table } from './copy.ts'

/** Number of migrations that a database has of each plugin. */
export type Counts = ReadonlyMap<string, number>
/** Statement whose rows `countsOf` takes. */
export const COUNTS = `SELECT key, value FROM plugin_values WHERE namespace = '${SCHEMAS}' ORDER BY key`

interface Step {
  plugin: string
  number: number
  sql: string
}

type Run = (sql: string, step: Step) => Promise<unknown>

export function countsOf(rows: readonly Record<string, unknown>[]): Counts {
  return new Map(rows.map(({ key, value }) => [String(key), Number(value)]))
}

/**
 * Returns the migrations of plugins that a database with the counts `to` has and one with the counts `from` has not.
 * @throws UncopyableTablesError for a plugin that this process does not have, or has in an older version
 */
export function stepsBetween(svc: PluginHandle, from: Counts, to: Counts): Step[] {
  return [...to].flatMap(([plugin, count]) => {
    const steps = svc.find(PluginMigrations, plugin)?.steps ?? []
    if (steps.length === 0) {
      const remedy = 'install and enable the plugin, or trust the project if its plugins are not loaded'
      throw new UncopyableTablesError({ problem: `the plugin ${plugin}, which has tables, is not loaded`, remedy })
    }
    if (steps.length < count) {
      const problem = `a database has ${count} migrations of the plugin ${plugin}, and this version of it only ${steps.length}`
      throw new UncopyableTablesError({ problem, remedy: 'install the newer version of the plugin' })
    }
    return steps.map((sql, index) => ({ plugin, number: index + 1, sql })).slice(from.get(plugin) ?? 0, count)
  })
}

/** Runs the steps. @throws PluginMigrationError */
export async function runSteps(steps: readonly Step[], run: Run): Promise<void> {
  for (const each of steps) {
    const { plugin, number: step } = each
    await run(each.sql, each).catch((cause: unknown) => {
      throw new PluginMigrationError({ plugin, step, problem: errorMessage(cause) }, { cause })
    })
  }
}

/** @param target whose tables must not be newer than those of the source @throws UncopyableTablesError */
export function requireNotAhead(target: Counts, source: Counts): void {
  for (const [plugin, count] of target) {
    const has = source.get(plugin) ?? 0
    if (count <= has) continue
    const problem = `the target has ${count} migrations of the plugin ${plugin}, and the source ${has}`
    throw new UncopyableTablesError({ problem, remedy: 'use an empty database' })
  }
}

/**
 * @param names the tables of the source
 * @param known the tables that modules and loaded plugins make
 * @throws UncopyableTablesError
 */
export function requireKnown(names: readonly string[], known: readonly string[]): void {
  const stray = names.find(name => !known.includes(name))
  if (stray === undefined) return
  const remedy = 'let its plugin make it with svc.migrations, or remove the table'
  throw new UncopyableTablesError({ problem: `the table ${stray} belongs to no module or loaded plugin`, remedy })
}

/** Rows are copied and compared in the order of their keys. @throws UncopyableTablesError */
export function requireKeys(tables: readonly Table[]): void {
  const table = tables.find(({ key }) => key.length === 0)
  if (!table) return
  const remedy = 'let its plugin replace it, in further steps of svc.migrations, by a table that has one'
  throw new UncopyableTablesError({ problem: `the table ${table.name} has no primary key`, remedy })
}
