import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DaemonStarts } from '../../builtins/daemon/contract.ts'
import recordings from '../../builtins/recordings/index.ts'
import { Runs } from '../../builtins/runs/contract.ts'
import runs from '../../builtins/runs/index.ts'
import { drive, house, prepare } from './cycles.ts'

const AGENTS = 20
const CYCLES = 300
const PAIRS = 12

const median = (values: number[]) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)]!

/** What recording costs, in processor time a cycle: pieces of the same work with and without it, one after the other. */
export async function recording(): Promise<void> {
  const root = await prepare(AGENTS)
  try {
    await using kernel = await house(root, [runs, recordings])
    await kernel.use(Runs).begin('daemon')
    const start = kernel.list(DaemonStarts).find(({ name }) => name === 'recordings')!
    const piece = async (isRecorded: boolean): Promise<number> => {
      const end = isRecorded ? await start.begin() : undefined
      const before = process.cpuUsage()
      await drive(kernel, CYCLES)
      const { user, system } = process.cpuUsage(before)
      // It is written once a second; its beginning and end belong to the daemon's start and stop.
      await end?.()
      return (user + system) / CYCLES
    }
    await piece(true)
    await piece(false)
    const [with_, without]: [number[], number[]] = [[], []]
    for (let n = 0; n < PAIRS; n++) {
      for (const isRecorded of n % 2 ? [true, false] : [false, true]) {
        ;(isRecorded ? with_ : without).push(await piece(isRecorded))
      }
    }
    const ratios = with_.map((each, n) => each / without[n]!)
    const folder = join(root, '.svc', 'recordings')
    const [run] = (await readdir(folder)).filter(name => name.startsWith('run-'))
    const { size } = await stat(join(folder, run!, 'tape.gz'))
    console.log(
      `recording: ${median(with_).toFixed(0)} µs of processor time a cycle with it, ${median(without).toFixed(0)} µs without: ` +
        `${((median(ratios) - 1) * 100).toFixed(1)} % (pairs from ${((Math.min(...ratios) - 1) * 100).toFixed(1)} to ${((Math.max(...ratios) - 1) * 100).toFixed(1)} %), ` +
        `${(size / CYCLES / (PAIRS + 1)).toFixed(0)} bytes a cycle on disk`,
    )
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}
