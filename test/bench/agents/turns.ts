import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import Sqlite from 'better-sqlite3'
import OpenAI from 'openai'
import type { ChatCompletionMessageParam, ChatCompletionTool } from 'openai/resources/chat/completions'
import { project } from '../../cli/project.ts'
import { RunningSvc } from '../../support/cli.ts'
import { sendJson } from '../../support/model/http.ts'
import { tempDir } from '../../support/temp.ts'
import { until } from '../../support/until.ts'
import { costOf, cpuOf, median, residentOf } from '../measures.ts'
import { program } from '../package.ts'
import { type Row, row } from '../row.ts'

/**
 * Length of a window in which the running service is measured, in milliseconds. In the warm-up before the first, V8
 * compiles what runs often; a service that runs for weeks is measured, not its first minute.
 */
const WINDOW_MS = 3_000
const WINDOWS = 5
const WARM_UP_MS = 40_000
/** Number of goals in one part of the bare loop; the first part warms up. */
const PIECE = 100
const PIECES = 4
const TURNS_OF_GOAL = 3
const SPAWNS = 500
const WARM_UP_SPAWNS = 2_000

const PROFILE = 'name: worker\nrole: takes notes\ntoolkits: [file]\n'
const CONFIG = 'daemon:\n  heartbeat: 0.05\n  min_rest: 0\n'

/**
 * Measures the cost of a model turn in the whole program: `svc serve --with-daemon`, with a scripted model in another
 * process. A goal is found, a file is written, the goal is finished; a bare loop of the openai SDK makes the same
 * calls, writes the same file and commits the same messages, one transaction per turn.
 */
export async function turns(): Promise<Row[]> {
  const provider = fork(fileURLToPath(new URL('../models/note-provider.ts', import.meta.url)), ['files'])
  try {
    const [url] = (await once(provider, 'message')) as [string]
    const bare = await bareTurn(url)
    const rows = [...(await busy(100, 30, provider, url, bare)), ...(await busy(1, 60, provider, url, bare))]
    return [...rows, await spawnCost()]
  } finally {
    provider.kill()
  }
}

async function busy(
  agents: number,
  kilobytes: number,
  provider: ChildProcess,
  url: string,
  bare: number,
): Promise<Row[]> {
  await using dir = await project({ '.svc/config.yaml': CONFIG, 'profiles/worker.yaml': PROFILE })
  const env = { OPENAI_BASE_URL: url, OPENAI_API_KEY: 'none', SVC_DEFAULT_MODEL: 'openai:notes' }
  const words = ['serve', '--with-daemon', '--port', '0', '--json']
  await using service = new RunningSvc(words, { cwd: dir.path, program: await program(), env })
  const [, address = ''] = await service.waitForOutput(/"url":"(http[^"]+)"/)
  const idle = await residentOf(service.pid)
  await spawn(address, agents)
  const before = await requestsOf(provider)
  await until(async () => (await requestsOf(provider)) > before + agents)
  await sleep(WARM_UP_MS)
  const windows: Used[] = []
  for (let n = 0; n < WINDOWS; n++) windows.push(await usedIn(service.pid, provider))
  const of = (key: keyof Used) => median(windows.map(window => window[key]))
  const resident = await residentOf(service.pid)
  await service.end('SIGTERM')
  const named = `${agents} ${agents === 1 ? 'agent' : 'agents'}`
  const cost = of('cpu')
  return [
    row({
      what: `processor time of a model turn, ${named}, beside a bare loop of the openai SDK`,
      figure: cost,
      unit: 'ms',
      baseline: bare,
      ratio: cost / bare,
      ...(agents > 1 ? { aim: { of: 'ratio', atMost: 2 } } : {}),
    }),
    row({
      what: `bytes written to disk in a model turn, ${named}`,
      figure: of('bytes') / 1024,
      unit: 'KB',
      aim: { atMost: kilobytes },
    }),
    row({ what: `system calls that write in a model turn, ${named}`, figure: of('writes'), unit: '' }),
    ...(agents > 1
      ? [
          row({
            what: `model turns a second of processor time, ${named}`,
            figure: 1000 / cost,
            unit: '/s',
            aim: { atLeast: 450 },
          }),
          row({
            what: `resident memory of the service, ${named} at work, beside none`,
            figure: resident,
            unit: 'MB',
            baseline: idle,
            aim: { atMost: 140 },
          }),
        ]
      : []),
  ]
}

/** Resources that the service used for each model turn. */
interface Used {
  /** Milliseconds. */
  cpu: number
  bytes: number
  writes: number
}

