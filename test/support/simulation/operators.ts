import { type Kernel, SvcError } from '#kernel'
import type { Look } from '#platform/store/contract'
import type { InvariantChecker } from './checks/invariant-checker.ts'
import type { Dice } from './dice.ts'
import { EPISODES, type FaultInjector } from './fault-injector.ts'
import type { Journal } from './journal.ts'

/** What operators can see, and the checker that records what they do. */
export interface ActionParts {
  dice: Dice
  journal: Pick<Journal, 'write'>
  checker: Pick<InvariantChecker, 'recordRequest' | 'onNudge' | 'reportDoubleDecision'> & { counts: { acts: number } }
  presets: readonly string[]
  look: Pick<Look, 'all' | 'get'>
}

/** A process that runs operations, and its number. */
export interface Service {
  kernel: Pick<Kernel, 'invoke'>
  process: number
}

export interface OperatorParts extends ActionParts {
  injector: FaultInjector
  /** Returns the service through which an operator acts now; undefined when none is up. */
  service(): Service | undefined
  /** Actions on processes and on their machine, rather than through a service. */
  machine: { kill(): void; restart(): void; join(): void; setClock(): void }
}

export type OperatorAction = (parts: ActionParts, call: Call) => Promise<unknown> | void
/** Runs an operation. @returns what it answered; undefined when it was refused */
type Call = (name: string, input: object) => Promise<unknown>
/** Actions with their weights. */
export type WeightedActions = readonly (readonly [weight: number, name: string, act: OperatorAction])[]

export const ACTIONS: WeightedActions = [
  [14, 'nudge', nudge],
  [6, 'pause', (parts, call) => onAgent(parts, id => call('agents.pause', { id }))],
  [8, 'resume', (parts, call) => onAgent(parts, id => call('agents.resume', { id }))],
  [2, 'pause_all', (_, call) => void call('agents.pause', { all: true })],
  [3, 'resume_all', (_, call) => void call('agents.resume', { all: true })],
  [3, 'spawn', ({ dice, presets }, call) => void call('agents.spawn', { preset: dice.pick(presets) })],
  [2, 'delete', (parts, call) => onAgent(parts, id => call('agents.delete', { id }))],
  [8, 'add_goal', (parts, call) => onAgent(parts, id => call('goals.add', { id, ...wish(parts) }))],
  [5, 'abandon', (parts, call) => onGoal(parts, goal_id => call('goals.abandon', { goal_id }))],
  [
    2,
    'reprioritize',
    (parts, call) => onGoal(parts, goal_id => call('goals.update', { goal_id, priority: parts.dice.int(1, 10) })),
  ],
  [16, 'decide', decide],
  [3, 'freeze', (_, call) => void call('daemon.pause', {})],
  [5, 'thaw', (_, call) => void call('daemon.resume', {})],
  [3, 'configure', ({ dice }, call) => void call('config.patch', patch(dice))],
  [3, 'checkpoint', (parts, call) => onAgent(parts, id => call('checkpoints.take', { id }))],
  [2, 'restore', restore],
  [
    4,
    'task',
    (parts, call) => onAgent(parts, id => call('tasks.run', { id, instruction: 'Say what you see.', max_steps: 3 })),
  ],
  [
    2,
    'schedule',
    (parts, call) =>
      onAgent(parts, id =>
        call('schedules.add', { id, objective: 'Look around the garden', every_n_cycles: parts.dice.int(1, 5) }),
      ),
  ],
  [2, 'message', message],
  [1, 'budget_reset', (_, call) => void call('budget.reset', {})],
]

/** Acts as operators do, at random moments, through the operations that people have. */
export async function actAsOperator(parts: OperatorParts): Promise<void> {
  const { dice, journal, injector, machine } = parts
  if (injector.level > 0 && dice.chance(0.03 * injector.level)) {
    const action = dice.pickWeighted([
      [3, 'kill'],
      [1, 'restart'],
      [1, 'join'],
      [2, 'setClock'],
      [3, 'episode'],
    ] as const)
    journal.write('machine', { action })
    if (action === 'episode') return injector.begin(dice.pick(EPISODES), dice.int(200, 6_500))
    return machine[action]()
  }
  const service = parts.service()
  if (service) await runRandomAction(service, parts)
}

