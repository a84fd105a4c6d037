import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import type { TaskResponse } from '#core/tasks/contract'
import type { Kernel } from '#kernel'
import { BUILTINS } from '../../../builtins/index.ts'
import { tempDir } from '../../support/temp.ts'
import { testHost } from '../../support/test-host.ts'
import { costOf, median, percentile } from '../measures.ts'
import { instantProvider } from '../models/instant-provider.ts'
import { type Row, row } from '../row.ts'

/** Number of warm-up runs: a service that has just started is still compiling during the first hundreds. */
const WARM = 600
const PIECE = 100
const PIECES = 6
const TOGETHER = 16
const THINKS_MS = 200
const TIMES = 12

/** Measures the cost of a durable one-shot run beyond the time of its model. */
export async function tasks(): Promise<Row[]> {
  return [...(await alone()), await together()]
}

async function homeWith(delay_ms: number) {
  const { plugin } = instantProvider(delay_ms)
  const home = await testHost({
    ...{ builtins: [...BUILTINS, plugin], clock: 'system', roles: ['server'] },
    config: { model: { default_model: 'instant:1' } },
  })
  const { agent_id } = (await home.kernel.invoke('agents.spawn', { preset: 'coder' })) as { agent_id: string }
  return Object.assign(home, { agent_id })
}

async function ran(kernel: Kernel, id: string): Promise<void> {
  const { status } = (await kernel.invoke('tasks.run', { id, instruction: 'Say done.' })) as TaskResponse
  if (status !== 'completed') throw new Error(`the task is ${status}`)
}

/** The model answers at once and in this process, so all processor time is the service's. */
async function alone(): Promise<Row[]> {
  await using home = await homeWith(0)
  const runs = async (count: number) => {
    for (let n = 0; n < count; n++) await ran(home.kernel, home.agent_id)
    // Logs and manifests are written in the background, at the latest before runs are listed.
    await home.kernel.invoke('runs.list', { limit: 1 })
  }
  const first = (await costOf(() => runs(PIECE))) / PIECE
  await runs(WARM)
  const costs: number[] = []
  for (let n = 0; n < PIECES; n++) costs.push((await costOf(() => runs(PIECE))) / PIECE)
  const what = 'one-shot durable run, processor time over the model’s own'
  return [
    row({ what, figure: median(costs), unit: 'ms', aim: { atMost: 3 } }),
    row({ what: `the same, the first ${PIECE} after the start`, figure: first, unit: 'ms' }),
  ]
}

/**
 * Measures sixteen runs at a time with a slow model: their additional wall time, beside a timer and two commits each.
 */
async function together(): Promise<Row> {
  await using home = await homeWith(THINKS_MS)
  await using dir = await tempDir()
  const db = new Sqlite(join(dir.path, 'bare.db'))
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE done (n INTEGER)')
  const insert = db.prepare('INSERT INTO done VALUES (1)')
  const bare = async () => {
    insert.run()
    await new Promise(resolve => setTimeout(resolve, THINKS_MS))
    insert.run()
  }
  await over(() => ran(home.kernel, home.agent_id), 2)
  const ours: number[] = []
  const theirs: number[] = []
  for (let round = 0; round < 3; round++) {
    ours.push(...(await over(() => ran(home.kernel, home.agent_id), TIMES)))
    theirs.push(...(await over(bare, TIMES)))
  }
  db.close()
  const [figure, baseline] = [percentile(ours, 0.99), percentile(theirs, 0.99)]
  return row({
    what: `one-shot run over the model’s own ${THINKS_MS} ms on the wall, p99 at ${TOGETHER} at once, beside a timer and two commits`,
    ...{ figure, unit: 'ms', baseline, ratio: figure / baseline, aim: { atMost: 10 } },
    unclear: baseline > 5 ? `the timer itself is ${baseline.toFixed(0)} ms late on this machine` : undefined,
  })
}

/** Returns by how many milliseconds each run was longer than the model's time; the runs begin out of step. */
async function over(work: () => Promise<void>, times: number): Promise<number[]> {
  const all: number[] = []
  const worker = async (n: number) => {
    await new Promise(resolve => setTimeout(resolve, (n * THINKS_MS) / TOGETHER))
    for (let time = 0; time < times; time++) {
      const began = performance.now()
      await work()
      all.push(performance.now() - began - THINKS_MS)
    }
  }
  await Promise.all(Array.from({ length: TOGETHER }, (_, n) => worker(n)))
  return all
}
