import { setTimeout as sleep } from 'node:timers/promises'
import type Sqlite from 'better-sqlite3'
import { SvcError } from '#kernel'
import { Dice } from '../../support/simulation/dice.ts'
import {
  ACTIONS,
  type ActionParts,
  type OperatorAction,
  runRandomAction,
  type WeightedActions,
} from '../../support/simulation/operators.ts'
import { lookAt } from './soak-checks.ts'
import { PRESETS, type SoakedProject } from './soak-project.ts'

/** Frequencies of the operators' actions of simulated runs, chosen so that eight agents can go on with their work. */
const WEIGHTS: Readonly<Record<string, number>> = {
  nudge: 14,
  pause: 2,
  resume: 8,
  add_goal: 8,
  abandon: 5,
  reprioritize: 2,
  decide: 60,
  freeze: 0.4,
  thaw: 10,
  checkpoint: 3,
  restore: 1,
  task: 3,
  message: 3,
  schedule: 0.3,
  budget_reset: 1.5,
}
const LET_GO = ['resume', 'decide', 'thaw', 'budget_reset']
/** Operations that operators read with. */
const LISTS: readonly (readonly [name: string, input: object])[] = [
  ...(['agents.list', 'agents.fleet', 'budget.status', 'daemon.status', 'plugins.list', 'models.list'] as const).map(
    name => [name, {}] as const,
  ),
  ...(['runs.list', 'delegations.all', 'messages.graph', 'recordings.list', 'metrics.get'] as const).map(
    name => [name, {}] as const,
  ),
  ['budget.spending', { by: 'agent' }],
]
const OF_AGENT = [
  'agents.get',
  'agents.why',
  'goals.history',
  'events.list',
  'memory.list',
  'checkpoints.list',
] as const
/** Age at which memories are forgotten, in days: some minutes, where a real service uses weeks. */
const FORGOTTEN_DAYS = 2 / 24 / 60
/** Maximum time between two actions, in milliseconds; the second one applies while operators are eager. */
const PACE_MS = 500
const EAGER_MS = 60
/** A healthy service answers with statuses below this only. */
const REFUSED_BELOW = 500

/** Operators of a soak: they write, read and decide over HTTP, and remember what was acknowledged. */
export class SoakPeople {
  readonly counts = { acts: 0, answers: 0, streamed: 0, streams: 0, refused: {} as Record<string, number> }
  /** Faults in the answers, as sentences. */
  readonly broken: string[] = []
  readonly nudges = new Map<string, { agent_id: string; at: number }>()
  readonly goals = new Map<string, string>()
  readonly #project: SoakedProject
  readonly #dice: Dice
  readonly #parts: ActionParts
  #acts: WeightedActions
  /** Requests without an answer so far, and open streams. */
  readonly #open = new Set<Promise<unknown>>()
  #streams = new AbortController()
  #busy = true
  /** Whether operators do in minutes what otherwise takes them an hour. */
  eager = false

