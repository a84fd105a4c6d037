import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { project } from '../../cli/project.ts'
import { RunningSvc } from '../../support/cli.ts'
import { cpuOf, percentile } from '../measures.ts'
import { program } from '../package.ts'
import { type Row, row } from '../row.ts'
import type { StreamRequest } from './asking.ts'

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url))
/** Each stream lasts seventeen seconds, so that two hundred are open at a time while few begin at once. */
const STREAMS = 240
const RATE = 12

/** Measures how long a provider's first token takes through the service, beside a direct request, at 200 streams. */
export async function tokens(): Promise<Row[]> {
  const provider = fork(file('../models/scripted-provider.ts'))
  const asking = fork(file('asking.ts'))
  try {
    const [base] = (await once(provider, 'message')) as [string]
    const env = { OPENAI_BASE_URL: base, OPENAI_API_KEY: 'none', SVC_DEFAULT_MODEL: 'openai:scripted-1' }
    await using dir = await project()
    await using service = new RunningSvc(['serve', '--port', '0', '--json'], {
      cwd: dir.path,
      program: await program(),
      env,
    })
    const [, url] = await service.waitForOutput(/"url":"(http[^"]+)"/)
    const agent_id = await spawnAgent(url!)
    const ours = { url: `${url}/agents/${agent_id}/tasks/stream`, body: { instruction: 'Say something.' } }
    const theirs = {
      url: `${base}/chat/completions`,
      body: { stream: true, messages: [{ role: 'user', content: 'Go' }] },
    }
    await runStreams(asking, { ...ours, streams: 20, rate: RATE })
    const bare = await runStreams(asking, { ...theirs, streams: STREAMS, rate: RATE })
    const before = await cpuOf(service.pid)
    const through = await runStreams(asking, { ...ours, streams: STREAMS, rate: RATE })
    const cost = ((await cpuOf(service.pid)) - before) / STREAMS
    const p99 = percentile(bare, 0.99)
    const unclear =
      p99 > 3 ? `asked directly, the provider’s own token takes up to ${p99.toFixed(0)} ms on this machine` : undefined
    const addedRow = (share: number, atMost: number) =>
      row({
        what: `first token over the provider’s own at 200 streams, on the wall, p${share * 100}`,
        figure: percentile(through, share) - percentile(bare, share),
        unit: 'ms',
        baseline: percentile(bare, share),
        aim: { atMost },
        unclear,
      })
    return [
      addedRow(0.5, 1),
      addedRow(0.99, 5),
      row({ what: 'a streamed run of 20 tokens over HTTP, processor time of the service', figure: cost, unit: 'ms' }),
    ]
  } finally {
    asking.kill()
    provider.kill()
  }
}

async function spawnAgent(url: string): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}/agents`, { method: 'POST', headers, body: JSON.stringify({ preset: 'coder' }) })
  return ((await answer.json()) as { agent_id: string }).agent_id
}

async function runStreams(child: ChildProcess, what: StreamRequest): Promise<number[]> {
  child.send(what)
  const [ages] = (await once(child, 'message')) as [number[]]
  if (ages.length < what.streams) throw new Error(`${what.streams - ages.length} streams of ${what.url} had no token`)
  return ages
}
