import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemPorts } from '#lib/system-ports'
import { Connections } from '#platform/cluster/postgres/connection'
import { PreparedQuery } from '#platform/cluster/postgres/prepared-statements'
import { postgresOr, type TestDatabase, testDatabase } from '../support/postgres.ts'

const server = await postgresOr(reason => console.warn(`PostgreSQL is left out: ${reason}`))
const TIMES = 5

describe.skipIf(!server)('a statement that is repeated on PostgreSQL', () => {
  let database: TestDatabase
  let connections: Connections
  beforeAll(async () => {
    database = await testDatabase(server!)
    connections = await Connections.open(database.url, systemPorts().clock)
  })
  afterAll(async () => {
    await connections?.close()
    await database?.drop()
  })

  const rows = async (sql: string, ...params: unknown[]) =>
    (await connections.ask([new PreparedQuery(sql, params)]))[0]!.rows as Record<string, unknown>[]
  const preparedStatements = async () =>
    (await connections.query('SELECT statement FROM pg_prepared_statements'))[0]!.rows.map(({ statement }) =>
      String(statement),
    )

  it.each([
    ['SELECT min(?, ?) + 1 AS n', [2_147_483_647, 5_000_000_000], { n: undefined }],
    ['SELECT min(?, 5) AS n, ? AS t, ? AS f', [3, "it's \\ \0", 1.5], { n: 3, t: "it's \\ \0", f: 1.5 }],
    ['SELECT count(*) AS n FROM (SELECT 1 FROM agents LIMIT ?) a WHERE 1 = ?', [-1, true], { n: 0 }],
    ['SELECT ? IS NULL AS nothing, coalesce(?, 7) AS n', [null, null], { nothing: 1, n: 7 }],
    ['SELECT name FROM (SELECT ? AS name) a WHERE name LIKE ?', ['a_C%', 'A_c%'], { name: 'a_C%' }],
  ])('returns the same result each time: %s', async (sql, params, expected) => {
    const first = await rows(sql, ...params)
    for (const [name, value] of Object.entries(expected))
      if (value !== undefined) expect(first[0]).toMatchObject({ [name]: value })
    for (let n = 1; n < TIMES; n++) expect(await rows(sql, ...params)).toEqual(first)
  })

  it('is prepared by the server, and sent in full when its prepared statement is gone', async () => {
    const ask = () => rows('SELECT agent_id FROM agents WHERE agent_id = ? AND spawned_at > ?', 'nobody', 5)
    for (let n = 0; n < TIMES; n++) await ask()
    expect((await preparedStatements()).filter(text => text.includes('FROM agents WHERE agent_id = $1'))).toHaveLength(
      1,
    )
    await connections.query('DEALLOCATE ALL')
    expect(await ask()).toEqual([])
    await connections.query('DEALLOCATE ALL')
    expect(await ask()).toEqual([])
    expect(await preparedStatements()).toEqual([])
  })
})
