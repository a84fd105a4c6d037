import { expect, it } from 'vitest'
import { definePlugin, type PluginDefinition } from '#kernel'
import type { Cycle, WakeSource } from '#platform/heartbeat/contract'
import {
  memoryScheduler,
  runHeartbeat,
  type TestHost,
  type TestHostOptions,
  testHost,
  turnEventLoop,
  until,
  waitUntilIdle,
} from '../support/index.ts'

/**
 * Starts a test host with agents whose goal generation runs `work`. `cycles` are the started and ended cycles, in
 * order.
 */
async function agents(
  names: readonly string[],
  work: (cycle: Cycle, home: () => TestHost) => unknown = () => {},
  options: TestHostOptions = {},
) {
  const leases = memoryScheduler(names)
  const cycles: string[] = []
  let opened: TestHost | undefined
  const worker = definePlugin({
    name: 'worker',
    setup(svc) {
      svc.tap('goal_generation', 'work', cycle => work(cycle, () => opened!))
      svc.on('cycle_start', ({ agent_id, cycle_num }) => void cycles.push(`${agent_id} ${cycle_num}`))
      svc.on('cycle_end', ({ agent_id, result }) => void cycles.push(`${agent_id} ${result}`))
    },
  })
  const home = await testHost({ ...options, builtins: [worker, ...(options.builtins ?? []), leases.plugin] })
  opened = home
  const cyclesBegun = (name: string) => cycles.filter(line => line.startsWith(`${name} `) && /\d$/.test(line)).length
  return { home, leases, cycles, begun: cyclesBegun, [Symbol.asyncDispose]: () => home.close() }
}

/** Work that waits until the test releases it. */
function blockingWork() {
  const waiting = new Map<string, () => void>()
  let most = 0
  return {
    work: ({ agent_id, signal }: Cycle) =>
      new Promise<void>((resolve, reject) => {
        waiting.set(agent_id, resolve)
        most = Math.max(most, waiting.size)
        signal.addEventListener('abort', () => reject(signal.reason))
      }).finally(() => waiting.delete(agent_id)),
    waiting,
    most: () => most,
    release: (name: string) => waiting.get(name)?.(),
  }
}

it('every agent runs one cycle per heartbeat', async () => {
  await using fixture = await agents(['ada', 'bob', 'eve'])
  await waitUntilIdle(fixture.home)
  for (let beats = 4; beats > 0; beats--) await runHeartbeat(fixture.home)
  expect(['ada', 'bob', 'eve'].map(fixture.begun)).toEqual([5, 5, 5])
})

it('a slow agent misses only its own heartbeats and delays no other agent', async () => {
  const slow = blockingWork()
  await using fixture = await agents(['ada', 'bob'], cycle => (cycle.agent_id === 'ada' ? slow.work(cycle) : undefined))
  await until(() => slow.waiting.has('ada'))
  for (let beats = 1; beats <= 5; beats++) {
    await fixture.home.clock.advance(10_000)
    await until(() => fixture.begun('bob') === beats + 1)
  }
  expect([fixture.begun('ada'), fixture.begun('bob')]).toEqual([1, 6])
  expect(fixture.home.kernel.heartbeat.inFlight).toEqual(['ada'])
  slow.release('ada')
  await until(() => fixture.cycles.includes('ada idle'))
})

it('at most daemon.max_concurrent_agents cycles run at once, and a change of that limit applies while running', async () => {
  const slow = blockingWork()
  const names = ['a', 'b', 'c', 'd', 'e', 'f']
  const config = { daemon: { max_concurrent_agents: 2 } }
  await using fixture = await agents(names, slow.work, { config })
  const { kernel, clock } = fixture.home
  await until(() => slow.waiting.size === 2)
  await clock.advance(5_000)
  expect(kernel.heartbeat.inFlight).toHaveLength(2)
  await kernel.config.patch({ daemon: { max_concurrent_agents: 4 } })
  const changed = until(fixture.home, 'config_changed')
  await clock.advance(10_000)
  await changed
  await until(async () => {
    await clock.advance(250)
    return slow.waiting.size === 4
  })
  expect(slow.most()).toBe(4)
})

it('a freed slot is taken at once by the agent that has waited longest', async () => {
  const slow = blockingWork()
  const config = { daemon: { max_concurrent_agents: 1 } }
  await using fixture = await agents(['a', 'b', 'c'], slow.work, { config })
  const order: string[] = []
  for (let left = 3; left > 0; left--) {
    await until(() => slow.waiting.size === 1)
    const [name] = slow.waiting.keys()
    order.push(name!)
    slow.release(name!)
    await until(() => !slow.waiting.has(name!))
  }
  expect(order).toEqual(['a', 'b', 'c'])
  expect(fixture.home.clock.monotonic()).toBe(0)
})

