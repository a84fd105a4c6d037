import { defineError } from '#kernel'

/** How much goes wrong on purpose. */
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
  /** SHA-256 of the event log: the same seed gives the same. */
  hash: string
  violation: Violation | null
  /** Simulated seconds. */
  seconds: number
  cycles: number
  model_calls: number
  tool_runs: number
  /** Actions of operators. */
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
  /** Cycles of agents in each run. */
  cycles: number
  faults: FaultLevel
  /** Presets of the project from which agents are made. Default: the simulation's own worker. */
  presets?: readonly string[]
}

/** What a project brings into its simulated runs. */
export interface SimulatedProject {
  /** Profiles by name, as JSON. */
  profiles: Readonly<Record<string, string>>
  /** What is configured for its plugins, as under `plugins.config`. */
  pluginConfig: Readonly<Record<string, unknown>>
  /** Toolkits of its plugins, and the tools in them: these are called as often as all others together. */
  toolkits: readonly string[]
  tools: readonly string[]
  /** Modules of this program that must be there; all of them where it is not known which. */
  needs: readonly string[] | 'everything'
}

export const SimulationStuckError = defineError({
  code: 'simulation_stuck',
  status: 500,
  title: 'Simulation stuck',
  message: (p: { seed: number; what: string; at_s: number }) =>
    `The simulated run of seed ${p.seed} stands still after ${p.at_s} s: ${p.what}. Something waits for what is not simulated.`,
})
