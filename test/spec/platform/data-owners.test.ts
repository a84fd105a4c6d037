import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { OWNERS, STEPS } from '../../../builtins/migrations.ts'

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../../..')

/** The module of the other database engine, which has all tables in its own dialect. */
const WHOLE = ['platform/cluster']

/** Matches the table or view that a statement of a migration creates or changes; renamed ones have their final name. */
const TARGET =
  /^(?:CREATE (?:TABLE|VIEW)|CREATE (?:UNIQUE )?INDEX \w+ ON|ALTER TABLE|DROP (?:TABLE|VIEW)|INSERT INTO|UPDATE|DELETE FROM) (\w+)/
const RENAMED = /^ALTER TABLE (\w+) RENAME TO (\w+)/

/** Matches names in table positions in SQL, whose keywords all sources write in capitals, and of `insertInto`. */
const NAMED =
  /(?:\b(?:FROM|JOIN|INTO|UPDATE|TABLE|REFERENCES)\s+|\binsert(?:Into|If)\(\s*["'])(\w+(?: \w+)?(?:,\s*\w+(?: \w+)?)*)/g

function statementsOf(sql: string): string[] {
  return sql
    .replace(/--.*\n/g, '')
    .split(/;\s*(?=\n|$)/)
    .map(statement => statement.trim())
    .filter(statement => statement !== '')
}

function tablesOf(module: string): Set<string> {
  const found = new Set<string>()
  for (const statement of Object.values(OWNERS[module]!).flatMap(statementsOf)) {
    const made = /^CREATE (?:TABLE|VIEW) (\w+)/.exec(statement)
    if (made) found.add(made[1]!)
    const renamed = RENAMED.exec(statement)
    if (renamed) found.add(renamed[2]!)
  }
  return found
}

const owners = new Map(
  Object.keys(OWNERS).flatMap(module => [...tablesOf(module)].map(table => [table, module] as const)),
)

/**
 * Returns the module of a path: `platform/store` for `builtins/platform/store/sqlite/open.ts`. A toolkit is a module
 * too.
 */
function moduleOf(path: string): string {
  const parts = path.split('/')
  return parts.slice(1, path.startsWith('builtins/tools/toolkits/') ? 4 : 3).join('/')
}

function tablesIn(code: string): string[] {
  return [...code.matchAll(NAMED)].flatMap(([, names]) => names!.split(',').map(name => name.trim().split(' ')[0]!))
}

async function sources(): Promise<{ path: string; code: string }[]> {
  const paths = ['kernel', 'builtins', 'embed'].flatMap(folder =>
    readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile() && /(?<!\.d)\.(ts|js)$/.test(entry.name) && entry.name !== 'migrations.ts')
      .map(entry => relative(ROOT, join(entry.parentPath, entry.name))),
  )
  // Strip comments, which are not SQL.
  const code = (path: string) => transform(readFileSync(join(ROOT, path), 'utf8'), { loader: 'ts', tsconfigRaw: {} })
  return Promise.all(paths.map(async path => ({ path, code: (await code(path)).code })))
}

describe('the ownership of tables', () => {
  it('every part of a migration step belongs to a listed step, and every step has a part', () => {
    const parts = Object.values(OWNERS).flatMap(steps => Object.keys(steps))
    expect(parts.filter(name => !STEPS.includes(name))).toEqual([])
    expect(STEPS.filter(name => !parts.includes(name))).toEqual([])
  })

  it('the migration steps of a module change only its own tables', () => {
    const offences = Object.entries(OWNERS).flatMap(([module, steps]) =>
      Object.entries(steps).flatMap(([step, sql]) =>
        statementsOf(sql)
          .map(statement => TARGET.exec(statement)?.[1])
          .filter(table => table !== undefined && owners.get(table) !== module)
          .map(table => `${module}, ${step}: ${table}`),
      ),
    )
    expect(offences).toEqual([])
  })

  it('a view reads only tables of its owner and views of other modules', () => {
    const current = STEPS.slice(STEPS.indexOf('046-views'))
    const offences = Object.entries(OWNERS).flatMap(([module, steps]) =>
      // A foreign key to `agents` does not read the table.
      tablesIn(current.map(step => (steps[step] ?? '').replaceAll('REFERENCES agents (agent_id)', '')).join('\n'))
        .filter(table => !table.endsWith('_view') && owners.get(table) !== module)
        .map(table => `${module}: ${table}`),
    )
    expect(offences).toEqual([])
  })

  it('SQL of a module names no table of another module, only its views', async () => {
    expect(owners.size).toBeGreaterThan(60)
    const offences = (await sources()).flatMap(({ path, code }) => {
      const module = moduleOf(path)
      if (WHOLE.includes(module)) return []
      // Adds the foreign key to `agents` to a table.
      if (path === 'builtins/lib/child-table.ts') return []
      return tablesIn(code)
        .filter(table => {
          const owner = owners.get(table)
          if (table.endsWith('_view')) return owner === undefined
          return owner !== undefined && owner !== module
        })
        .map(table => `${path} names ${table}, which belongs to ${owners.get(table) ?? 'no module'}`)
    })
    expect([...new Set(offences)]).toEqual([])
  })

  it('the check finds tables in every position of a statement', () => {
    const sql =
      'WITH a AS (SELECT 1 FROM agents x, goals y) DELETE FROM leases; INSERT INTO spend SELECT 1 JOIN\n  runs'
    const insert = 'insertIf(\n  "sessions", {})'
    expect(tablesIn(`${sql}; ${insert}`)).toEqual(['agents', 'goals', 'leases', 'spend', 'runs', 'sessions'])
  })
})
