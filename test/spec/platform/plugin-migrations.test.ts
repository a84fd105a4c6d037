import { expect, it } from 'vitest'
import { definePlugin } from '#kernel'
import { Store } from '#platform/store/contract'
import store from '#platform/store/index'
import { rowsBehind } from '../../support/direct-access.ts'
import { tempDir, testHost } from '../../support/index.ts'

const FIRST = 'CREATE TABLE tides (place TEXT PRIMARY KEY, height BIGINT NOT NULL DEFAULT 0)'
const SECOND = "INSERT INTO tides (place) VALUES ('Ghent')"
const THIRD = 'ALTER TABLE tides ADD COLUMN seen TEXT'

const tides = (...steps: unknown[]) =>
  definePlugin({ name: 'tides', needs: ['store'], setup: svc => svc.migrations(steps as string[]) })

const open = (root: string, ...steps: unknown[]) =>
  testHost({ root, builtins: [store, tides(...steps)], roles: ['server'] })

it('each step runs once in a database, and new ones are added', async () => {
  await using dir = await tempDir()
  {
    await using _first = await open(dir.path, FIRST, SECOND)
  }
  await using second = await open(dir.path, FIRST, SECOND, THIRD)
  expect(await rowsBehind(dir.path, 'SELECT * FROM tides')).toEqual([{ place: 'Ghent', height: 0, seen: null }])
})

it('two processes that start at once run each step once', async () => {
  await using dir = await tempDir()
  await using _none = await testHost({ root: dir.path, builtins: [store], roles: ['server'] })
  const hosts = await Promise.all([1, 2, 3].map(() => open(dir.path, FIRST, SECOND, THIRD)))
  expect(await hosts[0]!.kernel.use(Store).all('SELECT place FROM tides')).toEqual([{ place: 'Ghent' }])
  for (const host of hosts) await host[Symbol.asyncDispose]()
})

it('a step that fails leaves the steps before it, and names itself', async () => {
  await using dir = await tempDir()
  await expect(open(dir.path, FIRST, 'CREATE TABEL waves (n INTEGER)')).rejects.toThrow(
    'Step 2 of the migrations of tides did not run: near "TABEL": syntax error.',
  )
  await using mended = await open(dir.path, FIRST, SECOND)
  expect(await mended.kernel.use(Store).all('SELECT place FROM tides')).toEqual([{ place: 'Ghent' }])
})

it('a plugin with fewer steps than the database has is refused', async () => {
  await using dir = await tempDir()
  {
    await using _newer = await open(dir.path, FIRST, SECOND)
  }
  await expect(open(dir.path, FIRST)).rejects.toThrow(
    'Step 2 of the migrations of tides did not run: the database has 2 of them, and this version of the plugin only 1',
  )
})

it('a plugin with a step that was changed after it ran is refused; other white space is no change', async () => {
  await using dir = await tempDir()
  {
    await using _first = await open(dir.path, FIRST, SECOND)
  }
  await expect(open(dir.path, FIRST, SECOND.replace('Ghent', 'Bruges'), THIRD)).rejects.toThrow(
    'Step 2 of the migrations of tides did not run: the database ran other SQL as this step; restore that',
  )
  await using _again = await open(dir.path, FIRST.replace(' (', '\n  ('), SECOND, THIRD)
  expect(await rowsBehind(dir.path, 'SELECT * FROM tides')).toEqual([{ place: 'Ghent', height: 0, seen: null }])
})

it.each([[[]], [[FIRST, 3]], [[' ']]])('steps such as %j are refused with the form that is right', async steps => {
  await using dir = await tempDir()
  await expect(open(dir.path, ...steps)).rejects.toThrow(
    "svc.migrations of tides takes a list of texts, one SQL statement each, such as ['CREATE TABLE …'].",
  )
})
