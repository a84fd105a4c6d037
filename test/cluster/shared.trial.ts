import { describe, expect, it } from 'vitest'
import type { CheckpointSummary } from '#core/checkpoints/contract'
import checkpoints from '#core/checkpoints/index'
import { Memory } from '#core/memory/contract'
import memory from '#core/memory/index'
import { Freeze } from '#platform/daemon/contract'
import daemon from '#platform/daemon/index'
import { spawn, testHostWithModel } from '../spec/core/models/model-host.ts'
import { cluster, postgresOr, testDatabase } from '../support/postgres.ts'

const server = await postgresOr(reason => console.warn(`PostgreSQL is left out: ${reason}`))

describe.skipIf(!server)('the state of agents on two machines', () => {
  it('is shared: memories, values, checkpoints and the freeze', async () => {
    const database = await testDatabase(server!)
    const open = (seed: number) =>
      testHostWithModel(() => undefined, {
        seed,
        builtins: [cluster, memory, checkpoints, daemon],
        env: { SVC_STORE_URL: database.url },
        config: { memory: { unified: false } },
        roles: ['server'],
      })
    try {
      await using here = await open(1)
      await using there = await open(2)
      const id = await spawn(here)
      const [mine, theirs] = [here, there].map(({ kernel }) => kernel.use(Memory).of(id))

      const memory_id = await mine!.store('The red key opens the shed')
      expect((await theirs!.search('shed key')).map(({ thought }) => thought)).toEqual(['The red key opens the shed'])
      await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? mine! : theirs!).store(`Bird number ${n} sings`)))
      expect([await mine!.count(), await theirs!.count()]).toEqual([21, 21])
      expect(await theirs!.forget(memory_id)).toBe(true)
      expect(await mine!.search('shed')).toEqual([])
      expect([await mine!.count(), await theirs!.count()]).toEqual([20, 20])

      const values = [here, there].map(({ kernel }) => kernel.use(Memory).values(id))
      await Promise.all(Array.from({ length: 10 }, (_, n) => values[n % 2]!.set(`k${n}`, String(n))))
      expect((await values[0]!.entries()).map(([key]) => key).sort()).toEqual(
        Array.from({ length: 10 }, (_, n) => `k${n}`),
      )

      const saved = (await here.kernel.invoke('checkpoints.take', { id })) as CheckpointSummary
      expect(await there.kernel.invoke('checkpoints.list', { id })).toMatchObject([
        { checkpoint_id: saved.checkpoint_id },
      ])
      await there.kernel.invoke('checkpoints.restore', { id, checkpoint_id: saved.checkpoint_id })

      await here.kernel.invoke('daemon.pause')
      expect(await there.kernel.use(Freeze).isFrozen()).toBe(true)
    } finally {
      await database.drop()
    }
  })
})
