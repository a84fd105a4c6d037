import * as fs from 'node:fs/promises'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import memory from '#core/memory/index'
import subAgents from '#core/sub-agents/index'
import runs from '#observability/runs/index'
import daemon from '#platform/daemon/index'
import schedules from '#platform/schedules/index'
import { Store } from '#platform/store/contract'
import { Database } from '#platform/store/sqlite/database'
import approvals from '#safety/approvals/index'
import a2a from '#society/a2a/index'
import economy from '#society/economy/index'
import identity from '#society/identity/index'
import suffering from '#society/suffering/index'
import { drive, openBenchKernel, prepare } from '../../../bench/agents/cycles.ts'
import { AIM, promptsOf, SHIPPED, sumOf } from '../../../bench/agents/prompts.ts'
import { runHeartbeat, text, waitUntilIdle } from '../../../support/index.ts'
import Sqlite from '../../../support/sqlite.ts'
import { goalAnswer } from '../../safety/approvals-host.ts'
import { run, testHostWithTasks } from '../tasks/tasks-host.ts'
import { spawn, testHostWithModel } from './model-host.ts'

/** Counts database calls until it is disposed. `BEGIN` counts as a transaction, its end not at all. */
function countStatements() {
  const { run, all, get } = Database.prototype
  const counts = { reads: 0, statements: 0, transactions: 0 }
  Object.assign(Database.prototype, {
    run(this: Database, ...given: Parameters<typeof run>) {
      if (given[0].sql.startsWith('BEGIN')) counts.transactions++
      else if (given[0].sql !== 'COMMIT') counts.statements++
      return run.apply(this, given)
    },
    all(this: Database, ...given: Parameters<typeof all>) {
      counts.reads++
      return all.apply(this, given)
    },
    get(this: Database, ...given: Parameters<typeof get>) {
      counts.reads++
      return get.apply(this, given)
    },
  })
  return { counts, [Symbol.dispose]: () => void Object.assign(Database.prototype, { run, all, get }) }
}

/** Returns the average number of database calls per cycle. */
async function perCycle(agents: number, cycles: number) {
  const root = await prepare(agents)
  const kernel = await openBenchKernel(root)
  try {
    using counting = countStatements()
    const ended = await drive(kernel, cycles)
    const { reads, statements, transactions } = counting.counts
    const { n } = (await kernel.use(Store).get<{ n: number }>('SELECT count(*) AS n FROM spend'))!
    const each = { reads, statements, transactions, answers: n }
    return Object.fromEntries(Object.entries(each).map(([name, count]) => [name, count / ended])) as typeof each
  } finally {
    await kernel.close()
    await rm(root, { recursive: true })
  }
}

function mapValues<K extends string>(of: Record<K, number>, value: (n: number, key: K) => number): Record<K, number> {
  const entries = Object.entries(of) as [K, number][]
  return Object.fromEntries(entries.map(([key, n]) => [key, value(n, key)])) as Record<K, number>
}