  constructor(project: SoakedProject, db: Sqlite.Database, seed: number) {
    this.#project = project
    this.#dice = new Dice(seed, 'people')
    this.#parts = {
      dice: this.#dice,
      presets: Object.keys(PRESETS),
      journal: { write: () => {} },
      look: lookAt(db),
      checker: {
        counts: this.counts,
        recordRequest: () => () => {},
        onNudge: (agent_id, nudge_id) => void this.nudges.set(nudge_id, { agent_id, at: Date.now() }),
        reportDoubleDecision: (id, decisions) =>
          void this.broken.push(`${id}: ${decisions.join(' and ')} were both taken`),
      },
    }
    const own: readonly (readonly [number, string, OperatorAction])[] = [
      [12, 'look', () => this.#look()],
      [4, 'stream', () => this.#follow()],
      [2, 'consolidate', (_, call) => this.#consolidate(call)],
      [0.3, 'replace', (_, call) => this.#replace(call)],
    ]
    const known = ACTIONS.flatMap(([, name, act]) => (name in WEIGHTS ? [[WEIGHTS[name]!, name, act] as const] : []))
    this.#acts = [...known, ...own]
  }

  /** Acts until the signal is aborted. */
  async work(until: AbortSignal): Promise<void> {
    while (!until.aborted) {
      await sleep(this.#dice.int(20, this.eager ? EAGER_MS : PACE_MS))
      if (!this.#busy) continue
      const action = runRandomAction({ kernel: { invoke: this.#invoke as never }, process: 1 }, this.#parts, this.#acts)
      this.#opens(action.catch(error => void this.broken.push(`an act failed: ${error}`)))
    }
  }

  /** Stops new actions, closes all streams, and waits for open requests. */
  async rest(): Promise<void> {
    this.#busy = false
    this.#streams.abort()
    while (this.#open.size > 0) await Promise.all(this.#open)
  }

  /** From now on, operators only unblock agents. */
  letGo(): void {
    this.#acts = ACTIONS.flatMap(([, name, act]) => (LET_GO.includes(name) ? [[1, name, act] as const] : []))
    this.goOn()
  }

  goOn(): void {
    this.#streams = new AbortController()
    this.#busy = true
  }

  #opens(action: Promise<unknown>): void {
    const open = action.finally(() => this.#open.delete(open))
    this.#open.add(open)
  }

  readonly #invoke = (name: string, input: object): Promise<unknown> => {
    const asked = this.#asks(name, input)
    this.#opens(asked.catch(() => {}))
    return asked
  }

  async #asks(name: string, input: object): Promise<unknown> {
    const [group = '', verb = ''] = name
      .split('.')
      .map(word => word.replace(/_(.)/g, (_, letter) => letter.toUpperCase()))
    const groups = this.#project.client as unknown as Record<
      string,
      Record<string, (input: object) => Promise<unknown>>
    >
    try {
      const answer = await groups[group]![verb]!(input)
      this.counts.answers++
      if (name === 'goals.add') this.goals.set((answer as { goal_id: string }).goal_id, (input as { id: string }).id)
      return answer
    } catch (error) {
      const code = error instanceof SvcError ? error.code : String(error)
      this.counts.refused[code] = (this.counts.refused[code] ?? 0) + 1
      if (!(error instanceof SvcError) || error.status >= REFUSED_BELOW) this.broken.push(`${name}: ${error}`)
      throw error
    }
  }

  async #look(): Promise<void> {
    const dice = this.#dice
    const [name, input] = dice.chance(0.5) ? dice.pick(LISTS) : [dice.pick(OF_AGENT), { id: this.#someone() }]
    if ('id' in input && input.id === undefined) return
    await this.#invoke(name, input).catch(() => {})
  }

  #someone(): string | undefined {
    const agents = this.#parts.look.all<{ agent_id: string }>('SELECT agent_id FROM agents')
    return agents.length > 0 ? this.#dice.pick(agents).agent_id : undefined
  }

  /** Follows the events for a while, and disconnects in the middle. */
  async #follow(): Promise<void> {
    const cut = AbortSignal.any([this.#streams.signal, AbortSignal.timeout(this.#dice.int(200, 20_000))])
    let last = 0
    this.counts.streams++
    try {
      for await (const { id } of this.#project.client.events.follow({}, { signal: cut })) {
        const seq = Number(id ?? last + 1)
        if (seq <= last) this.broken.push(`event ${seq} was sent after ${last}`)
        last = seq
        this.counts.streamed++
      }
    } catch (error) {
      if (!cut.aborted) this.broken.push(`a stream of events ended: ${error}`)
    }
  }

  async #consolidate(call: (name: string, input: object) => Promise<unknown>): Promise<void> {
    const id = this.#someone()
    if (id) await call('memory.consolidate', { id, max_age_days: FORGOTTEN_DAYS, min_access: 20 })
  }

  /** Deletes an agent, and spawns another of the same preset. */
  async #replace(call: (name: string, input: object) => Promise<unknown>): Promise<void> {
    const gone = this.#dice.pick(
      this.#parts.look.all<{ agent_id: string; preset: string }>(
        'SELECT agent_id, preset FROM agents WHERE spawned_by IS NULL',
      ),
    )
    if ((await call('agents.delete', { id: gone.agent_id })) === undefined) return
    await call('agents.spawn', { preset: gone.preset })
  }
}
