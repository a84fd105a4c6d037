import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { definePlugin, type Kernel, type PluginHandle, type Tape, TapeToken } from '#kernel'
import { beginRecording, type LiveRecording } from '../../builtins/recordings/recording.ts'
import { RecordingShelf } from '../../builtins/recordings/shelf.ts'
import { Runs } from '../../builtins/runs/contract.ts'
import runs from '../../builtins/runs/index.ts'
import { drive, house, prepare } from './cycles.ts'
import { median } from './measures.ts'
import { type Row, row } from './row.ts'

const AGENTS = 20
const CYCLES = 100
const PAIRS = 16

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
    this.live = (await beginRecording(this.#svc, new RecordingShelf(this.#svc), config, run, () => {}))!
  }
}

/**
 * What recording costs, in processor time a cycle: pieces of the same work with and without it, one after the other, many
 * and short ones, so that what else happens on the machine falls on both. What is recorded is packed and written within them.
 */
export async function recording(): Promise<Row[]> {
  const root = await prepare(AGENTS)
  try {
    const hook = new Switch()
    await using kernel = await house(root, [runs, hook.plugin])
    await hook.begin(kernel)
    const piece = async (isRecorded: boolean): Promise<number> => {
      hook.on = isRecorded
      const before = process.cpuUsage()
      await drive(kernel, CYCLES)
      if (isRecorded) await hook.live.write()
      const { user, system } = process.cpuUsage(before)
      return (user + system) / CYCLES
    }
    const pairs: { on: number; off: number }[] = []
    for (let n = -3; n < PAIRS; n++) {
      const first = await piece(n % 2 === 0)
      const second = await piece(n % 2 !== 0)
      // The first ones warm up.
      if (n >= 0) pairs.push(n % 2 === 0 ? { on: first, off: second } : { on: second, off: first })
    }
    await hook.live.end()
    const ratios = pairs.map(({ on, off }) => on / off).sort((a, b) => a - b)
    const folder = join(root, '.svc', 'recordings')
    const [run] = (await readdir(folder)).filter(name => name.startsWith('run-'))
    const { size } = await stat(join(folder, run!, 'tape.gz'))
    return [
      row({
        what: 'a cycle that is recorded, processor time, beside the same without',
        ...{ figure: median(pairs.map(({ on }) => on)) / 1000, unit: 'ms' },
        baseline: median(pairs.map(({ off }) => off)) / 1000,
        ratio: median(ratios),
        note: `half of the ${PAIRS} pairs from ${percent(ratios[Math.floor(PAIRS / 4)]!)} to ${percent(ratios[Math.floor((PAIRS * 3) / 4)]!)}`,
      }),
      row({ what: 'a recorded cycle on the disk', figure: size / CYCLES / (PAIRS + 3), unit: 'bytes' }),
    ]
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}
