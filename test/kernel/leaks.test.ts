import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, it } from 'vitest'
import { definePlugin, point, token, z } from '#kernel'
import { PHASES } from '#platform/heartbeat/contract'
import { tool } from '#tools/toolkits/contract'
import { leakLedger, memoryScheduler, testHost, waitUntilIdle } from '../support/index.ts'

const Colours = point<{ name: string }>('colours', { key: colour => colour.name, ask: () => undefined })
const Colour = token<string>('colour')

/** A plugin that registers one of everything there is. */
function oneOfEverything(round: number) {
  return definePlugin({
    name: 'one-of-everything',
    config: z.object({ size: z.number().default(round).meta({ reload: 'applied', env: 'EVERYTHING_SIZE' }) }),
    setup(svc, config) {
      svc.event('round_begun', z.object({ round: z.number() }))
      for (const event of svc.events.keys()) svc.on(event as 'beat', () => round)
      for (const hook of ['guards', 'wake_sources', 'goal_strategies', 'toolkits', 'operations', 'round_begun']) {
        svc.tap(hook, 'series', () => undefined)
      }
      for (const phase of PHASES) svc.tap(phase, { name: 'work', stage: round % 5 }, async () => undefined)
      svc.guard('goal_pursuit', { shouldProceed: () => true })
      svc.guard('*', { shouldProceed: async () => true }, { name: 'all', failClosed: true })
      svc.wakeSource({ name: 'mailbox', wait: signal => svc.clock.sleep(1e9, signal).then(() => 'mail arrived') })
      svc.goalStrategy({ generateGoal: () => undefined })
      const size = tool({ name: 'size', description: '', parameters: z.object({}), execute: () => config.size })
      svc.toolkit({ name: 'everything', tools: [size] })
      svc.operation({
        name: 'everything.get',
        summary: 'Get it',
        input: z.object({}),
        output: z.object({}),
        run: () => ({}),
      })
      svc.provide(Colour, `red ${round}`)
      svc.section('everything', z.object({ depth: z.number().default(1) }))
      svc.add(Colours, { name: 'red' })
      svc.onChange(Colours, () => {})
      svc.start(() => {
        const stop = svc.clock.after(1e9, () => {})
        svc.add(Colours, { name: 'late' })
        return () => stop()
      })
    },
  })
}

it('a plugin that registers one of everything leaves nothing behind after a thousand loads and removals', async () => {
  const leases = memoryScheduler(['ada'])
  await using home = await testHost({ builtins: [leases.plugin] })
  const { host } = home.kernel
  await waitUntilIdle(home)
  const ledger = leakLedger(home)

  await host.add(oneOfEverything(0))
  const held = ledger.diff()
  for (const kind of ['tap of goal_pursuit', 'guards', 'wake_sources', 'toolkits', 'service', 'config key', 'timer']) {
    expect(held.some(line => line.startsWith(kind))).toBe(true)
  }
  await host.remove('one-of-everything')
  expect(ledger.diff()).toEqual([])

  const addAndRemove = async (count: number) => {
    for (let round = count; round > 0; round--) {
      await host.add(oneOfEverything(round))
      await home.kernel.hooks.emit('beat', { beat: round })
      await host.remove('one-of-everything')
    }
  }
  // The first rounds warm up what is created once: compiled hooks, zod's caches.
  await addAndRemove(100)
  const before = heapAfterCollection()
  await addAndRemove(1000)
  const grown = (heapAfterCollection() - before) / 1024 / 1024
  expect(ledger.diff()).toEqual([])
  console.log(`a thousand rounds: the heap grew by ${grown.toFixed(2)} MiB`)
  expect(grown).toBeLessThan(5)
})

it('the leak ledger names what was left behind', async () => {
  await using home = await testHost()
  const ledger = leakLedger(home)
  home.kernel.hooks.on('beat', () => {}, 'forgetful')
  home.kernel.hooks.on('beat', () => {}, 'forgetful')
  home.clock.after(1000, () => {})
  expect(ledger.diff()).toEqual(['tap of beat: forgetful (2 times)', 'timer'])
})

function heapAfterCollection(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  collect()
  return process.memoryUsage().heapUsed
}
