import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import agents from '#core/agents/index'
import { insertAgent } from '#core/agents/repository'
import goals from '#core/goals/index'
import { Profile, Profiles } from '#core/profiles/contract'
import runtime from '#core/runtime/index'
import pluginsAdmin from '#interfaces/plugins-admin/index'
import { Rest } from '#interfaces/rest/contract'
import rest from '#interfaces/rest/index'
import { definePlugin, type Kernel, token, z } from '#kernel'
import { Store } from '#platform/store/contract'
import store from '#platform/store/index'
import budget from '#safety/budget/index'
import { openKernel } from '../../../embed/compose.ts'
import { percentile } from '../measures.ts'
import { instantModel } from '../models/instant-model.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const MIB = 2 ** 20
/** Events emitted per second. */
const EVENTS = 100

/** Record of what the plugin has handled, by version; kept outside of the plugin. */
interface Ledger {
  /** Versions that handled each event, by the event's number. */
  events: Map<number, number[]>
  /** Number of resources that were started and not stopped. */
  open: number
}
const LedgerToken = token<Ledger>('ledger')
const Counts = token<() => { requests: number; events: number; notes: number }>('counts')

/** Returns a plugin that uses a bit of everything, and passes its counters from version to version. */
const probe = (version: number) => `
import { definePlugin, tool, z } from 'svc'
const Counters = z.object({ requests: z.number(), events: z.number(), notes: z.number() })
export default definePlugin({
  name: 'probe',
  version: '${version}',
  state: Counters,
  setup(svc) {
    const counts: z.infer<typeof Counters> = svc.previous ?? { requests: 0, events: 0, notes: 0 }
    svc.handOver(() => counts)
    svc.provide({ name: 'counts' }, () => counts)
    svc.on('soak', ({ n }) => {
      const { events } = svc.use({ name: 'ledger' })
      events.set(n, [...(events.get(n) ?? []), ${version}])
      counts.events++
    })
    svc.on('cycle_end', async () => { await svc.clock.yield() })
    svc.guard('goal_pursuit', { shouldProceed: () => true })
    svc.guard('*', { shouldProceed: async () => true }, { name: 'all', failClosed: true })
    svc.goalStrategy({ generateGoal: () => undefined })
    svc.wakeSource({ name: 'probe', wait: signal => svc.clock.sleep(1e9, signal).then(() => 'never') })
    svc.toolkit({ name: 'notes', tools: [tool({
      name: 'note', description: 'Takes a note.', parameters: z.object({ text: z.string() }),
      execute: async () => { counts.notes++; await svc.clock.yield(); return 'noted' },
    })] })
    svc.operation({
      name: 'probe.get', summary: 'The version', input: z.object({}), output: z.object({ version: z.number() }),
      http: { method: 'GET', path: '/probe' },
      run: async () => { counts.requests++; await svc.clock.yield(); return { version: ${version} } },
    })
    svc.start(async () => {
      const ledger = svc.use({ name: 'ledger' })
      await svc.clock.yield()
      ledger.open++
      return () => void ledger.open--
    })
  },
})
`

const profile = Profile.parse({ name: 'worker', role: 'takes notes' })

function ledgerModule(ledger: Ledger) {
  return definePlugin({
    name: 'profiles',
    setup(svc) {
      svc.provide(LedgerToken, ledger)
      svc.provide(Profiles, {
        read: async () => profile,
        get: async () => profile,
        skills: async () => '',
        names: async () => [],
        list: async () => [],
      })
      svc.event('soak', z.object({ n: z.number() }))
      // Runs before the plugin's handler, so that reloads happen in the middle of events.
      svc.on('soak' as 'beat', () => turn())
    },
  })
}

export interface Figures {
  reloads: number
  seconds: number
  /** Requests sent per second, and those that were not answered with 200. */
  rate: number
  failed: string[]
  requests: { answered: number; counted: number; p99_ms: number; max_ms: number }
  events: { emitted: number; counted: number; missed: number; doubled: number }
  notes: { committed: number; counted: number; failed: number }
  cycles: { ended: number; failed: number }
  swap: { p50_ms: number; p99_ms: number; max_ms: number }
  /** Longest time without a turn of the event loop, in milliseconds. */
  lag_ms: number
  heap_mib: number
  rss_mib: number
  open: number
  errors: string[]
}

export interface SoakOptions {
  reloads: number
  /** Number of reloads before memory is measured for the first time: code compiled by then stays in memory. */
  warmUp: number
  /** Requests per second. */
  rate?: number
  agents?: number
}

/** Reloads one plugin again and again, under requests from another process and with agents at work. */
export async function soak(options: SoakOptions): Promise<Figures> {
  const root = await mkdtemp(join(tmpdir(), 'svc-soak-'))
  const ledger: Ledger = { events: new Map(), open: 0 }
  const errors: string[] = []
  await mkdir(join(root, 'plugins'))
  await mkdir(join(root, '.svc'))
  await writeFile(join(root, '.svc', 'config.yaml'), 'daemon:\n  heartbeat: 0.1\n  min_rest: 0\n  stop_grace: 30\n')
  await write(root, 0)
  const kernel = await openKernel({
    root,
    roles: ['daemon', 'server'],
    builtins: [store, instantModel, budget, ledgerModule(ledger), agents, runtime, goals, rest, pluginsAdmin],
    ports: { env: {} },
    pluginFiles: 'all',
    log: { level: 'error', write: line => void errors.push(line) },
    modules: async () => ({ svc: await import('../../../index.ts') }),
  })
  try {
    return await drive(kernel, ledger, errors, root, options)
  } finally {
    await kernel.close()
    await rm(root, { recursive: true, force: true })
  }
}

