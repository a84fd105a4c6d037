import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Cycle, definePlugin, Kernel, type PluginHandle, type Tape, TapeToken } from '#kernel'
import { BUILTINS } from '../../builtins/index.ts'
import { type ModelEvent, ModelProviders, type ModelRequest } from '../../builtins/models/contract.ts'
import { beginRecording, type LiveRecording } from '../../builtins/recordings/recording.ts'
import { RecordingShelf } from '../../builtins/recordings/shelf.ts'
import { Runs } from '../../builtins/runs/contract.ts'
import runs from '../../builtins/runs/index.ts'
import { costOfCycle, house, prepare } from './cycles.ts'
import { costOf, inTurn, percentile, sureOf } from './measures.ts'
import { type Row, row } from './row.ts'

const AGENTS = 20
const PAIRS = 80
const WARM_UP = 6
/** As often as the program writes, in milliseconds of work. */
const WRITE_MS = 1_000

/** What is surer than this says something about a twentieth. */
const UNSURE = 0.02

const percent = (ratio: number) => `${((ratio - 1) * 100).toFixed(1)} %`

/** A recorder that can be taken off its hook between two cycles: with and without it the same process does the same work. */
class Switch {
  on = false
  live!: LiveRecording
  readonly plugin = definePlugin({
    name: 'recording-switch',
    needs: ['store', 'runs'],
    setup: svc => {
      this.#svc = svc
      const tape = () => (this.on ? this.live.tape : undefined)
      svc.provide(TapeToken, {
        begin: (...cycle) => tape()?.begin(...cycle),
        wrote: (...transaction) => tape()?.wrote(...transaction),
        pretends: false,
      } satisfies Tape)
    },
  })
  #svc!: PluginHandle

  async begin(kernel: Kernel): Promise<void> {
    const run = { run_id: await kernel.use(Runs).begin('daemon'), kind: 'daemon' }
    const config = { enabled: true, max_mb: 64, max_state_mb: 64 }
    // It writes when it is told to: what is recorded in one piece is not written in another.
    const clock = { ...this.#svc.clock, after: () => () => {} }
    const svc = new Proxy(this.#svc, {
      get(own, name) {
        const value = name === 'clock' ? clock : Reflect.get(own, name, own)
        return typeof value === 'function' ? value.bind(own) : value
      },
    })
    this.live = (await beginRecording(svc, new RecordingShelf(svc), config, run, () => {}))!
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

/** A model in this process, and agents that are always due. */
const company = definePlugin({
  name: 'company',
  needs: ['models'],
  setup(svc) {
    svc.tap('cleanup', 'at-once', (cycle: Cycle) => {
      cycle.run_at = svc.clock.ms()
    })
    let calls = 0
    svc.add(ModelProviders, {
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
  },
})

/** The program with all its rooms, as people run it, but for its recording. */
async function whole(hook: Switch): Promise<{ root: string; kernel: Kernel }> {
  const root = await mkdtemp(join(tmpdir(), 'svc-bench-'))
  await mkdir(join(root, 'profiles'))
  await mkdir(join(root, '.svc'))
  const config = { model: { default_model: 'instant:1' }, recordings: { enabled: false }, daemon: { min_rest: 0 } }
  await writeFile(join(root, '.svc', 'config.yaml'), JSON.stringify({ ...config, plugins: { enabled: false } }))
  const worker = { name: 'worker', role: 'takes notes', toolkits: ['notepad', 'file', 'memory'] }
  await writeFile(join(root, 'profiles', 'worker.yaml'), JSON.stringify(worker))
  const builtins = [...BUILTINS, company, hook.plugin]
  const kernel = await Kernel.open({ root, roles: ['daemon'], builtins, ports: { env: {} }, log: { level: 'error' } })
  for (let n = 0; n < AGENTS; n++) await kernel.invoke('agents.spawn', { preset: 'worker' })
  return { root, kernel }
}

async function stripped(hook: Switch): Promise<{ root: string; kernel: Kernel }> {
  const root = await prepare(AGENTS)
  return { root, kernel: await house(root, [runs, hook.plugin]) }
}

/**
 * What recording costs, in processor time a cycle: pieces of the same work with and without it, one after the other, many
 * and short ones, so that what else happens on the machine falls on both. What is recorded is packed and written after each
 * second of work, as in a program that does nothing else, and each cycle bears its share of that.
 */
export async function recording(): Promise<Row[]> {
  const aim = { of: 'ratio', atMost: 1.05 } as const
  return [
    ...(await paired('a cycle of the whole program that is recorded', { open: whole, cycles: 2 * AGENTS, aim })),
    ...(await paired('a cycle of a house with nothing in it, recorded', { open: stripped, cycles: 2 * AGENTS })),
  ]
}

interface Paired {
  open(hook: Switch): Promise<{ root: string; kernel: Kernel }>
  /** Of one piece: as many that choose a goal as pursue one. */
  cycles: number
  aim?: { of: 'ratio'; atMost: number }
}

async function paired(what: string, { open, cycles, aim }: Paired): Promise<Row[]> {
  const hook = new Switch()
  const { root, kernel } = await open(hook)
  try {
    await hook.begin(kernel)
    const writing = { cost: 0, since: 0 }
    const write = async () => {
      writing.cost += await costOf(() => hook.live.write())
      writing.since = 0
    }
    const piece = async (isRecorded: boolean): Promise<number> => {
      hook.on = isRecorded
      const cost = await costOfCycle(kernel, cycles)
      if (isRecorded) writing.since += cost * cycles
      if (writing.since > WRITE_MS) await write()
      return cost
    }
    const pairs = (count: number) =>
      inTurn(
        count,
        () => piece(true),
        () => piece(false),
      )
    await pairs(WARM_UP)
    await write()
    const before = hook.live.about.bytes
    writing.cost = 0
    const { a, b, ratios } = await pairs(PAIRS)
    await write()
    const share = writing.cost / (PAIRS * cycles)
    const bytes = hook.live.about.bytes - before
    await hook.live.end()
    const [low, high] = sureOf(ratios)
    const told = (ratio: number) => percent(ratio + share / b)
    const [middle, quarter, threeQuarters] = [0.5, 0.25, 0.75].map(part => percentile(ratios, part))
    return [
      row({
        what: `${what}, processor time, beside the same without`,
        ...{ figure: a + share, unit: 'ms', baseline: b, ratio: middle! + share / b, ...(aim ? { aim } : {}) },
        unclear:
          (high - low) / 2 > UNSURE ? 'other work on this machine moves it by more than is to be seen' : undefined,
        note: `the middle of ${PAIRS} pairs, surely from ${told(low)} to ${told(high)}; half of them from ${told(quarter!)} to ${told(threeQuarters!)}; ${(100 * (share / b)).toFixed(1)} % of it is for writing it down`,
      }),
      row({ what: `${what}, on the disk`, figure: bytes / cycles / PAIRS, unit: 'bytes' }),
    ]
  } finally {
    await kernel.close()
    await rm(root, { recursive: true, force: true })
  }
}
