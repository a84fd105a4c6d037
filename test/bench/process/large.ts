import { join } from 'node:path'
import { project } from '../../cli/project.ts'
import { RunningSvc } from '../../support/cli.ts'
import { cpuOf, median } from '../measures.ts'
import { program } from '../package.ts'
import { populate } from '../population.ts'
import { type Row, row } from '../row.ts'

const GOALS = 100
const SIZES = [100, 10_000]
const ROUNDS = 6
const ASKED = 40

/** Measures a service with ten thousand agents of a hundred goals each, beside one with a hundred such agents. */
export async function large(): Promise<Row[]> {
  const projects = []
  for (const agents of SIZES) projects.push(await measureProject(agents))
  const [few, many] = projects as [Figures, Figures]
  const beside = (what: string, figure: keyof Figures, atMost: number) =>
    row({
      what: `10,000 agents × 100 goals: ${what}, processor time, beside 100 agents`,
      figure: many[figure],
      unit: 'ms',
      baseline: few[figure],
      ratio: many[figure] / few[figure],
      aim: { atMost },
    })
  return [
    beside('GET /agents?limit=100', 'list', 10),
    beside('GET /metrics', 'metrics', 50),
    beside('start to the first healthy answer', 'start', 2_000),
  ]
}

interface Figures {
  start: number
  list: number
  metrics: number
}

async function measureProject(agents: number): Promise<Figures> {
  await using dir = await project({ '.svc/config.yaml': 'daemon:\n  heartbeat: 3600\n' })
  const options = { cwd: dir.path, program: await program() }
  const words = ['serve', '--with-daemon', '--port', '0', '--json']
  {
    await using first = new RunningSvc(words, options)
    await first.waitForOutput(/"event":"ready"/)
    await first.end('SIGTERM')
  }
  const due = { from: 600_000, over: 3_000_000 }
  populate(join(dir.path, '.svc', 'svc.db'), { agents, goals: GOALS, due })
  const starts: number[] = []
  for (let round = 1; ; round++) {
    await using running = new RunningSvc(words, options)
    const [, url] = await running.waitForOutput(/"url":"(http[^"]+)"/)
    await expectOk(`${url}/healthz`)
    starts.push(await cpuOf(running.pid))
    if (round === 3) {
      const cost = (path: string) => costOf(running.pid, url + path)
      const [list, metrics] = [await cost('/agents?limit=100'), await cost('/metrics')]
      return { start: median(starts), list, metrics }
    }
    await running.end('SIGTERM')
  }
}

/** Returns the service's processor time for one request, in milliseconds. */
async function costOf(pid: number, url: string): Promise<number> {
  const costs: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const before = await cpuOf(pid)
    for (let n = 0; n < ASKED; n++) await expectOk(url)
    // The first round warms up.
    if (round > 0) costs.push(((await cpuOf(pid)) - before) / ASKED)
  }
  return median(costs)
}

async function expectOk(url: string): Promise<void> {
  const answer = await fetch(url)
  if (!answer.ok) throw new Error(`${url} answered ${answer.status}`)
  await answer.arrayBuffer()
}