it('a heartbeat interval that is shortened while running applies from the next heartbeat on', async () => {
  await using fixture = await agents(['ada'])
  await waitUntilIdle(fixture.home)
  await fixture.home.kernel.config.patch({ daemon: { heartbeat: 1 } })
  const changed = until(fixture.home, 'config_changed')
  await fixture.home.clock.advance(10_000)
  await changed
  await waitUntilIdle(fixture.home)
  const before = fixture.begun('ada')
  for (let beats = 4; beats > 0; beats--) await runHeartbeat(fixture.home)
  expect(fixture.begun('ada') - before).toBeGreaterThanOrEqual(3)
})

const sourceOf = (source: WakeSource): PluginDefinition =>
  definePlugin({ name: 'waker', setup: svc => void svc.wakeSource(source) })

it('a wake source wakes all agents at once, without waiting for the heartbeat', async () => {
  const mail = mailbox()
  await using fixture = await agents(['ada', 'bob'], undefined, { builtins: [sourceOf(mail.source)] })
  await waitUntilIdle(fixture.home)
  mail.post('mail arrived')
  await until(() => fixture.begun('ada') === 2 && fixture.begun('bob') === 2)
  expect(fixture.home.clock.monotonic()).toBe(0)
})

it('a wake source may wake only some agents', async () => {
  const mail = mailbox()
  await using fixture = await agents(['ada', 'bob'], undefined, { builtins: [sourceOf(mail.source)] })
  await waitUntilIdle(fixture.home)
  mail.post({ reason: 'mail for bob', agents: ['bob'] })
  await until(() => fixture.begun('bob') === 2)
  await waitUntilIdle(fixture.home)
  expect(fixture.begun('ada')).toBe(1)
})

it('an agent that is woken during its cycle runs again when the cycle ends', async () => {
  const slow = blockingWork()
  const mail = mailbox()
  await using fixture = await agents(['ada'], slow.work, { builtins: [sourceOf(mail.source)] })
  await until(() => slow.waiting.has('ada'))
  mail.post('mail arrived')
  await until(() => mail.taken === 1)
  await turnEventLoop()
  expect(fixture.begun('ada')).toBe(1)
  slow.release('ada')
  await until(() => fixture.begun('ada') === 2)
  expect(fixture.home.clock.monotonic()).toBe(0)
})

it('a wake source is asked again after each answer, and is aborted when its plugin is removed', async () => {
  const mail = mailbox()
  await using fixture = await agents(['ada'], undefined, { builtins: [sourceOf(mail.source)] })
  await waitUntilIdle(fixture.home)
  for (let n = 1; n <= 3; n++) {
    mail.post('mail arrived')
    await until(() => fixture.begun('ada') === n + 1)
    await fixture.home.clock.advance(250)
  }
  expect(mail.signal?.aborted).toBe(false)
  await fixture.home.kernel.host.remove('waker')
  expect(mail.signal?.aborted).toBe(true)
  mail.post('too late')
  await waitUntilIdle(fixture.home)
  expect(fixture.begun('ada')).toBe(4)
})

it('a wake source that is added while the daemon runs wakes agents too', async () => {
  const mail = mailbox()
  await using fixture = await agents(['ada'])
  await waitUntilIdle(fixture.home)
  await fixture.home.kernel.host.add(sourceOf(mail.source))
  mail.post('mail arrived')
  await until(() => fixture.begun('ada') === 2)
})

it('a wake source that fails five times in a row is dropped and logged by name; the others still work', async () => {
  let asked = 0
  const mail = mailbox()
  const broken = definePlugin({
    name: 'broken',
    setup(svc) {
      svc.wakeSource({
        name: 'broken',
        async wait() {
          asked++
          throw new Error('no connection')
        },
      })
    },
  })
  await using fixture = await agents(['ada'], undefined, { builtins: [broken, sourceOf(mail.source)] })
  await waitUntilIdle(fixture.home)
  await fixture.home.clock.advance(30_000)
  expect(asked).toBe(5)
  expect(fixture.home.logged('wake source "broken" failed 5 times in a row')).toMatchObject([{ level: 50 }])
  await waitUntilIdle(fixture.home)
  const before = fixture.begun('ada')
  mail.post('mail arrived')
  await until(() => fixture.begun('ada') === before + 1)
})

