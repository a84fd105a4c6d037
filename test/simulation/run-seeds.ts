import { afterAll, describe, expect, it } from 'vitest'
import type { Original } from '#observability/recordings/replay/replay'
import { simulate } from '../support/simulation/simulation.ts'
import { replayer } from './recordings.ts'
import { describeFailure, runRecorded } from './simulated-runs.ts'

/** So many worlds live beside all tests, a third under each level of faults; others with `npm run simulate`. */
const WORLDS = Number(process.env.SVC_TEST_WORLDS ?? 2_000)
const FIRST = Number(process.env.SVC_TEST_SEED_FROM ?? 1)
/** Short lives, and many: what happens at starts, kills and ends is met more often for it. */
const CYCLES = Number(process.env.SVC_TEST_WORLD_CYCLES ?? 5)
const LEVELS = ['none', 'some', 'many'] as const
/** All that goes wrong on purpose. */
const KINDS = [
  ...['disk', 'disk_full', 'database', 'database_locked', 'killed', 'clock_jumps'],
  ...['model_down', 'model_refuses', 'model_stalls', 'model_breaks_off', 'model_cut_short', 'model_says_garbage'],
  ...['model_says_no_usage', 'model_calls_unknown_tool', 'model_tears_arguments'],
  ...['tool_fails', 'tool_hangs', 'tool_answers_garbage'],
]
/** In fewer, what is rare may not come up. */
const ENOUGH = 300
/** Each so many worlds, what the daemon did in one is recorded, and repeated. */
const TAPED = 8

/** One half of all worlds, so that two cores live through them: those of even seeds, or of odd ones. */
export function everyOther(rest: 0 | 1): void {
  const seeds = Array.from({ length: WORLDS }, (_, n) => FIRST + n).filter(seed => seed % 2 === rest)
  const levelOf = (seed: number) => LEVELS[Math.floor(seed / 2) % LEVELS.length]!
  const isRecorded = (seed: number) => Math.floor(seed / 2) % TAPED === 0
  const met = new Set<string>()
  const replays = { runs: 0, steps: 0, seconds: 0, differ: [] as string[] }
  let stage: ReturnType<typeof replayer> | undefined

  afterAll(async () => (await stage)?.[Symbol.asyncDispose]())

  /** @returns what was broken in it */
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

  describe('whatever happens, what is promised holds', () => {
    for (const faults of LEVELS) {
      const amount = { none: 'nothing', some: 'something', many: 'much' }[faults]
      it(`in worlds where ${amount} fails`, async () => {
        const own = seeds.filter(seed => levelOf(seed) === faults)
        const broken: string[] = []
        const seconds = await costOf(async () => {
          for (const seed of own) broken.push(...(await runSeed(seed)))
        })
        console.log(`${own.length} worlds (${faults}) in ${seconds.toFixed(1)} s of processor time`)
        expect(broken).toEqual([])
      }, 3_600_000)
    }

    it.skipIf(seeds.length < ENOUGH)('and everything that can go wrong has', () => {
      expect([...met].sort()).toEqual([...KINDS].sort())
    })
  })

  it('runs of the daemon in every eighth world, up to their ends or their being killed, replay offline to the same log', () => {
    const { runs, steps, seconds, differ } = replays
    console.log(`${runs} runs, ${steps} answers of models, replayed in ${seconds.toFixed(1)} s of processor time`)
    expect(differ).toEqual([])
    // Some runs are not alone with their database, and are left out.
    if (seeds.length >= ENOUGH) expect(runs).toBeGreaterThanOrEqual(seeds.length / 10)
    expect(steps).toBeGreaterThan(runs)
  })
}

/** Processor time, in seconds. */
async function costOf(work: () => Promise<void>): Promise<number> {
  const began = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(began)
  return (user + system) / 1e6
}
