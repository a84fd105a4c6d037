import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PerformanceObserver } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { getHeapStatistics } from 'node:v8'
import { type ModelEvent, ModelProviders, type ModelRequest } from '#core/models/contract'
import { definePlugin, type Kernel, type PluginHandle } from '#kernel'
import { ActiveRecording, type ExecutionIdentity, type RecordingBackend } from '#lib/recording-context'
import { beginRecording, type LiveRecording } from '#observability/recordings/recording/recording'
import { RecordingFiles } from '#observability/recordings/recording/recording-files'
import { Runs } from '#observability/runs/contract'
import runs from '#observability/runs/index'
import type { Cycle } from '#platform/heartbeat/contract'
import { BUILTINS } from '../../../builtins/index.ts'
import { openKernel } from '../../../embed/compose.ts'
import { strictModel } from '../../support/model/strict-model.ts'
import { drive, openBenchKernel, prepare } from '../agents/cycles.ts'
import { costOf, cpu, median, percentile, sureOf } from '../measures.ts'
import { type Row, row } from '../row.ts'

const AGENTS = 20
/** About a second of work: as often as the program writes. */
const CYCLES = 400
const ROUNDS = 20
const WARM_UP = 3

/** What is surer than this says something about a twentieth. */
const UNSURE = 0.02
/** One at a time, so that each cost can be measured. */
const daemon = { min_rest: 0, max_concurrent_agents: 1 }

const percent = (ratio: number) => `${((ratio - 1) * 100).toFixed(1)} %`

interface CycleCost {
  /** Processor time, in milliseconds. */
  cost: number
  /** Memory asked for; undefined where it was collected meanwhile. */
  bytes: number | undefined
}

/** Number of runs of a kind in a row, recorded or not. The first is not counted, because it is slow after a rest. */
const STRETCH = 6

/** Takes the measure of cycles that come one after the other: of those of a kind a few are recorded, then as many are not. */
class Pairs {
  /** By kind, those without and those with. */
  readonly kinds: [CycleCost[], CycleCost[]][] = [
    [[], []],
    [[], []],
  ]
  readonly #begun = [0, 0]
  #open: { into: CycleCost[]; cost: number; bytes: number } | undefined

  /** A cycle begins, and the one before has ended. @returns whether it is recorded */
  next(kind: number): boolean {
    this.end()
    const n = this.#begun[kind]!++
    // With and without, without and with: neither is always the first.
    const isRecorded = [0, 3].includes(Math.floor(n / STRETCH) % 4)
    const into = this.kinds[kind]![isRecorded ? 1 : 0]
    if (n % STRETCH > 0) this.#open = { into, bytes: getHeapStatistics().used_heap_size, cost: cpu() }
    return isRecorded
  }

