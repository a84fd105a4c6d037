import type { Original } from '#observability/recordings/replay/replay'
import type { SimulatedRun } from '../support/simulation/contract.ts'
import { runWatched, type SimulateOptions, simulatedService } from '../support/simulation/simulation.ts'
import { SimulationRecordings } from './recordings.ts'

/** Simulates a run and returns the recordings of the daemon's runs in it. */
export async function runRecorded(options: SimulateOptions): Promise<{ run: SimulatedRun; recordings: Original[] }> {
  const recordings = new SimulationRecordings()
  const world = await simulatedService({ ...options, plugins: [recordings.plugin] })
  recordings.follow(world)
  return { run: await runWatched(world), recordings: await recordings.recordings() }
}

/** Returns why a run failed, with the command that repeats it; an empty array if it did not. */
export function describeFailure({ seed, violation }: SimulatedRun, faults = 'some', cycles = 30): string[] {
  if (!violation) return []
  const { invariant, at_s, found } = violation
  return [`svc simulate --seed ${seed} --cycles ${cycles} --faults ${faults}: ${invariant} after ${at_s} s: ${found}`]
}
