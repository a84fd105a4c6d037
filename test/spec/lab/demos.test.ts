import { mkdtemp, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BUILT_IN } from '#lab/demos/cases/index'
import {
  type DemoOptions,
  type DemoReport,
  Demos,
  DemoTheatre,
  DetectiveCase,
  DetectiveCases,
} from '#lab/demos/contract'
import { scoreOf } from '#lab/demos/detective-report'
import { html } from '#lab/demos/html'
import { markdown } from '#lab/demos/markdown'
import { turningPoints } from '#lab/demos/survival-report'
import type { BudgetStatus } from '#safety/budget/contract'
import { BUILTINS } from '../../../builtins/index.ts'
import { type ModelServer, modelServer, type TestHost, testHost, text } from '../../support/index.ts'
import { ownTemporary } from '../temporary.ts'

/** Answer of a scripted detective, whatever the question. */
const THEORY = { suspect: 'Edda Winter', motive: 'money', confidence: 0.9, reasoning: 'The <b>keys</b> were hers.' }

let home: TestHost
let server: ModelServer
let temporary: Awaited<ReturnType<typeof ownTemporary>>
beforeAll(async () => {
  temporary = await ownTemporary()
  server = await modelServer({ script: () => text(JSON.stringify(THEORY)) })
  home = await testHost({
    builtins: BUILTINS,
    roles: ['cli'],
    clock: 'system',
    config: { daemon: { budget_usd: 5 } },
    env: { OPENAI_BASE_URL: server.url, OPENAI_API_KEY: 'test-key', OPENAI_MODEL: 'scripted' },
  })
})
afterAll(async () => {
  await home.close()
  await server.close()
  await temporary.end()
})

const signal = () => new AbortController().signal
const runner = () => home.kernel.use(DemoTheatre)
const play = (options: Partial<DemoOptions> & { name: string }): Promise<DemoReport> =>
  runner().play({ seed: 7, signal: signal(), say() {}, show() {}, ...options })
const rowOf = ({ blocks }: DemoReport, name: string) =>
  blocks.flatMap(block => (block.kind === 'table' ? block.rows : [])).find(([who]) => who === name)!
const trials = async () => (await readdir(temporary.path)).filter(name => name.startsWith('svc-trial-'))

describe('the survival demo', () => {
  it('gives the same report for the same seed, byte for byte, and another for another seed', async () => {
    const reports = []
    for (const seed of [3, 3, 4]) reports.push(runner().markdown(await play({ name: 'survival', cycles: 4, seed })))
    expect(reports[1]).toBe(reports[0])
    expect(reports[2]).not.toBe(reports[0])
    expect(reports[0]).toContain('Model: sim/rules-1 (simulated, not an AI model). Seed 3.')
  })

  it('reports three agents with two values per day each, and shows its progress by day', async () => {
    const said: string[] = []
    const shown: (readonly string[])[] = []
    const report = await play({
      name: 'survival',
      cycles: 4,
      say: line => said.push(line),
      show: lines => shown.push(lines),
    })
    const series = report.blocks.flatMap(block => (block.kind === 'series' ? [block] : []))
    expect(series.map(({ lines }) => lines.map(({ values }) => values.length))).toEqual([
      [4, 4, 4],
      [4, 4, 4],
    ])
    for (const name of ['coder', 'gambler', 'philosopher']) expect(rowOf(report, name)).toHaveLength(8)
    expect(shown).toHaveLength(4)
    expect(shown.at(-1)![0]).toBe('Day 4 of 4')
    expect(said.every(line => /^Day [1-4] {2}(coder|gambler|philosopher): /.test(line))).toBe(true)
  })

  it('lists the most important moments as turning points, ordered by day', () => {
    const moments = [9, 1, 8, 2, 7, 3, 6].map((weight, n) => ({ day: 20 - n, what: `${weight}`, weight }))
    expect(turningPoints(moments).map(({ what }) => what)).toEqual(['6', '3', '7', '8', '9'])
  })
})