it.each([undefined, 5, {}, { reason: 'mail', agents: 'ada' }, { reason: 'mail', agents: [5] }])(
  'a wake source that answers %j counts as failed, and does not affect others',
  async answer => {
    const mail = mailbox()
    const odd = definePlugin({
      name: 'odd',
      setup: svc => svc.wakeSource({ name: 'odd', wait: async () => answer as never }),
    })
    await using fixture = await agents(['ada'], undefined, { builtins: [odd, sourceOf(mail.source)] })
    await waitUntilIdle(fixture.home)
    await fixture.home.clock.advance(30_000)
    expect(fixture.home.logged('wake source "odd" failed: a wake must be a string')).toHaveLength(5)
    expect(fixture.home.logged('wake source "odd" failed 5 times in a row')).toMatchObject([{ plugin: 'odd' }])
    await waitUntilIdle(fixture.home)
    const before = fixture.begun('ada')
    mail.post('mail arrived')
    await until(() => fixture.begun('ada') === before + 1)
  },
)

it('a wake source that always answers at once is limited to four wakes per second', async () => {
  let asked = 0
  const eager = sourceOf({
    name: 'eager',
    async wait() {
      asked++
      return 'again'
    },
  })
  await using fixture = await agents(['ada'], undefined, { builtins: [eager] })
  for (let quarters = 40; quarters > 0; quarters--) {
    await waitUntilIdle(fixture.home)
    await fixture.home.clock.advance(250)
  }
  await waitUntilIdle(fixture.home)
  expect(asked).toBeLessThanOrEqual(42)
  expect(fixture.begun('ada')).toBeLessThanOrEqual(42)
  expect(fixture.begun('ada')).toBeGreaterThan(30)
})

it("the daemon's own heartbeat is counted by its lease, and a wake source does not advance it", async () => {
  const beats: number[] = []
  const counter = definePlugin({
    name: 'counter',
    setup: svc => svc.on('beat', ({ beat: count }) => void beats.push(count)),
  })
  const mail = mailbox()
  await using fixture = await agents(['ada'], undefined, { builtins: [counter, sourceOf(mail.source)] })
  fixture.leases.add('sys:beat', 'sys')
  await until(() => beats.length === 1)
  mail.post('mail arrived')
  await until(() => fixture.begun('ada') === 2)
  await runHeartbeat(fixture.home)
  await runHeartbeat(fixture.home)
  expect(beats).toEqual([1, 2, 3])
})

it('stopping lets a running cycle finish within the grace period', async () => {
  const slow = blockingWork()
  await using fixture = await agents(['ada'], slow.work)
  await until(() => slow.waiting.has('ada'))
  const stopped = fixture.home.kernel.heartbeat.stop()
  await fixture.home.clock.advance(999)
  expect(fixture.home.kernel.heartbeat.live).toBe(true)
  slow.release('ada')
  await stopped
  expect(fixture.home.kernel.heartbeat.live).toBe(false)
  expect(fixture.cycles).toEqual(['ada 1', 'ada idle'])
  expect(fixture.leases.commits).toMatchObject([{ result: 'ok' }])
})

it('a cycle that outlasts the grace period is aborted, frees its lease, and does not count as a failure', async () => {
  const slow = blockingWork()
  await using fixture = await agents(['ada', 'bob'], slow.work)
  await until(() => slow.waiting.size === 2)
  let reason: unknown
  fixture.home.kernel.hooks.get<Cycle>('cleanup').tap('watch', ({ signal }) => {
    reason = signal.reason
  })
  const stopped = fixture.home.kernel.heartbeat.stop()
  await fixture.home.clock.advance(1_000)
  await stopped
  expect(reason).toMatchObject({ code: 'stopping' })
  expect(fixture.cycles.slice(2)).toEqual(['ada idle', 'bob idle'])
  expect(fixture.leases.commits).toMatchObject([{ next: { run_at: expect.any(Number) } }, { result: 'ok' }])
  await fixture.home.clock.advance(60_000)
  expect(fixture.begun('ada')).toBe(1)
})

it('stopping twice or stopping before a start does nothing', async () => {
  await using still = await testHost()
  await still.kernel.heartbeat.stop()
  await using house2 = await agents(['ada'])
  await waitUntilIdle(house2.home)
  const { heartbeat } = house2.home.kernel
  await Promise.all([heartbeat.stop(), heartbeat.stop()])
  expect(heartbeat.live).toBe(false)
})