  end(): void {
    if (!this.#open) return
    const cost = cpu() - this.#open.cost
    const bytes = getHeapStatistics().used_heap_size - this.#open.bytes
    this.#open.into.push({ cost, bytes: bytes > 0 ? bytes : undefined })
    this.#open = undefined
  }

  /** What two cycles cost, one of each kind, that followed close upon each other: without and with recording. */
  get costs(): { without: number; recorded: number }[] {
    const [one, other] = this.kinds as [[CycleCost[], CycleCost[]], [CycleCost[], CycleCost[]]]
    const count = Math.min(...one.map(each => each.length), ...other.map(each => each.length))
    return Array.from({ length: count }, (_, n) => ({
      without: one[0][n]!.cost + other[0][n]!.cost,
      recorded: one[1][n]!.cost + other[1][n]!.cost,
    }))
  }

  /** How much more memory a recorded cycle asks for, as a share. */
  get more(): number {
    const [without, recorded] = [0, 1].map(which =>
      this.kinds.map(kind => median(kind[which]!.flatMap(({ bytes }) => bytes ?? []))).reduce((a, b) => a + b),
    )
    return recorded! / without! - 1
  }
}

/** A recorder that takes some cycles and leaves others: with and without it the same process does the same work. */
class Switch {
  pairs = new Pairs()
  live: LiveRecording | undefined
  readonly #kindOf: (right: ExecutionIdentity) => number
  readonly plugin = definePlugin({
    name: 'recording-switch',
    needs: ['store', 'runs'],
    setup: svc => {
      this.#svc = svc
      let on = false
      svc.provide(ActiveRecording, {
        begin: (...cycle) => {
          on = this.live !== undefined && this.pairs.next(this.#kindOf(cycle[0]))
          return on ? this.live!.recorder.begin(...cycle) : undefined
        },
        recordWrites: (...transaction) => (on ? this.live!.recorder.recordWrites(...transaction) : undefined),
        pretends: false,
        repeats: false,
      } satisfies RecordingBackend)
    },
  })
  #svc!: PluginHandle

  /** @param kindOf 0 or 1: whether it chooses a goal or pursues one */
  constructor(kindOf: (right: ExecutionIdentity) => number) {
    this.#kindOf = kindOf
  }

  async begin(kernel: Kernel): Promise<LiveRecording> {
    const run = { run_id: await kernel.use(Runs).begin('daemon'), kind: 'daemon' }
    const config = { enabled: true, max_mb: 64, max_state_mb: 64 }
    // It writes on request: what is recorded in one part is not written in another.
    const clock = { ...this.#svc.clock, after: () => () => {} }
    const svc = new Proxy(this.#svc, {
      get(own, name) {
        const value = name === 'clock' ? clock : Reflect.get(own, name, own)
        return typeof value === 'function' ? value.bind(own) : value
      },
    })
    this.live = (await beginRecording(svc, new RecordingFiles(svc), config, run, () => {}, true))!
    return this.live
  }
}

/** Chooses a goal, takes a note, ends. */
function answer({ purpose: { kind, agent_id, cycle_num }, messages }: ModelRequest, id: string): ModelEvent {
  if (kind === 'goal_generation') {
    const goal = `Note ${cycle_num} ${cycle_num * 3} ${cycle_num * 7}: ${agent_id}`
    return { type: 'text', text: JSON.stringify({ goal, reasoning: 'it is due' }) }
  }
  const call = { type: 'tool_call', id } as const
  return messages.at(-1)?.role === 'tool'
    ? { ...call, name: 'finish_goal', arguments: '{"summary":"noted"}' }
    : { ...call, name: 'notepad_write', arguments: '{"text":"a note"}' }
}

/** Agents that are always due. */
const eager = definePlugin({
  name: 'eager',
  setup(svc) {
    svc.tap('cleanup', 'at-once', (cycle: Cycle) => {
      cycle.run_at = svc.clock.ms()
    })
  },
})

/** A model in this process. */
const instant = definePlugin({
  name: 'instant',
  needs: ['models'],
  setup(svc) {
    let calls = 0
    const provider = strictModel({
      ...{ name: 'instant', free: true, tool_calls: 'native' },
      availability: async () => ({ available: true, reason: null }),
      defaultModel: async () => '1',
      async *stream(request): AsyncGenerator<ModelEvent> {
        const said = answer(request, `call-${++calls}`)
        yield said
        yield { type: 'usage', usage: { input_tokens: 100, output_tokens: 10 } }
        yield { type: 'done', finish_reason: said.type === 'text' ? 'stop' : 'tool_calls' }
      },
    })
    svc.add(ModelProviders, provider)
  },
})

interface OpenBench {
  root: string
  kernel: Kernel
  end?(): void
}

/** The program with all its modules, as people run it, but for its recording. */
async function whole(hook: Switch, default_model: string, env: Record<string, string> = {}): Promise<OpenBench> {
  const root = await mkdtemp(join(tmpdir(), 'svc-bench-'))
  await mkdir(join(root, 'profiles'))
  await mkdir(join(root, '.svc'))
  const config = { model: { default_model }, recordings: { enabled: false }, daemon }
  await writeFile(join(root, '.svc', 'config.yaml'), JSON.stringify({ ...config, plugins: { enabled: false } }))
  const worker = { name: 'worker', role: 'takes notes', toolkits: ['notepad', 'file', 'memory'] }
  await writeFile(join(root, 'profiles', 'worker.yaml'), JSON.stringify(worker))
  const builtins = [...BUILTINS, eager, instant, hook.plugin]
  const kernel = await openKernel({ root, roles: ['daemon'], builtins, ports: { env }, log: { level: 'error' } })
  for (let n = 0; n < AGENTS; n++) await kernel.invoke('agents.spawn', { preset: 'worker' })
  return { root, kernel }
}

/** The same with its model behind HTTP, in another process, as everybody has it. */
async function asking(hook: Switch): Promise<OpenBench> {
  const provider = fork(fileURLToPath(new URL('../models/note-provider.ts', import.meta.url)))
  const [url] = (await once(provider, 'message')) as [string]
  const opened = await whole(hook, 'openai:notes', { OPENAI_BASE_URL: url, OPENAI_API_KEY: 'none' })
  return { ...opened, end: () => void provider.kill() }
}

async function openStripped(hook: Switch): Promise<OpenBench> {
  const root = await prepare(AGENTS)
  await writeFile(join(root, '.svc', 'config.yaml'), JSON.stringify({ daemon }))
  return { root, kernel: await openBenchKernel(root, [runs, hook.plugin]) }
}

/**
 * What recording costs, in processor time a cycle: of two that follow each other one is recorded, so that what else happens on
 * the machine falls on both. What is recorded is packed and written after each second of work, as in a program that does
 * nothing else, and each cycle bears its share of that. Garbage is collected in whichever cycle comes then: that a recorded
 * one leaves more of it is added, as its share in what collecting takes.
 */
export async function recording(): Promise<Row[]> {
  const aim = { of: 'ratio', atMost: 1.05 } as const
  const parity = ({ cycle_num }: ExecutionIdentity) => cycle_num % 2
  // Each second one of these begins with a goal.
  const alternate = ({ id, cycle_num }: ExecutionIdentity) => (cycle_num + Number(id.split('-')[1])) % 2
  return [
    ...(await measurePairs('a cycle of the whole program with a model over HTTP, recorded', {
      ...{ open: asking, kindOf: parity, aim },
    })),
    ...(await measurePairs('a cycle of the whole program with a model in the process, recorded', {
      ...{ open: hook => whole(hook, 'instant:1'), kindOf: parity, aim },
    })),
    ...(await measurePairs('a cycle of an empty project, recorded', {
      open: openStripped,
      kindOf: alternate,
    })),
  ]
}

interface PairedTrial {
  open(hook: Switch): Promise<OpenBench>
  kindOf(right: ExecutionIdentity): number
  aim?: { of: 'ratio'; atMost: number }
}

async function measurePairs(what: string, { open, kindOf, aim }: PairedTrial): Promise<Row[]> {
  const hook = new Switch(kindOf)
  const { root, kernel, end } = await open(hook)
  try {
    const live = await hook.begin(kernel)
    /** @returns what it cost to write */
    const round = async () => {
      await drive(kernel, CYCLES)
      hook.pairs.end()
      return costOf(() => live.write())
    }
    for (let n = 0; n < WARM_UP; n++) await round()
    hook.pairs = new Pairs()
    const { bytes: before, cycles: earlier } = { ...live.about }
    let collecting = 0
    const collected = new PerformanceObserver(list => {
      for (const { duration } of list.getEntries()) collecting += duration
    })
    collected.observe({ entryTypes: ['gc'] })
    let writing = 0
    const working = await costOf(async () => {
      for (let n = 0; n < ROUNDS; n++) writing += await round()
    })
    collected.disconnect()
    const { bytes, cycles } = { ...live.about }
    await live.end()
    const { pairs } = hook
    const { costs } = pairs
    const b = median(costs.map(({ without }) => without)) / 2
    const a = median(costs.map(({ recorded }) => recorded)) / 2
    const ratios = costs.map(({ without, recorded }) => recorded / without)
    const share = writing / (cycles - earlier)
    const garbage = (collecting / working) * pairs.more
    const added = share / b + garbage
    const [low, high] = sureOf(ratios)
    const [middle, quarter, threeQuarters] = [0.5, 0.25, 0.75].map(part => percentile(ratios, part))
    const asPercent = (ratio: number) => percent(ratio + added)
    return [
      row({
        what: `${what}, processor time, beside the same without`,
        ...{ figure: a + added * b, unit: 'ms', baseline: b, ratio: middle! + added, ...(aim ? { aim } : {}) },
        unclear:
          (high - low) / 2 > UNSURE ? 'other work on this machine moves it by more than is to be seen' : undefined,
        note: `the middle of ${ratios.length} pairs, surely from ${asPercent(low)} to ${asPercent(high)}; half of them from ${asPercent(quarter!)} to ${asPercent(threeQuarters!)}; ${(100 * (share / b)).toFixed(1)} % of it is for writing it down, ${(100 * garbage).toFixed(1)} % for garbage`,
      }),
      row({ what: `${what}, on the disk`, figure: (bytes - before) / (cycles - earlier), unit: 'bytes' }),
    ]
  } finally {
    await kernel.close()
    end?.()
    await rm(root, { recursive: true, force: true })
  }
}