describe('database and model costs', () => {
  it('the database calls of a cycle do not grow with the number of agents', async () => {
    const [few, many] = [await perCycle(6, 200), await perCycle(400, 200)]
    console.log(`a cycle: ${JSON.stringify(few)} with 6 agents, ${JSON.stringify(many)} with 400`)
    expect(many.reads).toBeLessThan(few.reads * 1.5)
    expect(many.statements).toBeLessThan(few.statements * 1.5)
    expect(few.transactions).toBeLessThan(4)
    expect(few.reads).toBeLessThan(8)
    expect(few.statements).toBeLessThan(25)
    // One for the claim, the model's answer, the tool results and the release each.
    expect(few.transactions / few.answers).toBeLessThan(2.5)
    expect(few.statements / few.answers).toBeLessThan(13)
  })

  it('a cycle with nothing to do makes no model calls', async () => {
    await using home = await testHostWithModel(() => goalAnswer(''))
    await spawn(home)
    home.kernel.heartbeat.start()
    await waitUntilIdle(home)
    const asked = home.server.requests.length
    let cycles = 0
    home.kernel.hooks.on('cycle_end', () => void cycles++)
    await runHeartbeat(home)
    expect(cycles).toBe(1)
    expect(home.server.requests.length).toBe(asked)
  })

  it.each([
    ['no database statement', suffering, {}, 0],
    ['one database statement, in an economy,', economy, { economy: { enabled: true, life_events: false } }, 1],
  ] as const)('each further agent at rest adds %s to a heartbeat', async (_, plugin, config, statements) => {
    let looks = 0
    const files = new Proxy(fs, {
      get(of, name) {
        looks++
        return Reflect.get(of, name)
      },
    })
    await using home = await testHostWithModel(() => goalAnswer(''), {
      builtins: [plugin, identity, memory, approvals, schedules, subAgents, a2a, daemon, runs],
      config: config as never,
      ports: { files },
    })
    using counting = countStatements()
    /** The cost of a heartbeat with a number of additional sleeping agents. */
    const asleep = async (more: number) => {
      for (let n = 0; n < more; n++) await spawn(home)
      for (let n = 0; n < 3; n++) await runHeartbeat(home)
      using db = Object.assign(new Sqlite(join(home.root, '.svc', 'svc.db')), { [Symbol.dispose]: () => db.close() })
      db.prepare('UPDATE idle_agents SET ask_again_at = ask_again_at + 1000000000').run()
      await runHeartbeat(home)
      const before = { ...counting.counts, looks, asked: home.server.requests.length }
      await runHeartbeat(home)
      return { ...mapValues(counting.counts, (n, name) => n - before[name]), looks: looks - before.looks }
    }
    const [one, nine] = [await asleep(1), await asleep(8)]
    const each = mapValues(nine, (n, name) => (n - one[name]) / 8)
    console.log(`a heartbeat of one agent at rest: ${JSON.stringify(one)}; of each more: ${JSON.stringify(each)}`)
    expect(each.reads).toBe(0)
    expect(each.transactions).toBe(0)
    // Rounded: what is done once in a while may fall into one of the two heartbeats.
    expect(Math.round(each.statements)).toBe(statements)
    // For all agents together: the heartbeat, and the record of their cycles. Reads look for due agents twice a second,
    // and for busy ones.
    expect(one.transactions).toBeLessThanOrEqual(4)
    expect(one.reads).toBeLessThan(120)
    expect(each.looks).toBeLessThan(0.5)
  })

  it('a one-shot run takes two commits, and writes a folder with two files', async () => {
    let written = 0
    const files = new Proxy(fs, {
      get(of, name) {
        const call = Reflect.get(of, name)
        if (typeof call !== 'function') return call
        return (...given: unknown[]) => {
          written++
          return call(...given)
        }
      },
    })
    await using home = await testHostWithTasks(() => text('Done.'), {
      builtins: [suffering, identity, memory, subAgents, a2a, runs],
      ports: { files },
    })
    const id = await spawn(home)
    const tasks = async (count: number) => {
      for (let n = 0; n < count; n++) expect((await run(home, id, 'Say done.')).status).toBe('completed')
      // Flushes what is written in the background.
      await home.kernel.invoke('runs.list', { limit: 1 })
    }
    await tasks(3)
    using counting = countStatements()
    const before = { ...counting.counts, written }
    await tasks(20)
    const spent = { ...mapValues(counting.counts, (n, name) => n - before[name]), written: written - before.written }
    const each = mapValues(spent, n => n / 20)
    console.log(`a one-shot run: ${JSON.stringify(each)}`)
    // Accepted and started; ended with its answer; and the totals of all runs.
    expect(each.transactions).toBeLessThan(2.2)
    expect(each.statements - 2 * each.transactions).toBeLessThan(17)
    // One read finds the ancestors of the agent, whose limits apply as well.
    // Another one finds its last goals, which the model reads beside the instruction.
    expect(each.reads).toBeLessThan(4.5)
    // Two look for its memories: those that match, and what it stored last.
    expect(each.written).toBeLessThan(6.2)
  })

  it(`a prompt for a goal has at most ${AIM} tokens for each shipped profile`, async () => {
    const all = await promptsOf(SHIPPED)
    expect([...all.keys()].toSorted()).toEqual(SHIPPED.toSorted())
    for (const [preset, parts] of all)
      expect(sumOf(parts), `${preset}: ${JSON.stringify([...parts])}`).toBeLessThanOrEqual(AIM)
  })
})
