import { Profiles } from '#core/profiles/contract'
import { HostToken, type PluginHandle } from '#kernel'
import { OpenerToken } from '#lib/opener'
import { Medium } from '#platform/store/contract'
import { Toolkits } from '#tools/toolkits/contract'
import {
  type Belongings,
  type SimulatedRun,
  type Simulation,
  SimulationNestedError,
  type SimulationOptions,
} from './contract.ts'
import { Ground } from './ground.ts'
import { DeadProcess } from './medium.ts'
import { SimulatedWorld } from './world.ts'

/** Errors are much of what a world is made of, and to note where each came from is much of what they cost. */
const STACK_FRAMES = 3

/** The service: lives through worlds, each in this process and on its own clock. */
export function simulationOf(svc: PluginHandle): Simulation {
  let laid: Promise<Ground> | undefined
  const live = async (options: SimulationOptions, signal?: AbortSignal): Promise<SimulatedRun> => {
    if (svc.has(Medium)) throw new SimulationNestedError()
    const opener = svc.use(OpenerToken)
    laid ??= Ground.prepare(opener, () => svc.clock.yield())
    const world = new SimulatedWorld(options, {
      ...{ opener, ground: await laid, also: svc.use(HostToken).ofFiles() },
      belongings: await belongingsOf(svc, options.presets ?? []),
    })
    return runWatched(world, () => svc.clock.yield(), signal)
  }
  return {
    live,
    async *many({ seeds, ...options }, signal) {
      for (let n = 0; n < seeds && !signal.aborted; n++) {
        const run = await live({ ...options, seed: options.seed + n }, signal).catch(error => {
          if (!signal.aborted) throw error
        })
        if (run) yield run
        await svc.clock.yield()
      }
    },
  }
}

/**
 * An uncaught error in a simulated run is a fault of that run, and does not end this process.
 * @param turn resolves in the next turn of the event loop
 */
export async function runWatched(
  world: SimulatedWorld,
  turn: () => Promise<void>,
  signal?: AbortSignal,
): Promise<SimulatedRun> {
  const uncaught = (error: unknown) => {
    if (!(error instanceof DeadProcess)) world.checker.uncaught(error)
  }
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = STACK_FRAMES
  process.on('unhandledRejection', uncaught)
  try {
    const run = await world.live(turn, signal)
    // Node reports unhandled rejections only when nothing else is left to do, which in a simulation is never.
    await turn()
    return { ...run, violation: world.checker.violation }
  } finally {
    process.off('unhandledRejection', uncaught)
    Error.stackTraceLimit = stackTraceLimit
  }
}

async function belongingsOf(svc: PluginHandle, presets: readonly string[]): Promise<Belongings> {
  const profiles: Record<string, string> = {}
  for (const name of presets) {
    const { skills: _, ...profile } = await svc.use(Profiles).read(name)
    // Whatever model it names, in a world the dice speak.
    profiles[name] = JSON.stringify({ ...profile, model: '', fallback: [] })
  }
  const owners = new Set(
    svc
      .use(HostToken)
      .ofFiles()
      .map(({ name }) => name),
  )
  const toolkits = svc.contributions(Toolkits).filter(({ owner }) => owners.has(owner))
  const plugins = svc.config.tree('persisted').plugins as { config?: Record<string, unknown> } | undefined
  return {
    profiles,
    pluginConfig: plugins?.config ?? {},
    needs: owners.size > 0 || presets.length > 0 ? 'everything' : [],
    toolkits: toolkits.map(({ value }) => value.name),
    tools: toolkits.flatMap(({ value }) => value.tools.map(({ name }) => name)),
  }
}
