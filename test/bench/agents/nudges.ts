import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import agents from '#core/agents/index'
import { insertAgent } from '#core/agents/repository'
import { definePlugin } from '#kernel'
import { Store } from '#platform/store/contract'
import store from '#platform/store/index'
import waking from '#platform/waking/index'
import { openKernel } from '../../../embed/compose.ts'
import { idleLag, percentile } from '../measures.ts'
import { instantModel } from '../models/instant-model.ts'
import { type Row, row } from '../row.ts'

const NUDGES = 60

const profiles = definePlugin({ name: 'profiles', setup: () => {} })

const open = (root: string, role: 'daemon' | 'cli') =>
  openKernel({
    root,
    roles: [role],
    builtins: [store, instantModel, profiles, agents, waking],
    ports: { env: {} },
    log: { level: 'error' },
  })

/**
 * Measures how long an idle agent takes to start its cycle after a nudge, from the daemon's process and from another.
 */
export async function nudges(): Promise<Row[]> {
  const rows: Row[] = []
  const root = await mkdtemp(join(tmpdir(), 'svc-bench-'))
  const daemon = await open(root, 'daemon')
  const other = await open(root, 'cli')
  try {
    await daemon.config.patch({ daemon: { min_rest: 0, heartbeat: 3600 } })
    await daemon.config.reload()
    const agent = { agent_id: 'worker-1', name: 'worker', role: '', model: '', preset: 'worker', spawned_by: null }
    await daemon.use(Store).apply([insertAgent(agent)])
    let begun = () => {}
    daemon.hooks.on('cycle_start', () => begun())
    const next = () =>
      new Promise<number>(resolve => {
        begun = () => resolve(performance.now())
      })
    const first = next()
    daemon.heartbeat.start()
    await first
    for (const [name, kernel] of Object.entries({ 'the daemon itself': daemon, 'another process': other })) {
      const times: number[] = []
      for (let n = 0; n < NUDGES; n++) {
        // Out of step with the loop's own interval.
        await new Promise(resolve => setTimeout(resolve, 300 + ((n * 37) % 250)))
        const started = next()
        const began = performance.now()
        await kernel.invoke('agents.nudge', { id: 'worker-1', message: 'look alive' })
        times.push((await started) - began)
      }
      const idle = await idleLag()
      rows.push(
        row({
          what: `nudge to the start of the cycle on the wall, p99, from ${name}`,
          figure: percentile(times, 0.99),
          unit: 'ms',
          baseline: idle.p99,
          aim: { atMost: 50 },
          unclear: `a process that does nothing is up to ${idle.max.toFixed(0)} ms late on this machine`,
          note: `median ${percentile(times, 0.5).toFixed(1)} ms`,
        }),
      )
    }
    return rows
  } finally {
    await other.close()
    await daemon.close()
    await rm(root, { recursive: true, force: true })
  }
}
