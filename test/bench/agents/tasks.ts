import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import Sqlite from 'better-sqlite3'
import OpenAI from 'openai'
import type { TaskResponse } from '#core/tasks/contract'
import type { Kernel } from '#kernel'
import { BUILTINS } from '../../../builtins/index.ts'
import { project } from '../../cli/project.ts'
import { RunningSvc } from '../../support/cli.ts'
import { tempDir } from '../../support/temp.ts'
import { testHost } from '../../support/test-host.ts'
import { costOf, cpuOf, median, percentile } from '../measures.ts'
import { instantProvider } from '../models/instant-provider.ts'
import { program } from '../package.ts'
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
  return [...(await alone()), await together(), await overRest()]
}

async function homeWith(delay_ms: number) {
  const { plugin } = instantProvider(delay_ms)
  const home = await testHost({
    builtins: [...BUILTINS, plugin],
    clock: 'system',
    roles: ['server'],
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
    figure,
    unit: 'ms',
    baseline,
    ratio: figure / baseline,
    aim: { atMost: 10 },
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

/** Measures a one-shot task at a server, beside the same streamed call of the openai SDK. */
async function overRest(): Promise<Row> {
  const provider = fork(fileURLToPath(new URL('../models/note-provider.ts', import.meta.url)), ['words'])
  try {
    const [url] = (await once(provider, 'message')) as [string]
    const [baseline, figure] = [await sdkCall(url), await taskOverRest(url)]
    return row({
      what: 'one-shot task over REST, processor time, beside the same call of the openai SDK',
      figure,
      unit: 'ms',
      baseline,
      ratio: figure / baseline,
      aim: { of: 'ratio', atMost: 2 },
    })
  } finally {
    provider.kill()
  }
}

async function sdkCall(baseURL: string): Promise<number> {
  const client = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 })
  const calls = async (count: number) => {
    for (let n = 0; n < count; n++) {
      const stream = await client.chat.completions.create({
        model: 'notes',
        stream: true,
        stream_options: { include_usage: true },
        messages: [{ role: 'user', content: 'Say done.' }],
      })
      for await (const _ of stream);
    }
  }
  await calls(WARM)
  return (await costOf(() => calls(WARM))) / WARM
}

async function taskOverRest(modelUrl: string): Promise<number> {
  const env = { OPENAI_BASE_URL: modelUrl, OPENAI_API_KEY: 'none', SVC_DEFAULT_MODEL: 'openai:notes' }
  await using dir = await project()
  const words = ['serve', '--port', '0', '--json']
  await using service = new RunningSvc(words, { cwd: dir.path, program: await program(), env })
  const [, url = ''] = await service.waitForOutput(/"url":"(http[^"]+)"/)
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`POST ${path} answered ${answer.status}: ${await answer.text()}`)
    return (await answer.json()) as { agent_id: string }
  }
  const { agent_id } = await post('/agents', { preset: 'writer' })
  const tasks = async (count: number) => {
    for (let n = 0; n < count; n++) await post(`/agents/${agent_id}/tasks`, { instruction: 'Say done.' })
  }
  await tasks(WARM)
  const before = await cpuOf(service.pid)
  await tasks(WARM)
  return ((await cpuOf(service.pid)) - before) / WARM
}