async function usedIn(pid: number, provider: ChildProcess): Promise<Used> {
  const look = async () => ({ cpu: await cpuOf(pid), ...(await writtenBy(pid)), turns: await requestsOf(provider) })
  const before = await look()
  await sleep(WINDOW_MS)
  const after = await look()
  const turns = after.turns - before.turns
  return {
    cpu: (after.cpu - before.cpu) / turns,
    bytes: (after.bytes - before.bytes) / turns,
    writes: (after.writes - before.writes) / turns,
  }
}

async function writtenBy(pid: number): Promise<{ bytes: number; writes: number }> {
  const text = await readFile(`/proc/${pid}/io`, 'latin1')
  const of = (name: string) => Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(text)?.[1])
  return { bytes: of('write_bytes'), writes: of('syscw') }
}

async function requestsOf(provider: ChildProcess): Promise<number> {
  provider.send('count')
  const [count] = (await once(provider, 'message')) as [number]
  return count
}

/** Measures a spawn at a server without a daemon, which would begin a cycle of each agent at once. */
async function spawnCost(): Promise<Row> {
  await using dir = await project({ 'profiles/worker.yaml': PROFILE })
  await using service = new RunningSvc(['serve', '--port', '0', '--json'], { cwd: dir.path, program: await program() })
  const [, url = ''] = await service.waitForOutput(/"url":"(http[^"]+)"/)
  await spawn(url, WARM_UP_SPAWNS)
  const before = await cpuOf(service.pid)
  await spawn(url, SPAWNS)
  const figure = ((await cpuOf(service.pid)) - before) / SPAWNS
  return row({ what: 'processor time of a spawn over REST', figure, unit: 'ms', aim: { atMost: 0.7 } })
}

/** Spawns agents, one after the other. */
async function spawn(url: string, count: number): Promise<void> {
  for (let n = 0; n < count; n++) {
    const answer = await fetch(`${url}/agents`, sendJson({ preset: 'worker' }))
    const said = await answer.text()
    if (answer.status !== 201) throw new Error(`POST /agents answered ${answer.status}: ${said}`)
  }
}

const FILE_WRITE: ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'file_write',
    description: 'Writes a file.',
    parameters: { type: 'object', properties: { path: { type: 'string' }, content: { type: 'string' } } },
  },
}

/** @returns processor time of one turn of the bare loop in milliseconds */
async function bareTurn(baseURL: string): Promise<number> {
  await using dir = await tempDir()
  const client = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 })
  const db = new Sqlite(join(dir.path, 'bare.db'))
  db.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; CREATE TABLE said (messages TEXT)')
  const insert = db.prepare('INSERT INTO said VALUES (?)')
  const system = 'You are worker. You take notes. '.repeat(40)
  const ask = async (messages: ChatCompletionMessageParam[], tools?: ChatCompletionTool[]) => {
    const asked = { model: 'notes', messages, temperature: 0, max_tokens: 4096, ...(tools ? { tools } : {}) }
    const stream = await client.chat.completions.create({
      ...asked,
      stream: true,
      stream_options: { include_usage: true },
    })
    let content = ''
    const call = { id: '', name: '', arguments: '' }
    for await (const { choices } of stream) {
      const delta = choices[0]?.delta
      content += delta?.content ?? ''
      for (const { id, function: fn } of delta?.tool_calls ?? []) {
        call.id ||= id ?? ''
        call.name ||= fn?.name ?? ''
        call.arguments += fn?.arguments ?? ''
      }
    }
    return { content, call }
  }
  const goal = async () => {
    const found = await ask([
      { role: 'system', content: system },
      { role: 'user', content: 'What is worth doing?' },
    ])
    insert.run(found.content)
    const messages: ChatCompletionMessageParam[] = [
      { role: 'system', content: system },
      { role: 'user', content: `Goal: ${found.content}` },
    ]
    for (let step = 0; step < 2; step++) {
      const { content, call } = await ask(messages, [FILE_WRITE])
      const { id, name, arguments: args } = call
      const asked = { id, type: 'function' as const, function: { name, arguments: args } }
      messages.push({ role: 'assistant', content, tool_calls: [asked] })
      if (name === 'file_write') {
        const { path, content: text } = JSON.parse(args) as { path: string; content: string }
        await writeFile(join(dir.path, path), text)
        messages.push({ role: 'tool', tool_call_id: id, content: `Wrote ${path}.` })
      }
      insert.run(JSON.stringify(messages.slice(-2)))
    }
  }
  const costs: number[] = []
  for (let piece = 0; piece <= PIECES; piece++) {
    const cost = await costOf(async () => {
      for (let n = 0; n < PIECE; n++) await goal()
    })
    if (piece > 0) costs.push(cost / (PIECE * TURNS_OF_GOAL))
  }
  db.close()
  return median(costs)
}
