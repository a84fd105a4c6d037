import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import models from '#core/models/index'
import { definePlugin, z } from '#kernel'
import cluster from '#platform/cluster/index'
import { type Lease, SchedulerToken } from '#platform/heartbeat/contract'
import {
  AMONG,
  appendEvent,
  defineEffect,
  Effects,
  jsonList,
  type OpenedStore,
  Store,
  setValue,
  wakeAgents,
} from '#platform/store/contract'
import store from '#platform/store/index'
import budget from '#safety/budget/index'
import { holdSpend } from '#safety/budget/repository'
import { heldClock, type TestHost, tempDir, testHost } from '../../support/index.ts'
import { postgresOr, type TestDatabase, testDatabase } from '../../support/postgres.ts'

const Given = z.object({ sql: z.string(), params: z.array(z.unknown()) })
/** Runs any statement, so that both engines get the same ones. */
const run = defineEffect({ name: 'test.run', schema: Given, statements: given => [given] })
const must = defineEffect({ name: 'test.must', mustChange: true, schema: Given, statements: given => [given] })
const always = defineEffect({ name: 'test.always', always: true, schema: Given, statements: given => [given] })
const plugin = definePlugin({
  name: 'test-module',
  setup(svc) {
    for (const effect of [run, must, always]) svc.add(Effects, effect.kind)
    svc.event('it_happened', z.object({ n: z.number() }))
  },
})

const put = (key: string, value: unknown = 1) => setValue({ namespace: 'test', key, value })
const sql = (text: string, ...params: unknown[]) => run({ sql: text, params })
const agents = (leases: readonly Lease[]) => leases.filter(({ kind }) => kind === 'agent')

const server = await postgresOr(reason => console.warn(`PostgreSQL is left out: ${reason}`))

