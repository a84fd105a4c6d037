/**
 * One node of a cluster, which runs agents on request and reports how many cycles it ended. A cycle reserves the
 * maximum cost of its model call, waits for the configured milliseconds in place of an answer, and books the cost with
 * an event in the commit that returns its lease.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { definePlugin, z } from '#kernel'
import cluster from '#platform/cluster/index'
import type { Cycle } from '#platform/heartbeat/contract'
import { appendEvent, Store } from '#platform/store/contract'
import store from '#platform/store/index'
import { bookSpend } from '#safety/budget/contract'
import budget from '#safety/budget/index'
import { holdSpend } from '#safety/budget/repository'
import { openKernel } from '../../../embed/compose.ts'
import { cpu } from '../measures.ts'
import { instantModel } from '../models/instant-model.ts'

export interface NodeReport {
  cycles: number
  /** Processor time since the start, in milliseconds. */
  cpu: number
}

const [, , root] = process.argv
let thinks = 0
const TEXT = 'All tests pass but one; the parser takes an empty line for the end. '.repeat(8)

const model = definePlugin({
  name: 'thinking',
  setup(svc) {
    svc.event('thought', z.object({ text: z.string() }))
    svc.tap('goal_generation', 'thinks', async (cycle: Cycle) => {
      const { agent_id, cycle_num } = cycle
      const call_id = `${agent_id}/${cycle_num}`
      const call = {
        call_id,
        agent_id,
        root_agent_id: agent_id,
        goal_id: null,
        kind: 'goal_pursuit',
        model: 'm',
        priced: 'list',
      }
      const [amount, limits] = [
        { micros: 10, tokens: 10 },
        { micros: 1_000_000_000, tokens: 0 },
      ]
      const expires_at = svc.clock.ms() + 60_000
      const held = { ...call, owner: 'bench', by_daemon: true, amount, limits, bound: 10, agents: [], expires_at }
      await svc.use(Store).apply([holdSpend(held)])
      if (thinks > 0) await sleep(thinks)
      const cost = {
        cost_micros: 10,
        input_tokens: 100,
        output_tokens: 10,
        estimated: false,
        attempts: 1,
        duration_ms: 200,
      }
      const data = { text: TEXT }
      cycle.effects.push(bookSpend({ ...call, ...cost }), appendEvent({ type: 'thought', agent_id, cycle_num, data }))
      // Always due, in turn.
      cycle.run_at = svc.clock.ms()
    })
  },
})

const kernel = await openKernel({
  root: root!,
  roles: ['daemon'],
  builtins: [store, cluster, instantModel, budget, model],
  ports: { env: {} },
  log: { level: 'error' },
})
let cycles = 0
kernel.hooks.on('cycle_end', () => cycles++)
process.on('message', async (word: 'start' | 'stop' | 'tell' | number) => {
  if (typeof word === 'number') thinks = word
  if (word === 'start') kernel.heartbeat.start()
  if (word === 'stop') await kernel.heartbeat.stop()
  process.send!({ cycles, cpu: cpu() } satisfies NodeReport)
})
process.on('disconnect', () => process.exit())
process.send!({ cycles, cpu: cpu() } satisfies NodeReport)
