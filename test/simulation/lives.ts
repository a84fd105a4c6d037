import { Kernel, type Opener } from '#kernel'
import { BUILTINS } from '../../builtins/index.ts'
import type { SimulatedRun, SimulationOptions } from '../../builtins/simulation/contract.ts'
import { Ground } from '../../builtins/simulation/ground.ts'
import { NOTHING } from '../../builtins/simulation/rules.ts'
import { watched } from '../../builtins/simulation/simulation.ts'
import { World } from '../../builtins/simulation/world.ts'
import { turn } from '../support/clock.ts'

const opener: Opener = {
  open: ({ also = [], ...options }) => Kernel.open({ builtins: [...BUILTINS, ...also], ...options }),
}
let laid: Promise<Ground> | undefined

/** One world, whose statements may be others than the program's: a broken build. */
export async function live(
  options: Partial<SimulationOptions> & { seed: number },
  rewrite?: (sql: string) => string,
): Promise<SimulatedRun> {
  laid ??= Ground.prepare(opener, turn)
  const parts = { opener, ground: await laid, also: [], belongings: NOTHING, ...(rewrite ? { rewrite } : {}) }
  return watched(new World({ cycles: CYCLES, faults: 'some', ...options }, parts))
}

/** Of each world of these tests, unless told. */
export const CYCLES = 30

/** Why a world failed, with how to have it again; nothing when it did not. */
export function told({ seed, violation }: SimulatedRun, faults = 'some'): string[] {
  if (!violation) return []
  const { invariant, at_s, found } = violation
  return [`svc simulate --seed ${seed} --cycles ${CYCLES} --faults ${faults}: ${invariant} after ${at_s} s: ${found}`]
}
