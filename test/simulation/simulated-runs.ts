import type { PluginDefinition } from '#kernel'
import type { SimulatedRun, SimulationOptions } from '#lab/simulation/contract'
import { Ground } from '#lab/simulation/ground'
import { NOTHING } from '#lab/simulation/rules'
import { runWatched } from '#lab/simulation/simulation'
import { SimulatedWorld, type SimulationParts } from '#lab/simulation/world'
import type { Opener } from '#lib/opener'
import type { Original } from '#observability/recordings/replay/replay'
import { BUILTINS } from '../../builtins/index.ts'
import { openKernel } from '../../embed/compose.ts'
import { turn } from '../support/clock.ts'
import { SimulationRecordings } from './recordings.ts'

const opener: Opener = {
  open: ({ also = [], ...options }) => openKernel({ builtins: [...BUILTINS, ...also], pluginFiles: 'all', ...options }),
}
let laid: Promise<Ground> | undefined

type Options = Partial<SimulationOptions> & { seed: number }

async function simulationOf(
  options: Options,
  more: Partial<Pick<SimulationParts, 'rewrite' | 'also'>> = {},
): Promise<SimulatedWorld> {
  laid ??= Ground.prepare(opener, turn)
  // What the last world left is only given back between two turns of the event loop.
  await turn()
  const needs = (more.also ?? []).flatMap(plugin => plugin.needs ?? [])
  const parts = { opener, ground: await laid, also: [], belongings: { ...NOTHING, needs }, ...more }
  return new SimulatedWorld({ cycles: CYCLES, faults: 'some', ...options }, parts)
}

/** One world, whose statements may be others than the program's: a broken build. */
export async function live(options: Options, rewrite?: (sql: string) => string): Promise<SimulatedRun> {
  return runWatched(await simulationOf(options, rewrite ? { rewrite } : {}), turn)
}

/** One world with a plugin of its own. */
export async function runWith(plugin: PluginDefinition, options: Options): Promise<SimulatedRun> {
  return runWatched(await simulationOf(options, { also: [plugin] }), turn)
}

/** One world, and the recordings of the daemon's runs in it. */
export async function runRecorded(options: Options): Promise<{ run: SimulatedRun; recordings: Original[] }> {
  const tapes = new SimulationRecordings()
  const world = await simulationOf(options, { also: [tapes.plugin] })
  tapes.follow(world)
  return { run: await runWatched(world, turn), recordings: await tapes.recordings() }
}

/** Of each world of these tests, unless told. */
const CYCLES = 30

/** Why a world failed, with how to have it again; nothing when it did not. */
export function describeFailure({ seed, violation }: SimulatedRun, faults = 'some', cycles = CYCLES): string[] {
  if (!violation) return []
  const { invariant, at_s, found } = violation
  return [`svc simulate --seed ${seed} --cycles ${cycles} --faults ${faults}: ${invariant} after ${at_s} s: ${found}`]
}
