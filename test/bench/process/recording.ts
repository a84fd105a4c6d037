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
/** About a second of work, which is the interval at which the program writes. */
const CYCLES = 400
const ROUNDS = 20
const WARM_UP = 3

/** Maximum uncertainty at which a difference of a twentieth can be judged. */
const UNSURE = 0.02
/** One agent at a time, so that the cost of each cycle can be measured. */
const daemon = { min_rest: 0, max_concurrent_agents: 1 }

const percent = (ratio: number) => `${((ratio - 1) * 100).toFixed(1)} %`

interface CycleCost {
  /** Processor time, in milliseconds. */
  cost: number
  /** Allocated memory in bytes; undefined if memory was collected meanwhile. */
  bytes: number | undefined
}

/**
 * Number of consecutive cycles of a kind that are recorded, or are not. The first is not counted, because it is slow
 * after a rest.
 */
const STRETCH = 6

/** Measures consecutive cycles: of each kind a few are recorded, then as many are not. */
class Pairs {
  /** By kind: the cycles without and those with recording. */
  readonly kinds: [CycleCost[], CycleCost[]][] = [
    [[], []],
    [[], []],
  ]
  readonly #begun = [0, 0]
  #open: { into: CycleCost[]; cost: number; bytes: number } | undefined

  /** Marks the start of a cycle, and the end of the one before. @returns whether it is recorded */
  next(kind: number): boolean {
    this.end()
    const n = this.#begun[kind]!++
    // The order alternates, so that neither is always first.
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

  /** Returns the cost of two cycles, one of each kind, that ran close together: without and with recording. */
  get costs(): { without: number; recorded: number }[] {
    const [one, other] = this.kinds as [[CycleCost[], CycleCost[]], [CycleCost[], CycleCost[]]]
    const count = Math.min(...one.map(each => each.length), ...other.map(each => each.length))
    return Array.from({ length: count }, (_, n) => ({
      without: one[0][n]!.cost + other[0][n]!.cost,
      recorded: one[1][n]!.cost + other[1][n]!.cost,
    }))
  }

  /** Returns how much more memory a recorded cycle allocates, as a share. */
  get more(): number {
    const [without, recorded] = [0, 1].map(which =>
      this.kinds.map(kind => median(kind[which]!.flatMap(({ bytes }) => bytes ?? []))).reduce((a, b) => a + b),
    )
    return recorded! / without! - 1
  }
}

/**
 * Recorder that records some cycles and skips others, so that the same process does the same work with and without it.
 */
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
        isReplaying: false,
        isReplayProject: false,
      } satisfies RecordingBackend)
    },
  })
  #svc!: PluginHandle

  /** @param kindOf returns 0 or 1: whether the cycle chooses a goal or pursues one */
  constructor(kindOf: (right: ExecutionIdentity) => number) {
    this.#kindOf = kindOf
  }

  async begin(kernel: Kernel): Promise<LiveRecording> {
    const run = { run_id: await kernel.use(Runs).begin('daemon'), kind: 'daemon' }
    const config = { enabled: true, max_mb: 64, max_state_mb: 64 }
    // Writes on request only, so that records of one part are not written in another.
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

/** Answers of the model: chooses a goal, takes a note, ends. */
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
      name: 'instant',
      free: true,
      tool_calls: 'native',
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

/** Opens the program with all its modules, as in production, except for the recording. */
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

/** Opens the same with its model behind HTTP, in another process, as in production. */
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
 * Measures the processor time that recording adds to a cycle: of two consecutive cycles one is recorded, so that other
 * load on the machine affects both. Records are packed and written after each second of work, as in a program that does
 * nothing else, and each cycle bears its share of that. Garbage is collected in any cycle: the additional garbage of a
 * recorded one is added, as its share of the time for collection.
 */
export async function recording(): Promise<Row[]> {
  const aim = { of: 'ratio', atMost: 1.05 } as const
  const parity = ({ cycle_num }: ExecutionIdentity) => cycle_num % 2
  // Every second one of these agents begins with a goal.
  const alternate = ({ id, cycle_num }: ExecutionIdentity) => (cycle_num + Number(id.split('-')[1])) % 2
  return [
    ...(await measurePairs('a cycle of the whole program with a model over HTTP, recorded', {
      open: asking,
      kindOf: parity,
      aim,
    })),
    ...(await measurePairs('a cycle of the whole program with a model in the process, recorded', {
      open: hook => whole(hook, 'instant:1'),
      kindOf: parity,
      aim,
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
    /** @returns the cost of writing */
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
        figure: a + added * b,
        unit: 'ms',
        baseline: b,
        ratio: middle! + added,
        ...(aim ? { aim } : {}),
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