describe('the detective demo', () => {
  it('scores theories against the solution', () => {
    const solution = { suspect: 'A', motive: 'envy', explanation: '-' }
    const theory = (suspect: string, confidence: number, motive = 'envy') => {
      return { theory: { suspect, motive, confidence, reasoning: '' } }
    }
    const sure = scoreOf({ theories: [theory('B', 0), theory('A', 1), theory('A', 1), theory('A', 1)] }, { solution })
    expect(sure).toEqual({ points: 100, solved: true, motive: true, brier: 0, since: 2 })
    const wrong = scoreOf({ theories: [theory('B', 1, 'money'), theory('B', 1, 'money')] }, { solution })
    expect(wrong).toEqual({ points: 0, solved: false, motive: false, brier: 1, since: null })
    const silent = scoreOf({ theories: [{ theory: null, why: '-' }, theory('A', 0.5)] }, { solution })
    expect(silent).toEqual({ points: 81, solved: true, motive: true, brier: 0.625, since: 2 })
  })

  it('plays each case to its end with the embedded model, with the same result for the same seed', async () => {
    const reports: DemoReport[] = []
    for (const { name, solution } of BUILT_IN) {
      const report = await play({ name: 'detective', part: name })
      expect(runner().markdown(report)).toContain(solution.explanation.slice(0, 40))
      expect(rowOf(report, 'Vera')[2]).toMatch(/^[✓✗] /)
      reports.push(report)
    }
    expect(await play({ name: 'detective' })).toEqual(reports[0])
  })

  it('reports the theories of a real model, and leaves nothing but their cost in the project', async () => {
    const before = (await home.kernel.invoke('budget.status', {})) as BudgetStatus
    const report = await play({ name: 'detective', model: 'openai:scripted' })
    expect(report.lead).toContain('Model: openai:scripted.')
    expect(rowOf(report, 'Vera')).toEqual(['Vera', '6', '✗ Edda Winter', '✗ money', '0.810', 'never'])
    expect(server.requests.length).toBe(12)
    const after = (await home.kernel.invoke('budget.status', {})) as BudgetStatus
    // Models on a loopback address cost nothing, but their tokens count.
    expect(after.spent.tokens).toBeGreaterThan(before.spent.tokens + 1_000)
    expect(after.reserved.tokens).toBe(0)
    expect(await home.kernel.invoke('agents.list', {})).toEqual([])
  })

  it("plays a plugin's case; a case whose culprit is not among its suspects is invalid", async () => {
    const [known] = BUILT_IN
    const undo = home.kernel.points.add(DetectiveCases, { ...known!, name: 'my-own', title: 'Mine' }, 'a test')
    expect((await play({ name: 'detective', part: 'my-own' })).title).toBe('Mine')
    await undo()
    const bad = DetectiveCase.safeParse({ ...known!, solution: { ...known!.solution, suspect: 'The butler' } })
    expect(bad.error!.issues[0]!.message).toBe('must be one of the suspects')
    for (const each of BUILT_IN) expect(DetectiveCase.safeParse(each).success).toBe(true)
  })
})

describe('the demo runner', () => {
  it('leaves no temporary project behind when it is stopped in the middle', async () => {
    const stop = new AbortController()
    const stopped = play({ name: 'survival', signal: stop.signal, show: () => stop.abort() })
    await expect(stopped).rejects.toThrow(/abort/)
    expect(await trials()).toEqual([])
  })

  it('keeps its project in a named folder for inspection, but never in a folder that is not empty', async () => {
    const folder = await mkdtemp(join(temporary.path, 'kept-'))
    await play({ name: 'survival', cycles: 1, keep: join(folder, 'here') })
    const config = await readFile(join(folder, 'here', '.svc', 'config.yaml'), 'utf8')
    expect(config).toContain('"economy"')
    expect(await readdir(join(folder, 'here', '.svc', 'journals'))).not.toEqual([])
    await expect(play({ name: 'survival', keep: folder })).rejects.toThrow(/is not empty/)
  })

  it('names the valid choices for an unknown demo, case or model and for a bad number of cycles', async () => {
    await expect(play({ name: 'surival' })).rejects.toThrow(/survival, detective/)
    await expect(play({ name: 'detective', part: 'butler' })).rejects.toThrow(
      /case: must be one of manuscript, lighthouse, orchids/,
    )
    for (const cycles of [0, -5, 1.5, 366])
      await expect(play({ name: 'survival', cycles })).rejects.toThrow('cycles: must be a whole number from 1 to 365')
    await expect(play({ name: 'survival', part: 'x' })).rejects.toThrow(
      'case: must be omitted, because the demo survival has no cases',
    )
    await expect(play({ name: 'survival', model: 'nowhere:lite' })).rejects.toThrow(/is not a model name/)
  })

  it("plays a plugin's demo like the others", async () => {
    const undo = home.kernel.points.add(
      Demos,
      {
        name: 'tiny',
        summary: 'One agent, one day',
        async play(stage) {
          const trial = await stage.open({ config: { model: { sim_delay: 0 } } })
          await trial.kernel.invoke('agents.spawn', { preset: 'coder' })
          const day = await trial.day()
          const [agent] = (await trial.kernel.invoke('agents.list', {})) as { name: string }[]
          return { title: 'Tiny', lead: `${agent!.name} after day ${day}`, blocks: [] }
        },
      },
      'a test',
    )
    expect((await play({ name: 'tiny' })).lead).toBe('coder after day 1')
    await undo()
  })

  it('renders text of agents as inert in both report formats', () => {
    const evil = '</code>```<script>alert(1)</script> ![x](http://evil) | a\u202e\n# not a heading'
    const report: DemoReport = {
      title: evil,
      lead: evil,
      blocks: [
        { kind: 'quote', text: evil, by: evil },
        { kind: 'table', head: [evil], rows: [[evil]] },
        { kind: 'list', items: [evil] },
        { kind: 'series', title: evil, unit: evil, lines: [{ name: evil, values: [1, 2] }] },
      ],
    }
    const page = html(report)
    expect(page).not.toMatch(/<script|<img|\u202e|http-equiv="refresh"/i)
    expect(page).toContain("default-src 'none'")
    const text = markdown(report).replace(/^```\n[\s\S]*?\n```$/gm, '')
    expect(text).not.toMatch(/(?<!\\)!\[|(?<!\\)<script|\u202e/)
    expect(text.match(/^#+ /gm)).toEqual(['# '])
  })
})
