import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { project } from '../../cli/project.ts'
import { RunningSvc } from '../../support/cli.ts'
import { cpuOf, median } from '../measures.ts'
import { program } from '../package.ts'
import { populate } from '../population.ts'
import { type Row, row } from '../row.ts'

const ROUNDS = 5
const HEARTBEAT_MS = 10_000

/**
 * Measures the time from the command to the first healthy answer of a service with its daemon, with its files in
 * memory.
 */
export async function start(): Promise<Row[]> {
  return [...(await startWith(0, 500)), ...(await startWith(1_000, 2_000))]
}

async function startWith(agents: number, atMost: number): Promise<Row[]> {
  await using dir = await project()
  await timeStart(dir.path)
  if (agents > 0) {
    populate(join(dir.path, '.svc', 'svc.db'), { agents, due: { from: HEARTBEAT_MS, over: HEARTBEAT_MS } })
  }
  const ours: StartTime[] = []
  const bare: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    ours.push(await timeStart(dir.path))
    bare.push(await bareStart())
  }
  const node = median(bare)
  const wall = median(ours.map(each => each.wall))
  const cost = median(ours.map(each => each.cost))
  return [
    row({
      what: `start to the first healthy answer, ${agents} agents, processor time`,
      figure: cost,
      unit: 'ms',
      aim: { atMost },
    }),
    row({
      what: `start to the first healthy answer, ${agents} agents, on the wall, beside node -e 0`,
      figure: wall,
      unit: 'ms',
      baseline: node,
      ratio: wall / node,
      aim: { atMost },
      unclear: node > 80 ? `Node itself takes ${node.toFixed(0)} ms to start on this machine now` : undefined,
    }),
  ]
}

interface StartTime {
  wall: number
  cost: number
}

async function timeStart(cwd: string): Promise<StartTime> {
  const began = performance.now()
  const words = ['serve', '--with-daemon', '--port', '0', '--json']
  await using running = new RunningSvc(words, { cwd, program: await program() })
  const [, url] = await running.waitForOutput(/"url":"(http[^"]+)"/)
  const answer = await fetch(`${url}/healthz`)
  if (!answer.ok) throw new Error(`GET /healthz answered ${answer.status}`)
  const found = { wall: performance.now() - began, cost: await cpuOf(running.pid) }
  await running.end('SIGTERM')
  return found
}

async function bareStart(): Promise<number> {
  const began = performance.now()
  await once(spawn(process.execPath, ['-e', '0']), 'close')
  return performance.now() - began
}
