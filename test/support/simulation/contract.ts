import { defineError } from '#kernel'

/** Rates of injected faults. */
export const FAULT_LEVELS = ['none', 'some', 'many'] as const
export type FaultLevel = (typeof FAULT_LEVELS)[number]

export interface Violation {
  invariant: string
  promise: string
  found: string
  /** Seconds since the run began. */
  at_s: number
}

/** What happened in one simulated run. */
export interface SimulatedRun {
  seed: number
  /** SHA-256 of the event log, which is the same for the same seed. */
  hash: string
  violation: Violation | null
  /** Simulated time, in seconds. */
  seconds: number
  cycles: number
  model_calls: number
  tool_runs: number
  /** Number of operator actions. */
  acts: number
  kills: number
  /** Injected faults, by kind. */
  faults: Record<string, number>
  /** Number of checks of invariants. */
  checks: number
  /** The event log, line by line. */
  log: readonly string[]
}

export interface SimulationOptions {
  seed: number
  /** Number of agent cycles in each run. */
  cycles: number
  faults: FaultLevel
  /** Presets of the project from which agents are made. Default: the simulation's own worker. */
  presets?: readonly string[]
}

/** What a project brings into its simulated runs. */
export interface SimulatedProject {
  /** Profiles by name, as JSON. */
  profiles: Readonly<Record<string, string>>
  /** Configuration of its plugins, as under `plugins.config`. */
  pluginConfig: Readonly<Record<string, unknown>>
  /** Toolkits of its plugins and the tools in them, which are called as often as all others together. */
  toolkits: readonly string[]
  tools: readonly string[]
  /** Modules of this program that must be present; all of them where that is not known. */
  needs: readonly string[] | 'everything'
}

export const SimulationStuckError = defineError({
  code: 'simulation_stuck',
  status: 500,
  title: 'Simulation stuck',
  message: (p: { seed: number; what: string; at_s: number }) =>
    `The simulated run of seed ${p.seed} stands still after ${p.at_s} s: ${p.what}. Something waits for what is not simulated.`,
})
