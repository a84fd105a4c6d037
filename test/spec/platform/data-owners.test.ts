import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { OWNERS, STEPS } from '../../../builtins/migrations.ts'

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '../../..')

/** The other engine, which has all tables in its own dialect. */
const WHOLE = ['platform/cluster']

/** The tables and views that a statement of a step makes or changes, each with the name that it has in the end. */
const TARGET =
  /^(?:CREATE (?:TABLE|VIEW)|CREATE (?:UNIQUE )?INDEX \w+ ON|ALTER TABLE|DROP (?:TABLE|VIEW)|INSERT INTO|UPDATE|DELETE FROM) (\w+)/
const RENAMED = /^ALTER TABLE (\w+) RENAME TO (\w+)/

/** Names in the place of a table, in SQL: keywords are in capitals in all sources. */
const NAMED = /\b(?:FROM|JOIN|INTO|UPDATE|TABLE|REFERENCES)\s+(\w+(?: \w+)?(?:,\s*\w+(?: \w+)?)*)/g

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

/** `platform/store`, of `builtins/platform/store/sqlite/open.ts`; the folders of toolkits are modules too. */
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
  // Comments are no SQL.
  const code = (path: string) => transform(readFileSync(join(ROOT, path), 'utf8'), { loader: 'ts', tsconfigRaw: {} })
  return Promise.all(paths.map(async path => ({ path, code: (await code(path)).code })))
}

describe('the owners of tables', () => {
  it('each part of a step belongs to a step of the list', () => {
    const parts = Object.values(OWNERS).flatMap(steps => Object.keys(steps))
    expect(parts.filter(name => !STEPS.includes(name))).toEqual([])
    expect(STEPS.filter(name => !parts.includes(name))).toEqual([])
  })

  it('the steps of a module change its own tables only', () => {
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

  it("a view reads its owner's tables, and the views of others", () => {
    const current = STEPS.slice(STEPS.indexOf('046-views'))
    const offences = Object.entries(OWNERS).flatMap(([module, steps]) =>
      // A foreign key to the agents reads nothing.
      tablesIn(current.map(step => (steps[step] ?? '').replaceAll('REFERENCES agents (agent_id)', '')).join('\n'))
        .filter(table => !table.endsWith('_view') && owners.get(table) !== module)
        .map(table => `${module}: ${table}`),
    )
    expect(offences).toEqual([])
  })

  it("no SQL names a table of another module: it reads the owner's views, and changes through the owner's statements", async () => {
    expect(owners.size).toBeGreaterThan(60)
    const offences = (await sources()).flatMap(({ path, code }) => {
      const module = moduleOf(path)
      if (WHOLE.includes(module)) return []
      // A step that gives a table its foreign key to the agents.
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

  it('a table of another module is found in each place of a statement', () => {
    const sql =
      'WITH a AS (SELECT 1 FROM agents x, goals y) DELETE FROM leases; INSERT INTO spend SELECT 1 JOIN\n  runs'
    expect(tablesIn(sql)).toEqual(['agents', 'goals', 'leases', 'spend', 'runs'])
  })
})