describe.each(['sqlite', 'postgres'] as const)('the store on %s', engine => {
  const skipped = engine === 'postgres' && server === undefined
  const it_ = it.skipIf(skipped)
  let root: Awaited<ReturnType<typeof tempDir>>
  let database: TestDatabase | undefined
  /** Two processes on one database, as two test hosts with the same clock. */
  let here: TestHost
  let there: TestHost
  const clock = heldClock()

  beforeAll(async () => {
    if (skipped) return
    root = await tempDir()
    if (engine === 'postgres') database = await testDatabase(server!, root.path)
    const open = (seed: number) =>
      testHost({
        seed,
        builtins: [store, cluster, models, budget, plugin],
        root: root.path,
        clock,
        env: engine === 'postgres' ? { SVC_STORE_URL: database!.url } : { SVC_STORE_URL: '' },
      })
    here = await open(1)
    there = await open(2)
    await store_().apply([sql("UPDATE leases SET run_at = ? WHERE id = 'sys:beat'", NEVER)])
  })
  afterAll(async () => {
    await here?.close()
    await there?.close()
    await database?.drop()
    await root?.[Symbol.asyncDispose]()
  })

  const NEVER = Number.MAX_SAFE_INTEGER
  const store_ = (home: TestHost = here) => home.kernel.use(Store)
  const scheduler = (home: TestHost = here) => home.kernel.use(SchedulerToken)
  const values = async () => {
    const rows = await store_().all<{ key: string }>(
      "SELECT key FROM plugin_values WHERE namespace = 'test' ORDER BY key",
    )
    return rows.map(({ key }) => key)
  }
  const empty = () =>
    store_().apply([sql("DELETE FROM plugin_values WHERE namespace = 'test'"), sql('DELETE FROM agents')])
  const add = (...ids: string[]) =>
    store_().apply(
      ids.flatMap((id, n) => [
        sql("INSERT INTO agents (agent_id, name, role, spawned_at) VALUES (?, 'n', 'r', ?)", id, n),
        sql('INSERT INTO leases (id, agent_id, run_at) VALUES (?, ?, ?)', id, id, n),
      ]),
    )
  const leaseAgent = async (id: string) => {
    await empty()
    await add(id)
    return agents(await scheduler().claim(1))[0]!
  }

  describe('a write', () => {
    it_('comes back as it was: texts of all kinds, large numbers, fractions, truth, nothing', async () => {
      await empty()
      const texts = [
        "it's",
        'back\\slash',
        'a "quote"',
        '$1 $$ ? :x',
        'line\nbreak',
        'größer ☃ 😀',
        '',
        '%_',
        "\\'; DROP TABLE agents; --",
      ]
      await store_().apply(texts.map((text, n) => put(`t${n}`, text)))
      const rows = await store_().all<{ value: string }>(
        "SELECT value FROM plugin_values WHERE namespace = 'test' ORDER BY key",
      )
      expect(rows.map(({ value }) => JSON.parse(value))).toEqual(texts)
      await store_().apply([
        sql(
          "INSERT INTO agents (agent_id, name, role, spawned_at, error) VALUES ('x', ?, ?, ?, ?)",
          "o'x",
          'r\\',
          NEVER,
          null,
        ),
      ])
      expect(await store_().get('SELECT name, role, spawned_at, error, spawned_at > 1 AS late FROM agents')).toEqual({
        name: "o'x",
        role: 'r\\',
        spawned_at: NEVER,
        error: null,
        late: 1,
      })
      expect(
        await store_().get(
          'SELECT sum(spawned_at) AS sum, count(*) AS n, max(spawned_at, 3) AS most, min(2, 3) AS least FROM agents GROUP BY spawned_at',
        ),
      ).toEqual({ sum: NEVER, n: 1, most: NEVER, least: 2 })
      expect(
        await store_().many("SELECT agent_id, spawned_at, error FROM agents WHERE name LIKE 'O''%' LIMIT ?", [-1]),
      ).toEqual([{ agent_id: 'x', spawned_at: NEVER, error: null }])
    })

    it_('is all or nothing, and what must change something refuses all but what has happened in any case', async () => {
      await empty()
      const nothing = must({ sql: "DELETE FROM plugin_values WHERE key = 'absent'", params: [] })
      const paid = always({
        sql: "INSERT INTO plugin_values (namespace, key, value) VALUES ('test', 'paid', '1')",
        params: [],
      })
      expect(await store_().apply([put('a'), paid, nothing])).toBe(false)
      expect(await values()).toEqual(['paid'])
      await expect(store_().apply([put('b'), sql('INSERT INTO goals (goal_id) VALUES (?)', 'g')])).rejects.toThrow()
      expect(await values()).toEqual(['paid'])
      expect(
        await store_().apply([must({ sql: "DELETE FROM plugin_values WHERE key = 'paid'", params: [] }), put('c')]),
      ).toBe(true)
      expect(await values()).toEqual(['c'])
    })

    it_('for an agent that was removed meanwhile is refused in a sentence', async () => {
      await empty()
      const row = sql("INSERT INTO nudges (nudge_id, agent_id, message, created_at) VALUES ('n', 'gone', 'm', 1)")
      await expect(store_().apply([put('a'), row])).rejects.toMatchObject({ code: 'removed_meanwhile' })
      expect(await values()).toEqual([])
    })

    it_('is seen by others at once, events in their order without a gap, and emitted here only', async () => {
      await empty()
      const received: number[] = []
      here.kernel.hooks.on('it_happened' as never, ({ n }: { n: number }) => void received.push(n))
      const before = (await store_().get<{ seq: number }>('SELECT coalesce(max(seq), 0) AS seq FROM events'))!.seq
      const write = (home: TestHost, n: number) =>
        store_(home).apply([appendEvent({ type: 'it_happened', agent_id: null, data: { n } })])
      await Promise.all(Array.from({ length: 40 }, (_, n) => write(n % 2 ? here : there, n)))
      const events = await store_(there).events(before, 100)
      expect(events.map(({ seq }) => seq - before)).toEqual(events.map((_, n) => n + 1))
      expect(events.map(({ data }) => Number(data.n)).sort((a, b) => a - b)).toEqual(
        Array.from({ length: 40 }, (_, n) => n),
      )
      expect(received.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => 2 * n + 1))
    })

    it_('makes what was read before no longer true', async () => {
      await empty()
      let reads = 0
      const read = () => store_().readCached('values', async () => [++reads, await values()])
      expect(await read()).toEqual([1, []])
      expect(await read()).toEqual([1, []])
      await store_(there).apply([put('a')])
      expect(await read()).toEqual([2, ['a']])
    })
  })

  describe('a lease', () => {
    it_('is held by one of many who ask at the same time, oldest due first', async () => {
      await empty()
      await add(...Array.from({ length: 12 }, (_, n) => `a${String(n).padStart(2, '0')}`))
      const first = agents(await scheduler().claim(2)).map(({ id }) => id)
      expect(first.sort()).toEqual(['a00', 'a01'])
      const claims = await Promise.all([here, there, here, there].map(home => scheduler(home).claim(4)))
      const ids = claims.flatMap(agents).map(({ id }) => id)
      const rest = agents(await scheduler().claim(99)).map(({ id }) => id)
      expect([...first, ...ids, ...rest].sort()).toEqual(
        Array.from({ length: 12 }, (_, n) => `a${String(n).padStart(2, '0')}`),
      )
    })

    it_('that was lost writes nothing but what has happened in any case', async () => {
      const lease = await leaseAgent('a')
      await clock.advance(20_000)
      const again = agents(await scheduler(there).claim(9))[0]!
      expect([again.epoch, again.cycle_num]).toEqual([lease.epoch + 1, lease.cycle_num + 1])
      const paid = always({
        sql: "INSERT INTO plugin_values (namespace, key, value) VALUES ('test', 'paid', '1')",
        params: [],
      })
      expect(await store_().commit(lease, [put('stale'), paid], 'keep')).toBe('fenced')
      expect(await store_().commit(lease, [put('stale')], { run_at: 0 })).toBe('fenced')
      expect(await scheduler().renew([lease])).toEqual([lease])
      expect(await values()).toEqual(['paid'])
      expect(await store_(there).commit(again, [put('fresh')], { run_at: 0 })).toBe('ok')
    })

    it_('that was lost, or is refused, keeps none from ending that end at the same moment', async () => {
      await empty()
      await add('a', 'b', 'c', 'd')
      const leases = agents(await scheduler().claim(9))
      await clock.advance(10_000)
      await scheduler().renew(leases.filter(({ id }) => id !== 'b'))
      await clock.advance(10_000)
      expect(agents(await scheduler(there).claim(9)).map(({ id }) => id)).toEqual(['b'])
      const nothing = must({ sql: "DELETE FROM plugin_values WHERE key = 'absent'", params: [] })
      const ended = await Promise.all(
        leases.map(lease => {
          const effects = [put(lease.id), ...(lease.id === 'c' ? [nothing] : [])]
          return store_().commit(lease, effects, { run_at: clock.ms() + 5_000 })
        }),
      )
      expect(Object.fromEntries(leases.map(({ id }, n) => [id, ended[n]]))).toEqual({
        a: 'ok',
        b: 'fenced',
        c: 'refused',
        d: 'ok',
      })
      expect(await values()).toEqual(['a', 'd'])
      const held = await store_().all("SELECT id FROM leases WHERE kind = 'agent' AND owner IS NOT NULL")
      expect(held).toEqual([{ id: 'b' }])
    })

    it_('lasts as long as it is renewed or committed with', async () => {
      const lease = await leaseAgent('a')
      for (let n = 0; n < 3; n++) {
        await clock.advance(10_000)
        expect(await scheduler().renew([lease])).toEqual([])
        expect(agents(await scheduler(there).claim(9))).toEqual([])
      }
      await clock.advance(10_000)
      expect(await store_().commit(lease, [], 'keep')).toBe('ok')
      await clock.advance(10_000)
      expect(agents(await scheduler(there).claim(9))).toEqual([])
    })

    it_('is lost when its agent is ended, so that its model call ends too', async () => {
      const lease = await leaseAgent('a')
      expect(await scheduler().renew([lease])).toEqual([])
      await store_(there).apply([
        must({ sql: 'UPDATE agents SET died_at = ? WHERE agent_id = ?', params: [clock.ms(), 'a'] }),
      ])
      expect(await scheduler().renew([lease])).toEqual([lease])
    })

    it_('that is refused is given back all the same', async () => {
      const lease = await leaseAgent('a')
      const nothing = must({ sql: "DELETE FROM plugin_values WHERE key = 'absent'", params: [] })
      expect(await store_().commit(lease, [put('a'), nothing], { run_at: clock.ms() + 5_000 })).toBe('refused')
      expect(await store_().get("SELECT owner, run_at FROM leases WHERE id = 'a'")).toEqual({
        owner: null,
        run_at: clock.ms() + 5_000,
      })
      expect(await scheduler().nextDue()).toBe(clock.ms() + 5_000)
    })

    it_(
      'is due after a wake in mid-cycle, not before its rest; a wake notifies the loops of all processes',
      async () => {
        const lease = await leaseAgent('a')
        const notified = { here: 0, there: 0 }
        const off = [scheduler().onWake(() => notified.here++), scheduler(there).onWake(() => notified.there++)]
        await store_().apply([wakeAgents({ agents: ['a'], reason: 'nudge' })])
        await store_().commit(lease, [], { run_at: clock.ms() + 60_000 })
        expect(await scheduler(there).nextDue()).toBe(clock.ms() + 1_000)
        await store_().apply([sql('UPDATE leases SET run_at = ? WHERE id = ?', clock.ms() + 60_000, 'a')])
        await clock.advance(5_000)
        await scheduler().wake(undefined, 'all')
        expect(await scheduler().nextDue()).toBe(clock.ms())
        expect(notified.here).toBe(2)
        if (engine === 'postgres') {
          await clock.advance(10)
          await expect.poll(() => notified.there).toBeGreaterThan(0)
        }
        for (const undo of off) undo()
      },
    )

    it_('of a paused agent never comes due, whatever its cycle asked for', async () => {
      const lease = await leaseAgent('a')
      await store_().apply([sql("UPDATE agents SET paused_at = 1 WHERE agent_id = 'a'")])
      await store_().commit(lease, [], { run_at: 0 })
      await store_().apply([wakeAgents({ reason: 'all' })])
      await clock.advance(60_000)
      expect(agents(await scheduler().claim(9))).toEqual([])
    })

    it_('of an agent at rest is passed with others, unless it was woken or taken since', async () => {
      await empty()
      await add('a', 'b', 'c', 'd')
      await store_().apply([sql("UPDATE leases SET run_at = run_at + ? WHERE kind = 'agent'", clock.ms() - 10)])
      const due = await scheduler().listDue!(clock.ms(), 9)
      expect(due.map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd'])
      await store_(there).apply([wakeAgents({ agents: ['b'], reason: 'nudge' })])
      expect(agents(await scheduler(there).claim(1)).map(({ id }) => id)).toEqual(['a'])
      const next = clock.ms() + 60_000
      const passed = await Promise.all([here, there].map(home => scheduler(home).pass!(due, next)))
      expect(passed.flat().sort()).toEqual(['c', 'd'])
      const once = `SELECT id FROM leases WHERE passed = 1 AND cycle_num = 1 AND run_at = ? AND id ${AMONG} ORDER BY id`
      expect(await store_().all(once, [next, jsonList(['b', 'c', 'd'])])).toEqual([{ id: 'c' }, { id: 'd' }])
      expect(await scheduler().listDue!(clock.ms(), 9)).toMatchObject([{ id: 'b', wakes: 1 }])
    })

    it_('of a process that is gone is freed at once, and those of the living are not', async () => {
      const lease = await leaseAgent('a')
      expect(await store_(there).recover([store_().owner])).toBe(0)
      expect(await store_(there).free([store_().owner])).toBe(1)
      expect(agents(await scheduler(there).claim(9))[0]).toMatchObject({ id: 'a', epoch: lease.epoch + 1 })
      expect(await store_().recover([])).toBe(1)
      expect(await store_().commit(lease, [put('stale')], 'keep')).toBe('fenced')
    })
  })

  describe('a singleton', () => {
    it_('is held by one of many that ask, beside all agents, and counts for its holder', async () => {
      await store_().apply([sql("UPDATE leases SET run_at = 0 WHERE id = 'sys:beat'")])
      const claims = await Promise.all([here, there, here, there].map(home => scheduler(home).claim(0)))
      const [beat, ...others] = claims.flat()
      expect([beat?.id, beat?.kind, others.length]).toEqual(['sys:beat', 'sys', 0])
      expect(await store_().commit(beat!, [], { run_at: 0 })).toBe('ok')
      const [again] = await scheduler(there).claim(0)
      expect(again?.cycle_num).toBe(beat!.cycle_num + 1)
      expect(await store_(there).commit(again!, [], { run_at: NEVER })).toBe('ok')
    })
  })

  it_('brings forward what is further away than a heartbeat that has become shorter', async () => {
    const lease = await leaseAgent('a')
    const began = clock.ms()
    await store_().commit(lease, [], { run_at: began + 3_600_000 })
    await (scheduler() as OpenedStore['scheduler']).reschedule()
    expect(await scheduler(there).nextDue()).toBe(began + 1000 * Number(here.kernel.config.get('daemon.heartbeat')))
  })

  it_('counts agents and active goals as they are, whatever changes them', async () => {
    await empty()
    const goal = (id: string, agent: string) =>
      sql("INSERT INTO goals (goal_id, agent_id, objective, created_at) VALUES (?, ?, 'o', 1)", id, agent)
    const agentTotals = () =>
      store_(there).get(
        'SELECT total, dead, paused, waiting, active AS goals_active FROM agent_totals, goal_totals_view',
      )
    const are = (total: number, dead: number, paused: number, waiting: number, goals_active: number) =>
      agentTotals().then(row => expect(row).toEqual({ total, dead, paused, waiting, goals_active }))
    await are(0, 0, 0, 0, 0)
    await add('a', 'b', 'c')
    await store_().apply([goal('g1', 'a'), goal('g2', 'a'), goal('g3', 'b')])
    await are(3, 0, 0, 0, 3)
    await store_().apply([
      sql("UPDATE agents SET waiting_for = 'x', paused_at = 1 WHERE agent_id <> 'c'"),
      sql("UPDATE goals SET status = 'completed' WHERE goal_id = 'g1'"),
    ])
    await are(3, 0, 2, 0, 2)
    await store_().apply([
      sql("UPDATE agents SET died_at = 1 WHERE agent_id = 'a'"),
      sql('UPDATE agents SET paused_at = NULL'),
    ])
    await are(3, 1, 0, 1, 2)
    await store_().apply([sql("DELETE FROM agents WHERE agent_id <> 'c'")])
    await are(1, 0, 0, 0, 0)
    expect(
      await store_().get(
        "SELECT (SELECT total FROM agent_number) AS n, count(*) AS leases FROM leases WHERE kind = 'agent'",
      ),
    ).toEqual({ n: 1, leases: 1 })
  })

  it_('reports that it is reachable and who else is at work, and frees space', async () => {
    await store_().health()
    await scheduler(there).claim(0)
    expect(await store_().hasOtherDaemons()).toBe(false)
    // A file shows this by the locks of its processes instead.
    expect(await store_().hasOtherDaemons(store_().place)).toBe(engine === 'postgres')
    expect(await store_().shrink(AbortSignal.timeout(1_000))).toBeGreaterThanOrEqual(0)
    await store_().trimLog()
    await store_().shortLog(AbortSignal.timeout(1_000))
  })

  it_('never reserves more than the budget, however many ask at once', async () => {
    await empty()
    const micros = 10
    const hold = (n: number) =>
      holdSpend({
        call_id: `c${n}`,
        owner: 'o',
        by_daemon: false,
        agent_id: null,
        root_agent_id: null,
        goal_id: null,
        kind: 'task',
        model: 'm',
        priced: 'list',
        amount: { micros, tokens: 1 },
        limits: { micros: 75, tokens: 0 },
        bound: micros,
        agents: [],
        expires_at: NEVER,
      })
    const held = await Promise.all(Array.from({ length: 30 }, (_, n) => store_(n % 2 ? here : there).apply([hold(n)])))
    expect(held.filter(Boolean)).toHaveLength(7)
    expect(await store_().get('SELECT sum(cost_micros) AS micros, count(*) AS n FROM budget_reservations')).toEqual({
      micros: 70,
      n: 7,
    })
  })
})
