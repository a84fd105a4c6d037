import { defineError, point, token, z } from '#kernel'

/** How much goes wrong on purpose. */
export const FaultLevel = z.enum(['none', 'some', 'many'])
export type FaultLevel = z.infer<typeof FaultLevel>

/** The simulation, as an invariant sees it. Reads through it meet no faults. */
export interface Look {
  all<R>(sql: string, params?: readonly unknown[]): R[]
  get<R>(sql: string, params?: readonly unknown[]): R | undefined
  /** Milliseconds since 1970, on the world's wall. */
  readonly now: number
}

/** What must hold in a simulated world after each transaction. */
export interface Invariant {
  name: string
  /** In a sentence, as people are promised it. */
  promise: string
  /** Looked at after each transaction that wrote to one of these tables. */
  tables: readonly string[]
  /** Rows that must not be there, or a sentence; undefined when all is well. */
  broken(look: Look): string | undefined
}
/** Plugins add what must hold of their own. */
export const Invariants = point<Invariant>('invariants', {
  key: invariant => invariant.name,
  has: { name: 'text', promise: 'text', tables: 'list', broken: 'function' },
})

export const Violation = z.object({
  invariant: z.string(),
  promise: z.string(),
  found: z.string(),
  at_s: z.number().describe('Seconds since the world began'),
})
export type Violation = z.infer<typeof Violation>

const count = z.number().int()

/** What happened in one simulated world. */
export const SimulatedLife = z.object({
  seed: count,
  hash: z.string().describe('SHA-256 of the event log: the same seed gives the same'),
  violation: Violation.nullable(),
  seconds: z.number().describe('Of the world, not of the machine'),
  cycles: count,
  model_calls: count,
  tool_runs: count,
  acts: count.describe('What operators did'),
  kills: count,
  faults: z.record(z.string(), count).describe('What went wrong on purpose, by kind'),
  checks: count.describe('How often an invariant was looked at'),
})
export type SimulatedLife = z.infer<typeof SimulatedLife>

export interface SimulationOptions {
  seed: number
  /** Cycles of agents in each world. */
  cycles: number
  faults: FaultLevel
  /** Presets of the project from which agents are made. Default: the simulation's own worker. */
  presets?: readonly string[]
}

/** What a project brings into its worlds. */
export interface Belongings {
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

/** A world and its event log, line by line. */
export interface SimulatedRun extends SimulatedLife {
  log: readonly string[]
}

/** Lives through worlds in this process: the whole service, without network, disk and waiting, from a seed. */
export interface Simulation {
  /**
   * One world.
   * @param signal stops it
   * @throws SimulationStuckError when the world itself cannot go on; ProfileNotFoundError; SimulationNestedError; the signal's reason
   */
  live(options: SimulationOptions, signal?: AbortSignal): Promise<SimulatedRun>
  /** Simulates runs one after another, with successive seeds. Ends when the signal is aborted. */
  many(options: SimulationOptions & { seeds: number }, signal: AbortSignal): AsyncGenerator<SimulatedRun>
}
export const Simulation = token<Simulation>('simulation')

export const SimulationStuckError = defineError({
  code: 'simulation_stuck',
  status: 500,
  title: 'Simulation stuck',
  sentence: (p: { seed: number; what: string; at_s: number }) =>
    `The world of seed ${p.seed} stands still after ${p.at_s} s: ${p.what}. Something waits for what is not simulated.`,
})
export const SimulationNestedError = defineError({
  code: 'simulation_nested',
  status: 409,
  title: 'Simulation nested',
  sentence: () => 'A simulated world does not simulate another.',
})
