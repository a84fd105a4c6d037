import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Sqlite from 'better-sqlite3'
import { project } from '../../cli/project.ts'
import { goalAnswer } from '../../spec/safety/approvals-host.ts'
import { RunningSvc } from '../../support/cli.ts'
import { modelServer } from '../../support/model/model-server.ts'
import { until } from '../../support/until.ts'
import { cpuOf, residentOf } from '../measures.ts'
import { program } from '../package.ts'
import { populate } from '../population.ts'
import { type Row, row } from '../row.ts'

const IDLE_MS = 20_000
/**
 * Up to two minutes after a burst of work V8 collects what it left, up to three times; after that a process is at rest.
 */
const SETTLED_MS = 120_000
/** Length of the measurement: some heartbeats. */
const AT_REST_MS = 40_000
const HOUR_MS = 3_600_000

/** Measures the resources of a daemon whose agents have nothing to do. */
export async function idle(): Promise<Row[]> {
  const bare = spawn(process.execPath, ['-e', 'setInterval(() => {}, 250)'])
  try {
    return [...(await hundred(bare.pid!)), await tenThousand(bare.pid!)]
  } finally {
    bare.kill()
  }
}

/**
 * Measures agents at the default heartbeat whose model found nothing to do several times, so that it is not asked for
 * an hour.
 */
async function hundred(bare: number): Promise<Row[]> {
  const agents = 100
  await using server = await modelServer({ script: () => goalAnswer('') })
  const env = { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'none', SVC_DEFAULT_MODEL: 'openai:scripted-1' }
  await using dir = await project()
  const database = join(dir.path, '.svc', 'svc.db')
  await using daemon = new RunningSvc(['start', '--json'], { cwd: dir.path, program: await program(), env })
  await daemon.waitForOutput(/"event":"ready"/)
  populate(database, { agents, goals: 0 })
  await until(() => asleep(database) === agents)
  const db = new Sqlite(database)
  db.prepare('UPDATE idle_agents SET times = 9, ask_again_at = asked_at + ?').run(HOUR_MS)
  db.close()
  const before = server.requests.length
  const after = await cpuOf(daemon.pid)
  await sleep(SETTLED_MS)
  const [cost, bareCost] = [await cpuOf(daemon.pid), await cpuOf(bare)]
  await sleep(AT_REST_MS)
  const used = ((await cpuOf(daemon.pid)) - cost) / (AT_REST_MS / 1000)
  const theirs = ((await cpuOf(bare)) - bareCost) / (AT_REST_MS / 1000)
  return [
    row({
      what: 'resident memory, 100 idle agents, beside a bare Node with a timer',
      figure: await residentOf(daemon.pid),
      unit: 'MB',
      baseline: await residentOf(bare),
      aim: { atMost: 90 },
    }),
    row({
      what: 'idle processor time a second, 100 agents at the default heartbeat, beside a bare Node with a timer',
      figure: used,
      unit: 'ms',
      baseline: theirs,
      aim: { atMost: 3 },
    }),
    row({
      what: 'processor time from the last work to rest, in which memory is given back',
      figure: cost - after,
      unit: 'ms',
    }),
    row({
      what: `model calls while idle, 100 agents in ${(SETTLED_MS + AT_REST_MS) / 1000} s`,
      figure: server.requests.length - before,
      unit: '',
      aim: { atMost: 0 },
    }),
  ]
}

function asleep(database: string): number {
  const db = new Sqlite(database, { readonly: true })
  const { n } = db.prepare('SELECT count(*) AS n FROM idle_agents').get() as { n: number }
  db.close()
  return n
}

/** Measures ten thousand agents, each due within an hour. */
async function tenThousand(bare: number): Promise<Row> {
  await using dir = await project({ '.svc/config.yaml': 'daemon:\n  heartbeat: 3600\n' })
  const options = { cwd: dir.path, program: await program() }
  {
    await using first = new RunningSvc(['start', '--json'], options)
    await first.waitForOutput(/"event":"ready"/)
    await first.end('SIGTERM')
  }
  populate(join(dir.path, '.svc', 'svc.db'), { agents: 10_000, due: { from: 60_000, over: HOUR_MS } })
  await using daemon = new RunningSvc(['start', '--json'], options)
  await daemon.waitForOutput(/"event":"ready"/)
  await sleep(IDLE_MS)
  return row({
    what: 'resident memory, 10,000 idle agents',
    figure: await residentOf(daemon.pid),
    unit: 'MB',
    baseline: await residentOf(bare),
    aim: { atMost: 250 },
  })
}
