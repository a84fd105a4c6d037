import { spawn as spawnProcess } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import waking from '#platform/waking/index'
import { AGENT_MODULES, spawn, testHostWithModel } from '../spec/core/models/model-host.ts'
import { goalAnswer } from '../spec/safety/approvals-host.ts'
import { testHost, until } from '../support/index.ts'

/** Program that writes markers at a given rate, and prints their number. */
const GENERATOR = `
const { writeFileSync } = require('node:fs')
const [folder, rate, seconds] = [process.argv[1], Number(process.argv[2]), Number(process.argv[3])]
const began = Date.now()
let n = 0
const more = () => {
  const due = Math.min(rate * seconds, Math.ceil(((Date.now() - began) / 1000) * rate))
  while (n < due) writeFileSync(folder + '/storm-' + n++ + '.json', '{}')
  if (Date.now() - began < seconds * 1000) setImmediate(more)
  else console.log(n)
}
more()
`

async function storm(folder: string, rate: number, seconds: number): Promise<number> {
  const child = spawnProcess(process.execPath, ['-e', GENERATOR, folder, String(rate), String(seconds)])
  let said = ''
  child.stdout.on('data', text => {
    said += text
  })
  await new Promise(resolve => child.on('close', resolve))
  return Number(said)
}

it('a storm of 10,000 markers a second starts at most four cycles a second per agent, and no marker is left', async () => {
  await using home = await testHostWithModel(() => goalAnswer(''), {
    builtins: [waking],
    clock: 'system',
    config: { daemon: { heartbeat: 60, min_rest: 0, idle_backoff: false } },
  })
  const begun: number[] = []
  home.kernel.hooks.on('cycle_start', () => void begun.push(performance.now()))
  const agents = [await spawn(home), await spawn(home)].length
  home.kernel.heartbeat.start()
  await until(() => begun.length === agents && home.kernel.heartbeat.inFlight.length === 0)
  const [cycles, calls, began] = [begun.length, home.server.requests.length, performance.now()]
  let lag = 0
  let last = performance.now()
  const watch = setInterval(() => {
    lag = Math.max(lag, performance.now() - last - 20)
    last = performance.now()
  }, 20)
  const markers = await storm(join(home.root, '.svc', 'nudges'), 10_000, 3)
  clearInterval(watch)
  while ((await readdir(join(home.root, '.svc', 'nudges'))).length > 0)
    await new Promise(resolve => setTimeout(resolve, 100))
  const seconds = (performance.now() - began) / 1000
  const rate = (begun.length - cycles) / seconds
  console.log(
    `storm: ${Math.round(markers / 3)} markers/s, ${rate.toFixed(1)} cycles/s of ${agents} agents, ` +
      `${((home.server.requests.length - calls) / seconds).toFixed(1)} model calls/s, worst lag ${Math.round(lag)} ms`,
  )
  expect(markers).toBeGreaterThan(3_000)
  expect(begun.length - cycles).toBeGreaterThanOrEqual(agents)
  expect(begun.length - cycles).toBeLessThanOrEqual(Math.ceil(seconds * 4 + 1) * agents)
  expect(home.server.requests.length - calls).toBeLessThanOrEqual(Math.ceil(seconds * 4 + 1) * agents)
})

it('a burst of messages from several processes is delivered completely, in few cycles', async () => {
  await using home = await testHostWithModel(() => goalAnswer(''), {
    builtins: [waking],
    clock: 'system',
    config: { daemon: { heartbeat: 60, min_rest: 0.3 } },
  })
  const id = await spawn(home)
  let begun = 0
  home.kernel.hooks.on('cycle_start', () => void begun++)
  home.kernel.heartbeat.start()
  await until(() => begun === 1 && home.kernel.heartbeat.inFlight.length === 0)
  const began = performance.now()
  const senders = await Promise.all(
    [11, 12, 13].map(seed =>
      testHost({ builtins: [...AGENT_MODULES, waking], roles: ['cli'], root: home.root, clock: 'system', seed }),
    ),
  )
  await Promise.all(
    senders.flatMap(({ kernel }, n) =>
      Array.from({ length: 15 }, (_, m) => kernel.invoke('agents.nudge', { id, message: `word ${n}-${m}.` })),
    ),
  )
  const promptsSent = () => home.server.requests.map(({ prompt }) => prompt).join('\n')
  await until(() =>
    senders.every((_, n) =>
      Array.from({ length: 15 }, (_, m) => m).every(m => promptsSent().includes(`word ${n}-${m}.`)),
    ),
  )
  expect(begun - 1).toBeLessThanOrEqual(Math.ceil((performance.now() - began) / 300) + 1)
  for (const sender of senders) await sender.close()
})
