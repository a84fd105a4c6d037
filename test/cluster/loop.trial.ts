import { describe, expect, it, vi } from 'vitest'
import { Connections } from '#platform/cluster/postgres/connection'
import { type Cycle, SchedulerToken } from '#platform/heartbeat/contract'
import { Store } from '#platform/store/contract'
import store from '#platform/store/index'
import { openKernel } from '../../embed/compose.ts'
import { definePlugin } from '../../kernel/index.ts'
import { drive } from '../bench/agents/cycles.ts'
import { addAgents } from '../bench/process/cluster.ts'
import { project } from '../cli/project.ts'
import { cluster, postgresOr, testDatabase } from '../support/postgres.ts'

const server = await postgresOr(reason => console.warn(`PostgreSQL is left out: ${reason}`))
const AGENTS = 5
const CYCLES = 60

describe.skipIf(!server)('the daemon loop on PostgreSQL', () => {
  const openLoop = async (plugin = definePlugin({ name: 'nothing', setup() {} })) => {
    const database = await testDatabase(server!)
    await addAgents(database.url, AGENTS, 'worker', 0)
    const config = `store: { url: '${database.url}' }\ndaemon: { max_concurrent_agents: 2 }\n`
    const dir = await project({ '.svc/config.yaml': config })
    const builtins = [store, cluster, plugin]
    const kernel = await openKernel({
      root: dir.path,
      roles: ['daemon'],
      builtins,
      ports: { env: {} },
      log: { level: 'error' },
    })
    const leases = () =>
      kernel
        .use(Store)
        .all<{ id: string; owner: string | null; cycle_num: number }>(
          "SELECT id, owner, cycle_num FROM leases WHERE kind = 'agent' ORDER BY id",
        )
    const asked = vi.spyOn(Connections.prototype, 'ask')
    return {
      kernel,
      leases,
      /** Number of queries that only asked for due agents. */
      claims: () =>
        asked.mock.calls.filter(([[first]]) => typeof first === 'object' && /agents_due/.test(first.fullMessage.text!))
          .length,
      async [Symbol.asyncDispose]() {
        asked.mockRestore()
        await kernel.close()
        await dir[Symbol.asyncDispose]()
        await database.drop()
      },
    }
  }

  it('claims agents in the commits that free its last slot, and skips no cycle', async () => {
    const begun: string[] = []
    const due = definePlugin({
      name: 'due',
      setup(svc) {
        svc.tap('goal_generation', 'due', async (cycle: Cycle) => {
          begun.push(`${cycle.agent_id} ${cycle.cycle_num}`)
          // Due long ago, however imprecisely the server's clock is known here.
          cycle.run_at = svc.clock.ms() - 60_000
        })
      },
    })
    await using opening = await openLoop(due)
    await drive(opening.kernel, CYCLES)
    // With two slots and separate claims, it would take one claim for two cycles at best.
    expect(opening.claims()).toBeLessThan(CYCLES / 6)
    const driven: string[] = []
    for (const { id, owner, cycle_num } of await opening.leases()) {
      expect(owner, id).toBeNull()
      for (let n = 1; n <= cycle_num; n++) driven.push(`${id} ${n}`)
    }
    expect(begun.toSorted()).toEqual(driven.toSorted())
  })

  it('releases agents that it has claimed but not driven, as they were', async () => {
    await using opening = await openLoop()
    const scheduler = opening.kernel.use(SchedulerToken)
    const later = () => ({ run_at: Date.now() + 60_000, more: true })
    // The claim also returns the lease of the daemon itself.
    const first = (await scheduler.claim(1)).find(({ kind }) => kind === 'agent')
    expect(await scheduler.commit(first!, [], later())).toBe('ok')
    const [second, ...others] = await scheduler.claim(5)
    expect([second?.cycle_num, others]).toEqual([1, []])
    expect(await scheduler.commit(second!, [], later())).toBe('ok')
    const taken = (await opening.leases()).filter(({ owner }) => owner !== null)
    expect(taken).toMatchObject([{ cycle_num: 1 }])
    await scheduler.releaseClaimed!()
    expect((await opening.leases()).find(({ id }) => id === taken[0]!.id)).toMatchObject({ owner: null, cycle_num: 0 })
    expect((await scheduler.claim(5)).map(({ cycle_num }) => cycle_num)).toEqual([1, 1, 1])
  })
})
