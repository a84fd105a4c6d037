import { ModelError, Models } from '#core/models/contract'
import { InvalidInputError, type PluginHandle } from '#kernel'
import { Trials } from '#lab/trials/contract'
import { DayClock } from './clock.ts'
import {
  type DemoContext,
  type DemoOptions,
  type DemoReport,
  type DemoRunner,
  Demos,
  type DemoTrial,
} from './contract.ts'
import { html } from './html.ts'
import { markdown } from './markdown.ts'

const EMBEDDED = 'sim:rules-1'
const MOST_CYCLES = 365
/**
 * Maximum number of checks whether a heartbeat's background work is done, and their interval in milliseconds: 15 s in
 * total, enough for a real model.
 */
const CALM_TRIES = 3_000
const CALM_MS = 5

export function demoRunner(svc: PluginHandle): DemoRunner {
  return {
    list: () => svc.list(Demos),
    markdown,
    html,
    play: options => play(svc, options),
  }
}

async function play(svc: PluginHandle, options: DemoOptions): Promise<DemoReport> {
  const { name, part, model = EMBEDDED, seed = svc.ports.random.seed, cycles, keep, signal, say, show } = options
  const demo = svc.find(Demos, name)
  if (!demo)
    throw invalidDemo(
      'name',
      `must be one of ${svc
        .list(Demos)
        .map(each => each.name)
        .join(', ')}`,
    )
  const parts = demo.parts?.() ?? []
  if (part !== undefined && !parts.some(each => each.name === part)) {
    throw invalidDemo(
      'case',
      parts.length > 0
        ? `must be one of ${parts.map(each => each.name).join(', ')}`
        : `must be omitted, because the demo ${name} has no cases`,
    )
  }
  if (cycles !== undefined && !(Number.isInteger(cycles) && cycles >= 1 && cycles <= MOST_CYCLES)) {
    throw invalidDemo('cycles', `must be a whole number from 1 to ${MOST_CYCLES}`)
  }
  const { id, provider } = await svc.use(Models).resolve(model)
  const { available, reason } = await provider.availability()
  if (!available) throw new ModelError({ model: id, problem: reason ?? 'it is not available' })
  const trials: DemoTrial[] = []
  const context: DemoContext = {
    seed,
    model,
    cycles,
    signal,
    say,
    show,
    named: provider.notice ? `${id} (${provider.notice})` : id,
    async open(options) {
      const clock = new DayClock(svc.clock)
      const trial = await svc.use(Trials).open({ seed, keep, clock, ...options })
      const demoTrial: DemoTrial = {
        ...trial,
        day: (calm?: () => Promise<boolean>) => day(trial.kernel, clock, signal, calm),
      }
      trials.push(demoTrial)
      return demoTrial
    },
  }
  try {
    return await demo.play(context, part)
  } finally {
    for (const trial of trials) await trial.close()
  }
}

/** Runs a day: the heartbeat, then the cycle of each due agent, one after another. */
async function day(
  { heartbeat }: DemoTrial['kernel'],
  clock: DayClock,
  signal: AbortSignal,
  calm: () => Promise<boolean> = async () => true,
): Promise<number> {
  const passed = clock.nextDay()
  for (;;) {
    signal.throwIfAborted()
    const driven = await heartbeat.step(signal)
    if (driven === undefined) break
    if (driven !== 'sys') continue
    // After an abort it does not wait any longer.
    for (let n = 0; n < CALM_TRIES && !signal.aborted && !(await calm()); n++) await clock.sleep(CALM_MS, signal)
  }
  signal.throwIfAborted()
  return passed
}

function invalidDemo(path: string, message: string): Error {
  const issues = [{ path, message }]
  return new InvalidInputError({ what: 'The demo', issues }, { errors: issues })
}
