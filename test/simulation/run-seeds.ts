import { afterAll, describe, expect, it } from 'vitest'
import type { Original } from '#observability/recordings/replay/replay'
import { simulate } from '../support/simulation/simulation.ts'
import { replayer } from './recordings.ts'
import { describeFailure, runRecorded } from './simulated-runs.ts'

/** Cycles of each run. Many short runs include more starts, kills and ends than a few long ones. */
const CYCLES = Number(process.env.SVC_TEST_WORLD_CYCLES ?? 5)
const LEVELS = ['none', 'some', 'many'] as const
/** All kinds of faults that are injected. */
const KINDS = [
  'disk',
  'disk_full',
  'database',
  'database_locked',
  'killed',
  'clock_jumps',
  'model_down',
  'model_refuses',
  'model_stalls',
  'model_breaks_off',
  'model_cut_short',
  'model_says_garbage',
  'model_says_no_usage',
  'model_calls_unknown_tool',
  'model_tears_arguments',
  'tool_fails',
  'tool_hangs',
  'tool_answers_garbage',
]
/** Number of runs from which even rare faults must occur. */
const ENOUGH = 300
/** One run of this number is recorded and replayed. */
const RECORDED = 8

/** Simulates one run per seed, a third of them at each level of faults. */
export function runSeeds(seeds: readonly number[]): void {
  const levelOf = (seed: number) => LEVELS[Math.floor(seed / 2) % LEVELS.length]!
  const isRecorded = (seed: number) => Math.floor(seed / 2) % RECORDED === 0
  const met = new Set<string>()
  const replays = { runs: 0, steps: 0, seconds: 0, differ: [] as string[] }
  let stage: ReturnType<typeof replayer> | undefined

  afterAll(async () => (await stage)?.[Symbol.asyncDispose]())

  /** @returns the violations found in it */
  async function runSeed(seed: number): Promise<string[]> {
    const faults = levelOf(seed)
    const options = { seed, faults, cycles: CYCLES }
    const { run, recordings } = isRecorded(seed)
      ? await runRecorded(options)
      : { run: await simulate(options), recordings: [] }
    for (const [n, recording] of recordings.entries()) {
      await replayRun(`run ${n + 1} of seed ${seed} (${faults})`, recording)
    }
    for (const kind of Object.keys(run.faults)) met.add(faults === 'none' ? `${kind}, where nothing fails` : kind)
    return run.cycles > 0
      ? describeFailure(run, faults, CYCLES)
      : [`the world of seed ${seed} (${faults}) had no cycle`]
  }

  async function replayRun(which: string, recording: Original): Promise<void> {
    stage ??= replayer()
    const again = await stage
    replays.seconds += await costOf(async () => {
      const { same, hash, replayed_hash, steps, divergence } = await again.replay(recording)
      replays.runs++
      replays.steps += steps
      if (!same || hash !== replayed_hash) replays.differ.push(`${which}: ${JSON.stringify(divergence)}`)
    })
  }

  describe('invariants in simulated runs', () => {
    for (const faults of LEVELS) {
      const amount = { none: 'nothing', some: 'something', many: 'much' }[faults]
      it(`hold where ${amount} fails`, async () => {
        const own = seeds.filter(seed => levelOf(seed) === faults)
        const broken: string[] = []
        const seconds = await costOf(async () => {
          for (const seed of own) broken.push(...(await runSeed(seed)))
        })
        console.log(`${own.length} worlds (${faults}) in ${seconds.toFixed(1)} s of processor time`)
        expect(broken).toEqual([])
      }, 3_600_000)
    }

    if (seeds.length >= ENOUGH)
      it('are checked under every kind of fault', () => {
        expect([...met].sort()).toEqual([...KINDS].sort())
      })
  })

  it('daemon runs that are recorded in every eighth simulated run replay offline to the same log', () => {
    const { runs, steps, seconds, differ } = replays
    console.log(`${runs} runs, ${steps} answers of models, replayed in ${seconds.toFixed(1)} s of processor time`)
    expect(differ).toEqual([])
    // Runs that shared their database are left out.
    if (seeds.length >= ENOUGH) expect(runs).toBeGreaterThanOrEqual(seeds.length / 10)
    expect(steps).toBeGreaterThan(runs)
  })
}

/** Returns the processor time of some work, in seconds. */
async function costOf(work: () => Promise<void>): Promise<number> {
  const began = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1e6
}
