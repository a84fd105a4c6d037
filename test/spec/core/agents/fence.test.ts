import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { expect, it } from 'vitest'
import { definePlugin } from '#kernel'
import daemon from '#platform/daemon/index'
import { type ModelServerRequest, refuse, type TestHost, text, until } from '../../../support/index.ts'
import { asksForGoal, spawn, testHostWithModel } from '../models/model-host.ts'

const LOST: readonly (readonly [how: string, lose: (home: TestHost, id: string) => unknown])[] = [
  ['was deleted', ({ kernel }, id) => kernel.invoke('agents.delete', { id })],
  [
    'another daemon took over',
    ({ root }, id) => {
      const db = new Sqlite(join(root, '.svc', 'svc.db'))
      db.prepare(
        "UPDATE leases SET owner = 'another', epoch = epoch + 1, cycle_num = cycle_num + 1, run_at = 9000000000000 WHERE id = ?",
      ).run(id)
      db.close()
    },
  ],
]

it.each(LOST)('a cycle whose agent %s does not retry its model call', async (_, lose) => {
  let id = ''
  const script = async (asked: ModelServerRequest) => {
    if (asksForGoal(asked)) return text('{"goal":"Write about the tides"}')
    await lose(home, id)
    return refuse(503, 'Overloaded')
  }
  const results: string[] = []
  const watcher = definePlugin({
    name: 'watcher',
    setup: svc => void svc.on('cycle_end', ({ result }) => results.push(result)),
  })
  await using home = await testHostWithModel(script, { builtins: [daemon, watcher] })
  const pursuits = () => home.server.requests.filter(asked => !asksForGoal(asked))
  id = await spawn(home)
  await until(async () => {
    await home.clock.advance(1_000)
    return results.includes('fenced')
  })
  expect(pursuits()).toHaveLength(1)
})
