import type { Opener, PluginDefinition } from '#kernel'
import type { SimulatedRun, SimulationOptions } from '#lab/simulation/contract'
import { Ground } from '#lab/simulation/ground'
import { NOTHING } from '#lab/simulation/rules'
import { watched } from '#lab/simulation/simulation'
import { World, type WorldParts } from '#lab/simulation/world'
import type { Original } from '#observability/recordings/replay'
import { BUILTINS } from '../../builtins/index.ts'
import { openKernel } from '../../embed/compose.ts'
import { turn } from '../support/clock.ts'
import { WorldTapes } from './tapes.ts'

const opener: Opener = {
  open: ({ also = [], ...options }) => openKernel({ builtins: [...BUILTINS, ...also], pluginFiles: 'all', ...options }),
}
let laid: Promise<Ground> | undefined

type Options = Partial<SimulationOptions> & { seed: number }

async function worldOf(options: Options, more: Partial<Pick<WorldParts, 'rewrite' | 'also'>> = {}): Promise<World> {
  laid ??= Ground.prepare(opener, turn)
  // What the last world left is only given back between two turns of the event loop.
  await turn()
  const needs = (more.also ?? []).flatMap(plugin => plugin.needs ?? [])
  const parts = { opener, ground: await laid, also: [], belongings: { ...NOTHING, needs }, ...more }
  return new World({ cycles: CYCLES, faults: 'some', ...options }, parts)
}

/** One world, whose statements may be others than the program's: a broken build. */
export async function live(options: Options, rewrite?: (sql: string) => string): Promise<SimulatedRun> {
  return watched(await worldOf(options, rewrite ? { rewrite } : {}), turn)
}

/** One world with a plugin of its own. */
export async function livedWith(plugin: PluginDefinition, options: Options): Promise<SimulatedRun> {
  return watched(await worldOf(options, { also: [plugin] }), turn)
}

/** One world, and the recordings of the daemon's runs in it. */
export async function taped(options: Options): Promise<{ run: SimulatedRun; recordings: Original[] }> {
  const tapes = new WorldTapes()
  const world = await worldOf(options, { also: [tapes.plugin] })
  tapes.follow(world)
  return { run: await watched(world, turn), recordings: await tapes.recordings() }
}

/** Of each world of these tests, unless told. */
const CYCLES = 30

/** Why a world failed, with how to have it again; nothing when it did not. */
export function told({ seed, violation }: SimulatedRun, faults = 'some', cycles = CYCLES): string[] {
  if (!violation) return []
  const { invariant, at_s, found } = violation
  return [`svc simulate --seed ${seed} --cycles ${cycles} --faults ${faults}: ${invariant} after ${at_s} s: ${found}`]
}