async function drive(
  kernel: Kernel,
  ledger: Ledger,
  errors: string[],
  root: string,
  { reloads, warmUp, rate = 500, agents: count = 8 }: SoakOptions,
): Promise<Figures> {
  const workers = Array.from({ length: count }, (_, n) =>
    insertAgent({ agent_id: `worker-${n}`, name: 'worker', role: '', model: '', preset: 'worker', spawned_by: null }),
  )
  await kernel.use(Store).apply(workers)
  const notes = { committed: 0, failed: 0 }
  const cycles = { ended: 0, failed: 0 }
  kernel.hooks.on('tool_result', ({ tool, ok }) => {
    if (tool === 'note') notes[ok ? 'committed' : 'failed']++
  })
  kernel.hooks.on('cycle_end', ({ result }) => {
    cycles.ended++
    if (['error', 'timeout', 'guarded', 'fenced'].includes(result)) cycles.failed++
  })
  const { url } = await kernel.use(Rest).listen({ host: '127.0.0.1', port: 0 })
  kernel.heartbeat.start()
  const load = fork(fileURLToPath(new URL('../requests/steady.ts', import.meta.url)), [`${url}/probe`, String(rate)], {
    execArgv: ['--import', 'tsx'],
  })
  let emitted = 0
  let emitting = true
  const emitter = (async () => {
    while (emitting) {
      emitted++
      await kernel.hooks.emit('soak' as 'beat', { n: emitted } as never)
      await sleep(1000 / EVENTS)
    }
  })()
  const swaps: number[] = []
  let version = 0
  const reload = async () => {
    await write(root, ++version)
    await kernel.host.apply()
    const probe = kernel.host.list().find(({ name }) => name === 'probe')
    if (probe?.version !== String(version)) throw new Error(`version ${version} is not live: ${JSON.stringify(probe)}`)
    swaps.push(probe.swap_ms ?? 0)
    await sleep(5)
  }
  const reloadTimes = async (count: number) => {
    for (let left = count; left > 0; left--) await reload()
  }
  await reloadTimes(warmUp)
  const before = await memory(() => reloadTimes(3))
  swaps.length = 0
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  const began = performance.now()
  await reloadTimes(reloads)
  const seconds = (performance.now() - began) / 1000
  delay.disable()
  const after = await memory(() => reloadTimes(3))
  emitting = false
  await emitter
  load.send('stop')
  const [report] = (await once(load, 'message')) as [Report]
  await kernel.heartbeat.stop()
  const counts = kernel.use(Counts)()
  const doubled = doubledIn(ledger)
  const events = { emitted, counted: counts.events, missed: emitted - ledger.events.size, doubled }
  return {
    reloads,
    seconds,
    rate: report.rate,
    failed: report.failures,
    requests: {
      answered: report.answered,
      counted: counts.requests,
      p99_ms: percentile(report.latencies, 0.99),
      max_ms: percentile(report.latencies, 1),
    },
    events,
    notes: { ...notes, counted: counts.notes },
    cycles,
    swap: { p50_ms: percentile(swaps, 0.5), p99_ms: percentile(swaps, 0.99), max_ms: percentile(swaps, 1) },
    lag_ms: delay.max / 1e6,
    heap_mib: (after.heap - before.heap) / MIB,
    rss_mib: (after.rss - before.rss) / MIB,
    open: ledger.open,
    errors,
  }
}

function doubledIn({ events }: Ledger): number {
  return [...events.values()].filter(versions => versions.length > 1).length
}

interface Report {
  answered: number
  failures: string[]
  latencies: number[]
  rate: number
}

/** Writes a temporary file and renames it, with an old modification time, so that no one seems to be still writing. */
async function write(root: string, version: number): Promise<void> {
  const file = join(root, 'plugins', 'probe.ts')
  await writeFile(`${file}.tmp`, probe(version))
  await utimes(`${file}.tmp`, 0, 0)
  await rename(`${file}.tmp`, file)
}

/**
 * Returns the lowest of several measurements, each after a collection and some work: the compiler's tables come and go
 * with it. The space for young objects is left out: V8 lets it grow under load up to its flag, by 55 MiB in Node 24,
 * and its content is gone.
 */
async function memory(work: () => Promise<void>): Promise<{ heap: number; rss: number }> {
  const looks: { heap: number; rss: number }[] = []
  for (let look = 0; look < 5; look++) {
    await work()
    for (let round = 0; round < 4; round++) {
      await sleep(50)
      collect()
    }
    const { heapUsed: heap, rss } = process.memoryUsage()
    const young = getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space')
    looks.push({ heap, rss: rss - (young?.physical_space_size ?? 0) })
  }
  return { heap: Math.min(...looks.map(each => each.heap)), rss: Math.min(...looks.map(({ rss }) => rss)) }
}
