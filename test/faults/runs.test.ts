import { appendFile, open, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { describe, expect, it } from 'vitest'
import { Rest } from '#interfaces/rest/contract'
import rest from '#interfaces/rest/index'
import { Runs, type Trace } from '#observability/runs/contract'
import { spawn } from '../spec/core/models/model-host.ts'
import { finish, logFiles, logText, running, spans, trace, write } from '../spec/observability/runs-host.ts'
import { until } from '../support/index.ts'

async function runToGoal(home: Awaited<ReturnType<typeof running>>) {
  const id = await spawn(home)
  home.kernel.heartbeat.start()
  await until(home, 'goal_completed')
  await home.kernel.heartbeat.stop()
  const whole = await trace(home, home.run_id)
  const [file] = (await logFiles(home.root, home.run_id)) as [string]
  return { id, whole, file, text: await readFile(file, 'utf8') }
}

describe('a damaged log', () => {
  it('loses nothing when it is cut at any byte of its last line: the line is written again', async () => {
    await using home = await running([write, finish])
    const { whole, file, text } = await runToGoal(home)
    const last = text.trimEnd().lastIndexOf('\n') + 1
    for (let cut = last; cut < text.length; cut++) {
      await truncate(file, cut)
      expect(await trace(home, home.run_id), `cut at ${cut} of ${text.length}`).toEqual(whole)
      expect(await readFile(file, 'utf8')).toBe(text)
    }
    expect(home.logged('were moved to').length).toBeGreaterThan(0)
  })

  it.each([
    ['a block of zeros', Buffer.alloc(4096)],
    ['half a character', Buffer.from('{"seq":99,"type":"x","data":"\u00e9"}').subarray(0, 29)],
    ['a line of something else', Buffer.from('Segmentation fault\n')],
    ['a line without an end', Buffer.alloc(3 * 1024 * 1024, 'x')],
  ])('with %s at its end has that set aside, and goes on after the last whole line', async (_, garbage) => {
    await using home = await running([write, finish])
    const { whole, file, text } = await runToGoal(home)
    await appendFile(file, garbage)
    await spawn(home)
    const more = await trace(home, home.run_id)
    expect(more.total_spans).toBe(whole.total_spans + 1)
    expect(more.broken_lines).toBe(0)
    expect((await readFile(file, 'utf8')).startsWith(text)).toBe(true)
    expect((await readFile(`${file}.corrupt`)).equals(garbage)).toBe(true)
    expect(home.logged('were moved to')).toHaveLength(1)
  })

  it('with broken lines in its middle is read all the same, and reports their number', async () => {
    await using home = await running([write, finish])
    const { whole, file, text } = await runToGoal(home)
    const lines = text.trimEnd().split('\n')
    const tool = lines.findIndex(line => line.includes('"tool_result"'))
    lines[tool] = `${lines[tool]?.slice(0, -20)}`
    const broken = [...lines.slice(0, 2), '\u0000\u0000', 'x'.repeat(2 * 1024 * 1024), '{"seq":1e9}', ...lines.slice(2)]
    await writeFile(file, `${broken.join('\n')}\n`)
    const found = await trace(home, home.run_id)
    expect(found.broken_lines).toBe(4)
    expect(found.total_spans).toBe(whole.total_spans - 1)
    expect(found.left_out).toBe(1)
  })

  it('with duplicate lines shows each of them once', async () => {
    await using home = await running([write, finish])
    const { whole, file, text } = await runToGoal(home)
    await home.kernel.use(Runs).end(home.run_id, 'stopped')
    await writeFile(file, text + text.slice(text.indexOf('\n') + 1))
    expect((await trace(home, home.run_id)).total_spans).toBe(whole.total_spans)
  })
})

/** Size of the log that is read, in megabytes. */
const MEGABYTES = Number(process.env.SVC_TEST_LOG_MB ?? 60)

describe(`a log of ${MEGABYTES} MB`, () => {
  it('is read without blocking the event loop, and without being loaded into memory', async () => {
    await using home = await running([write, finish], { builtins: [rest], clock: 'system' })
    const { id, text } = await runToGoal(home)
    await home.kernel.use(Runs).end(home.run_id, 'stopped')
    const { url } = await home.kernel.use(Rest).listen({ host: '127.0.0.1', port: 0 })
    const lines = text.trimEnd().split('\n')
    const begun = lines.length
    const total = await grow(join(home.root, 'logs/runs', home.run_id), lines, id)
    expect(total.bytes).toBeGreaterThanOrEqual(MEGABYTES * 1024 * 1024)

    const lag = monitorEventLoopDelay({ resolution: 1 })
    const before = heap()
    let highest = before
    const watching = setInterval(() => {
      highest = Math.max(highest, heap(false))
    }, 20)
    lag.enable()
    const began = performance.now()
    // This agent has no spans: to find that out, the whole log is read.
    const last = await ask<Trace>(`${url}/runs/${home.run_id}/trace?agent_id=other&limit=1000`)
    const took = performance.now() - began
    const first = await ask<Trace>(`${url}/runs/${home.run_id}/trace`)
    const some = await ask<Trace>(`${url}/runs/${home.run_id}/trace?agent_id=${id}&after=${begun}&limit=1000`)
    const whole = await ask<Trace>(`${url}/runs/${home.run_id}/trace?after=${total.lines}`)
    lag.disable()
    clearInterval(watching)

    expect(last.root.children).toEqual([])
    expect(last.next_after).toBeNull()
    expect(spans(first.root).length).toBeGreaterThan(400)
    expect(first.next_after).toBeGreaterThan(400)
    expect(some.root.children).toHaveLength(1)
    expect(whole.root.children).toEqual([])
    const p99 = lag.percentile(99) / 1e6
    const max = lag.max / 1e6
    const grown = (highest - before) / 2 ** 20
    console.log(
      `${MEGABYTES} MB read in ${Math.round(took)} ms; loop held up ${p99.toFixed(1)} ms at p99, ${max.toFixed(1)} ms at most; ` +
        `${grown.toFixed(1)} MiB more memory`,
    )
    // On a busy machine everything takes longer; a read that blocks holds the loop up for nearly all of its time.
    expect(p99).toBeLessThan(Math.max(50, took / 20))
    expect(max).toBeLessThan(Math.max(250, took / 4))
    expect(grown).toBeLessThan(64)
  }, 120_000)
})

/** Writes log files like the existing ones, of a hundred agents, until they are large enough. */
async function grow(folder: string, lines: readonly string[], agent_id: string) {
  const tool = lines.find(line => line.includes('"tool_result"')) as string
  let seq = Number(/\d+/.exec(lines.at(-1) as string)?.[0])
  let bytes = 0
  while (bytes < MEGABYTES * 1024 * 1024) {
    const file = await open(join(folder, `log-${String(seq + 1).padStart(15, '0')}.jsonl`), 'w')
    for (let size = 0; size < 16 * 1024 * 1024; ) {
      const part: string[] = []
      for (let n = 0; n < 2000; n++) {
        seq++
        const own = tool.replaceAll(agent_id, n % 100 === 0 ? agent_id : `agent-${n % 100}`)
        part.push(own.replace(/"seq":\d+/, `"seq":${seq}`).replace(/"call_id":"/, `"call_id":"${seq}-`))
      }
      const { bytesWritten } = await file.write(`${part.join('\n')}\n`)
      size += bytesWritten
    }
    await file.close()
    bytes += (
      await stat(join(folder, `log-${String(seq).padStart(15, '0')}.jsonl`)).catch(() => ({ size: 16 * 1024 * 1024 }))
    ).size
  }
  return { bytes, lines: seq }
}

/** Returns the memory in use, in bytes; after a garbage collection where the process allows one. */
function heap(collect = true): number {
  if (collect) (globalThis as { gc?: () => void }).gc?.()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

function ask<T>(url: string): Promise<T> {
  return new Promise((resolve, reject) => {
    request(url, received => {
      const parts: Buffer[] = []
      received.on('data', part => parts.push(part))
      received.on('end', () => resolve(JSON.parse(Buffer.concat(parts).toString()) as T))
    })
      .on('error', reject)
      .end()
  })
}

it('a run whose log is still being written is read up to the last whole line', async () => {
  await using home = await running([write, finish])
  const { whole, file, text } = await runToGoal(home)
  await home.kernel.use(Runs).end(home.run_id, 'stopped')
  await writeFile(file, `${text}{"seq":999,"type":"tool_result","v":1,"at":"2026`)
  const { total_spans, broken_lines } = await trace(home, home.run_id)
  expect({ total_spans, broken_lines }).toEqual({ total_spans: whole.total_spans, broken_lines: 0 })
  expect(await logText(home.root, home.run_id)).toContain(text)
})