it('a stopped heartbeat can be started again', async () => {
  await using fixture = await agents(['ada'])
  await waitUntilIdle(fixture.home)
  await fixture.home.kernel.heartbeat.stop()
  fixture.home.kernel.heartbeat.start()
  fixture.home.kernel.heartbeat.start()
  await runHeartbeat(fixture.home)
  expect(fixture.begun('ada')).toBe(2)
})

it('a store that fails for a while is logged once per outage, and agents run again afterwards', async () => {
  await using fixture = await agents(['ada'])
  await waitUntilIdle(fixture.home)
  const claim = fixture.leases.claim.bind(fixture.leases)
  let failures = 3
  fixture.leases.claim = limit => (failures-- > 0 ? Promise.reject(new Error('the disk is full')) : claim(limit))
  // Due after a heartbeat, and retried every 250 ms.
  await fixture.home.clock.advance(10_750)
  await waitUntilIdle(fixture.home)
  expect(fixture.begun('ada')).toBe(2)
  expect(fixture.home.logged('heartbeat: the disk is full')).toHaveLength(1)
  failures = 3
  await fixture.home.clock.advance(10_750)
  await waitUntilIdle(fixture.home)
  expect(fixture.begun('ada')).toBe(3)
  expect(fixture.home.logged('heartbeat: the disk is full')).toHaveLength(2)
})

it('a loop whose store keeps failing goes on ticking and reports the fault until it is over', async () => {
  await using fixture = await agents(['ada'])
  await waitUntilIdle(fixture.home)
  const { heartbeat } = fixture.home.kernel
  const claim = fixture.leases.claim
  fixture.leases.claim = () => Promise.reject(new Error('the disk is full'))
  await fixture.home.clock.advance(30_000)
  expect(heartbeat.fault).toBe('the disk is full')
  expect(fixture.home.clock.ms() - heartbeat.lastTick).toBeLessThan(1_000)
  fixture.leases.claim = claim
  await fixture.home.clock.advance(250)
  await waitUntilIdle(fixture.home)
  expect(heartbeat.fault).toBeUndefined()
})

it('a cycle whose end cannot be written ends as an error, and other agents go on', async () => {
  await using fixture = await agents(['ada', 'bob'])
  const commit = fixture.leases.commit.bind(fixture.leases)
  fixture.leases.commit = (lease, effects, next) =>
    lease.id === 'ada' ? Promise.reject(new Error('the disk is full')) : commit(lease, effects, next)
  await until(() => fixture.cycles.includes('ada error') && fixture.cycles.includes('bob idle'))
  expect(fixture.home.logged('the end of the cycle was not written: the disk is full')).toMatchObject([
    { agent_id: 'ada' },
  ])
})

it('cycles that never wait do not block timers and requests', async () => {
  const config = { daemon: { max_concurrent_agents: 1 } }
  await using fixture = await agents(['ada', 'bob', 'eve', 'ian'], undefined, { config })
  const { hooks } = fixture.home.kernel
  let turned = 0
  const seen: number[] = []
  hooks.on('cycle_end', () => void seen.push(turned))
  const counting = (async () => {
    while (seen.length < 4) {
      await turnEventLoop(1)
      turned++
    }
  })()
  await Promise.all([runHeartbeat(fixture.home), counting])
  expect(new Set(seen).size).toBeGreaterThan(1)
})

/** A wake source that the test controls. */
function mailbox() {
  const post: Parameters<typeof deliver>[0][] = []
  let arrived = () => {}
  const box = {
    taken: 0,
    signal: undefined as AbortSignal | undefined,
    post: (wake: Parameters<typeof deliver>[0]) => {
      post.push(wake)
      arrived()
    },
    source: {
      name: 'mailbox',
      async wait(signal) {
        box.signal = signal
        while (post.length === 0) {
          await new Promise<void>(resolve => {
            arrived = resolve
          })
        }
        box.taken++
        return deliver(post.shift()!)
      },
    } satisfies WakeSource as WakeSource,
  }
  return box
}

function deliver(wake: Awaited<ReturnType<WakeSource['wait']>>) {
  return wake
}

it('a clock that is set during a cycle delays the agent by no more than one heartbeat', async () => {
  const two_days = 2 * 86_400_000
  for (const jump of [-two_days, two_days]) {
    const slow = blockingWork()
    await using fixture = await agents(['ada'], slow.work)
    const { home, leases } = fixture
    await until(() => slow.waiting.has('ada'))
    home.clock.jump(jump)
    slow.release('ada')
    await until(() => fixture.cycles.includes('ada idle'))
    expect(leases.commits.at(-1)?.next).toEqual({ run_at: home.clock.ms() + 10_000 })
  }
})
