import { type Checkpoint, CheckpointParts, Checkpoints } from '#core/checkpoints/contract'
import checkpoints from '#core/checkpoints/index'
import memory from '#core/memory/index'
import type { Effect } from '#kernel'
import schedules from '#platform/schedules/index'
import { Store } from '#platform/store/contract'
import economy from '#society/economy/index'
import identity from '#society/identity/index'
import suffering from '#society/suffering/index'
import { type ToolCall, Toolkits } from '#tools/toolkits/contract'
import world from '#tools/toolkits/world/index'
import { type TestHost, type TestHostOptions, testHost } from '../../../support/index.ts'
import { AGENT_MODULES, WORKER } from '../models/model-host.ts'

/** Modules that store data of agents, and the one that restores it. */
export const PART_MODULES = [memory, schedules, suffering, identity, economy, world, checkpoints]

let seed = 5_000

/** Starts a test host with these modules and without a daemon; each has ids of its own. */
export const keeping = (options: TestHostOptions = {}) =>
  testHost({
    roles: ['cli'],
    seed: ++seed,
    files: { 'profiles/worker.yaml': WORKER },
    config: { economy: { enabled: true, starting_balance: 1000 } },
    ...options,
    builtins: [...AGENT_MODULES, ...PART_MODULES, ...(options.builtins ?? [])],
  })

let calls = 0

const WEIGHED_DOWN = {
  waking_ms: 7_200_000,
  crisis: false,
  outcomes: [[true, 3]],
  hours_without_goal: 0,
  hours_unheard: 1,
  told: null,
  offsets: { risk_tolerance: 0.1, social_drive: 0, concentration: -0.2, autonomy_level: 0, happiness: 0 },
  stressors: [{ stressor: 'invisibility', severity: 0.4, peak: 0.5, trend: 'easing', since: 12 }],
}

/** Uses a tool as a pursuit does: its writes are committed with it. */
async function use({ kernel }: TestHost, name: string, args: object, agent_id: string): Promise<void> {
  const tool = kernel.points
    .list(Toolkits)
    .flatMap(({ value }) => value.tools)
    .find(each => each.name === name)!
  const effects: Effect[] = []
  const call: ToolCall = {
    call_id: `call-${++calls}`,
    agent_id,
    goal_id: null,
    cycle_num: 1,
    signal: new AbortController().signal,
    workspace: '/nowhere',
    idempotency_key: `call-${calls}`,
    effect: (effect: Effect) => void effects.push(effect),
  }
  await tool.execute(tool.parameters.parse(args), call)
  await kernel.use(Store).apply(effects)
}

/** Leaves data of an agent in every module. */
export async function leaveTraces(home: TestHost, id: string, what: string): Promise<void> {
  const { kernel } = home
  const suffering = kernel.points.find(CheckpointParts, 'suffering')!
  await kernel.use(Store).apply(await suffering.restore(id, { ...WEIGHED_DOWN, refusals: what.length }))
  await use(home, 'apply_job', { job_id: 'courier' }, id)
  await use(home, 'learn', { skill_name: 'writing' }, id)
  await use(home, 'form_opinion', { domain: what, opinion: `That is ${what}.` }, id)
  await kernel.invoke('goals.add', { id, objective: `Think about ${what}` })
}

export const checkpointsOf = ({ kernel }: TestHost) => kernel.use(Checkpoints)
/** Returns the parts that a checkpoint of the agent would contain now. */
export const standing = async (home: TestHost, id: string): Promise<Checkpoint['parts']> =>
  JSON.parse(JSON.stringify((await checkpointsOf(home).now(id)).parts))