/** Runs one of these actions at random. */
export async function runRandomAction(
  service: Service,
  parts: ActionParts,
  acts: WeightedActions = ACTIONS,
): Promise<void> {
  const { dice, journal, checker } = parts
  const [name, does] = dice.pickWeighted(acts.map(([weight, name, does]) => [weight, [name, does] as const] as const))
  checker.counts.acts++
  journal.write('act', { name })
  await does(parts, caller(service, parts))
}

function caller({ kernel, process }: Service, { journal, checker }: ActionParts): Call {
  return async (name, input) => {
    const answered = checker.recordRequest(process)
    try {
      const output = await kernel.invoke(name, input, { tenant: 'operator' })
      journal.write('done', { name })
      return output
    } catch (error) {
      journal.write('refused', { name, code: error instanceof SvcError ? error.code : String(error) })
      return undefined
    } finally {
      answered()
    }
  }
}

function agentIn({ look, dice }: ActionParts): string | undefined {
  const agents = look.all<{ agent_id: string }>('SELECT agent_id FROM agents ORDER BY rowid')
  return agents.length > 0 ? dice.pick(agents).agent_id : undefined
}

async function onAgent(parts: ActionParts, does: (id: string) => Promise<unknown>): Promise<void> {
  const id = agentIn(parts)
  if (id !== undefined) await does(id)
}

async function onGoal({ look, dice }: ActionParts, does: (goal_id: string) => Promise<unknown>): Promise<void> {
  const goals = look.all<{ goal_id: string }>("SELECT goal_id FROM goals WHERE status = 'active' ORDER BY goal_id")
  if (goals.length > 0) await does(dice.pick(goals).goal_id)
}

function wish({ dice }: ActionParts): object {
  return {
    objective: `See to the ${dice.pick(['north', 'south', 'east', 'west'])} gate ${dice.int(1, 99)}`,
    priority: dice.int(1, 10),
  }
}

function nudge(parts: ActionParts, call: Call): Promise<void> {
  return onAgent(parts, async id => {
    const nudged = (await call('agents.nudge', { id, message: `Mind step ${parts.dice.int(1, 99)}.` })) as
      | { nudge_id: string }
      | undefined
    if (nudged) parts.checker.onNudge(id, nudged.nudge_id)
  })
}

/** Decides approvals as one operator, or as two at once who may disagree. */
async function decide({ look, dice, checker }: ActionParts, call: Call): Promise<void> {
  const waiting = look.all<{ approval_id: string }>(
    "SELECT approval_id FROM approvals WHERE status = 'pending' ORDER BY approval_id",
  )
  if (waiting.length === 0) return
  const { approval_id } = dice.pick(waiting)
  const decisions = Array.from(
    {
      length: dice.pickWeighted([
        [3, 1],
        [2, 2],
      ]),
    },
    () => (dice.chance(0.8) ? 'approve' : 'deny'),
  )
  const taken: string[] = []
  await Promise.all(
    decisions.map(async decision => {
      if (await call('approvals.decide', { approval_id, decision })) taken.push(decision)
    }),
  )
  if (taken.length > 1) checker.reportDoubleDecision(approval_id, taken)
}

async function restore(parts: ActionParts, call: Call): Promise<void> {
  await onAgent(parts, async id => {
    const kept = ((await call('checkpoints.list', { id })) ?? []) as { checkpoint_id: string }[]
    if (kept.length === 0) return
    await call('checkpoints.restore', { id, checkpoint_id: parts.dice.pick(kept).checkpoint_id })
  })
}

async function message(parts: ActionParts, call: Call): Promise<void> {
  const from = agentIn(parts)
  const to = agentIn(parts)
  if (from === undefined || to === undefined) return
  await call('messages.send', { id: from, to, type: 'QUERY', subject: 'the gate', body: 'Is it open?' })
}

function patch(dice: Dice): object {
  return dice.pick<object>([
    { daemon: { max_concurrent_agents: dice.int(1, 4) } },
    { daemon: { heartbeat: dice.pick([1, 2, 3]) } },
    { daemon: { pursuit_transcript_max_messages: dice.int(6, 30) } },
    { daemon: { tool_timeout: dice.int(1, 6) } },
    { approval: { enabled: dice.chance(0.7) } },
    { approval: { timeout_cycles: dice.int(0, 6) } },
  ])
}
