import { Profiles } from '#core/profiles/contract'
import { HostToken, type Kernel, type PluginDefinition } from '#kernel'
import { type Opener, OpenerToken } from '#lib/opener'
import { Toolkits } from '#tools/toolkits/contract'
import { openKernel } from '../../../embed/compose.ts'
import { turn } from '../clock.ts'
import type { SimulatedProject, SimulatedRun, SimulationOptions } from './contract.ts'
import { InitialState } from './initial-state.ts'
import { NOTHING } from './rules.ts'
import { DeadProcess } from './shared-database.ts'
import { SimulatedService, type SimulationParts } from './simulated-service.ts'

/** Errors are frequent in simulated runs, and recording their stack is a large part of the cost. */
const STACK_FRAMES = 3
/** Default number of cycles in a run. */
const CYCLES = 30

export interface SimulateOptions extends Partial<SimulationOptions>, Pick<SimulationParts, 'rewrite'> {
  seed: number
  /** Plugins that take part. Modules that they need are present in every run. */
  plugins?: readonly PluginDefinition[]
  /** Toolkits, configuration and profiles of the plugins. */
  project?: Partial<SimulatedProject>
}

const opener: Opener = {
  async open({ also = [], ...options }) {
    // Imported only when a run needs all modules: most tests need few.
    const { BUILTINS } = await import('../../../builtins/index.ts')
    return openKernel({ builtins: [...BUILTINS, ...also], pluginFiles: 'all', ...options })
  },
}
let prepared: Promise<InitialState> | undefined

/**
 * Runs the whole service from a seed in this process, with injected faults and without network, disk or waiting. The
 * same seed gives the same event log.
 * @returns the run; `violation` is the first invariant that was violated
 * @throws SimulationStuckError when code waits for what is not simulated
 */
export async function simulate(options: SimulateOptions): Promise<SimulatedRun> {
  return runWatched(await simulatedService(options))
}

/** Prepares a run of `simulate`. */
export async function simulatedService({
  plugins = [],
  project = {},
  rewrite,
  ...options
}: SimulateOptions): Promise<SimulatedService> {
  prepared ??= InitialState.prepare(opener, turn)
  const initial = await prepared
  // Memory of the previous run is freed only between two turns of the event loop.
  await turn()
  const needs = plugins.flatMap(plugin => plugin.needs ?? [])
  const belongings = { ...NOTHING, needs, ...project }
  const parts = { opener, initial, also: plugins, belongings, ...(rewrite ? { rewrite } : {}) }
  return new SimulatedService({ cycles: CYCLES, faults: 'some', ...options }, parts)
}

/**
 * Simulates runs of an open project, with its plugins and profiles, one after another with consecutive seeds. Ends when the
 * signal is aborted.
 * @throws SimulationStuckError, ProfileNotFoundError
 */
export async function* simulateProject(
  kernel: Kernel,
  { seeds, ...options }: SimulationOptions & { seeds: number },
  signal: AbortSignal,
): AsyncGenerator<SimulatedRun> {
  const parts = {
    opener: kernel.use(OpenerToken),
    initial: await InitialState.prepare(kernel.use(OpenerToken), turn),
    also: kernel.use(HostToken).definitions(),
    belongings: await projectOf(kernel, options.presets ?? []),
  }
  for (let n = 0; n < seeds && !signal.aborted; n++) {
    const service = new SimulatedService({ ...options, seed: options.seed + n }, parts)
    const run = await runWatched(service, signal).catch(error => {
      if (!signal.aborted) throw error
    })
    if (run) yield run
    await turn()
  }
}

/** Runs a service. An uncaught error in it violates an invariant, and does not end this process. */
export async function runWatched(service: SimulatedService, signal?: AbortSignal): Promise<SimulatedRun> {
  const uncaught = (error: unknown) => {
    if (!(error instanceof DeadProcess)) service.checker.uncaught(error)
  }
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = STACK_FRAMES
  process.on('unhandledRejection', uncaught)
  try {
    const run = await service.live(turn, signal)
    // Node reports unhandled rejections only when nothing else is left to do, which never happens in a simulation.
    await turn()
    return { ...run, violation: service.checker.violation }
  } finally {
    process.off('unhandledRejection', uncaught)
    Error.stackTraceLimit = stackTraceLimit
  }
}

/** Returns what a project's plugins and the chosen presets bring into its runs. */
async function projectOf(kernel: Kernel, presets: readonly string[]): Promise<SimulatedProject> {
  const profiles: Record<string, string> = {}
  for (const name of presets) {
    const { skills: _, ...profile } = await kernel.use(Profiles).read(name)
    // The scripted model answers, whichever model the profile names.
    profiles[name] = JSON.stringify({ ...profile, model: '', fallback: [] })
  }
  const owners = new Set(
    kernel
      .use(HostToken)
      .definitions()
      .map(({ name }) => name),
  )
  const toolkits = kernel.points.list(Toolkits).filter(({ owner }) => owners.has(owner))
  const plugins = kernel.config.tree('persisted').plugins as { config?: Record<string, unknown> } | undefined
  return {
    profiles,
    pluginConfig: plugins?.config ?? {},
    needs: owners.size > 0 || presets.length > 0 ? 'everything' : [],
    toolkits: toolkits.map(({ value }) => value.name),
    tools: toolkits.flatMap(({ value }) => value.tools.map(({ name }) => name)),
  }
}
