import { createHash } from 'node:crypto'
import { join } from 'node:path'
import type { Cycle, PluginHandle } from '#kernel'
import { Agents } from '../agents/contract.ts'
import type { Message } from '../models/contract.ts'
import { Profiles } from '../profiles/contract.ts'
import {
  FINISH_GOAL,
  type PlannedCall,
  type RunEnd,
  type RunEvent,
  type RunRequest,
  Runtime,
} from '../runtime/contract.ts'
import { appendEvent, Store } from '../store/contract.ts'
import { assembled } from './assembly.ts'
import type { GoalsConfig } from './config.ts'
import { ActiveGoal, type GoalRow } from './contract.ts'
import { ended, fared, spent } from './outcome.ts'
import { goalMessage, nudgeMessage, pursuitSystem } from './prompt.ts'
import { dropTranscript, loadTranscript, recordAnswer, recordOutcome, unansweredCalls } from './repository.ts'
import { Transcript } from './transcript.ts'

/** `goal_pursuit`: runs the loop from where it was, and writes each of its events down before it goes on. */
export async function pursue(svc: PluginHandle, config: GoalsConfig, cycle: Cycle): Promise<void> {
  const goal = cycle.get(ActiveGoal) as GoalRow
  const pursuit = new Pursuit(svc, config, cycle, goal)
  const end = await pursuit.run()
  cycle.effects.push(...fared(svc, cycle))
  const { agent_id, goal_id } = goal
  switch (end.status) {
    case 'finished': {
      const result = [end.summary, ...end.evidence.map(each => `- ${each}`)].join('\n')
      cycle.effects.push(...ended(goal, 'completed', result, end.unconfirmed))
      cycle.result = 'completed'
      return
    }
    case 'refused':
      cycle.effects.push(...ended(goal, 'abandoned', `The model declined: ${end.summary}`))
      cycle.result = 'abandoned'
      return
    case 'max_steps':
      if (config.max_steps_policy === 'abandon') {
        cycle.effects.push(...ended(goal, 'abandoned', `Not finished within ${end.steps} steps.`))
        cycle.result = 'abandoned'
        return
      }
      cycle.effects.push(
        appendEvent({ type: 'goal_max_steps', agent_id, data: { agent_id, goal_id, steps_done: end.steps } }),
      )
      cycle.result = 'max_steps'
  }
}

/** Workspaces that are known to be there. */
const made = new Set<string>()

class Pursuit {
  readonly #svc: PluginHandle
  readonly #config: GoalsConfig
  readonly #cycle: Cycle
  readonly #goal: GoalRow
  #transcript = new Transcript([])
  /** Nudges that stand in the prompt of the model call that is under way. */
  #reading: string[] = []

  constructor(svc: PluginHandle, config: GoalsConfig, cycle: Cycle, goal: GoalRow) {
    this.#svc = svc
    this.#config = config
    this.#cycle = cycle
    this.#goal = goal
  }

  async run(): Promise<RunEnd> {
    const store = this.#svc.use(Store)
    const { goal_id } = this.#goal
    const begun = this.#goal.steps_completed > 0
    if (begun && this.#config.pursuit_resume) this.#transcript = new Transcript(await loadTranscript(store, goal_id))
    else if (begun) await this.#cycle.save([dropTranscript({ goal_id })])
    const unanswered = this.#transcript.messages.length > 0 ? await unansweredCalls(store, goal_id) : new Map()
    const events = this.#svc.use(Runtime).run(await this.#request(unanswered))
    try {
      for (;;) {
        const { value, done } = await events.next()
        if (done) return value
        await this.#write(value)
      }
    } finally {
      await events.return?.(undefined as never)
    }
  }

  async #request(unanswered: ReadonlyMap<string, string>): Promise<RunRequest> {
    const { agent, profile } = assembled(this.#cycle)
    const { agent_id, cycle_num, lease, signal } = this.#cycle
    const { goal_id } = this.#goal
    const runtime = this.#svc.use(Runtime)
    const workspace = join(this.#svc.project.workspaces, agent_id)
    await this.#makeOnce(workspace)
    return {
      ...{ agent_id, goal_id, cycle_num, signal, workspace, unanswered },
      // Asked anew at each step: a toolkit may come or go in the middle of a pursuit.
      get tools() {
        return runtime.toolsFor(profile)
      },
      call_prefix: `${agent_id}:${lease.epoch}`,
      purpose: { agent_id, goal_id, cycle_num, kind: 'goal_pursuit' },
      model: agent.model || profile.model || null,
      temperature: profile.temperature,
      max_tokens: profile.max_tokens,
      max_steps: profile.max_steps,
      system: pursuitSystem(profile, await this.#svc.use(Profiles).skills(profile), runtime.toolsFor(profile)),
      transcript: this.#transcript.messages,
      tool_timeout: this.#config.tool_timeout,
      news: () => this.#news(),
    }
  }

  /** Once in each process: tools make what somebody removes meanwhile. */
  async #makeOnce(workspace: string): Promise<void> {
    if (made.has(workspace)) return
    await this.#svc.ports.files.mkdir(workspace, { recursive: true, mode: 0o700 })
    made.add(workspace)
  }

  /** The goal at the very beginning, and the operator's messages between two steps. */
  async #news(): Promise<Message[]> {
    const nudges = await this.#svc.use(Agents).waitingNudges(this.#goal.agent_id)
    this.#reading = nudges.map(nudge => nudge.nudge_id)
    const first = this.#transcript.messages.length === 0 ? [goalMessage(this.#goal)] : []
    return [...first, ...nudges.map(nudge => nudgeMessage(nudge.message))].map(content => ({
      role: 'user' as const,
      content,
    }))
  }

  async #write(event: RunEvent): Promise<void> {
    const { agent_id, goal_id } = this.#goal
    if (event.type === 'outcome') {
      const { call, message, effects } = event
      const row = this.#transcript.outcome(call, message)
      const data = { agent_id, goal_id, tool: call.name, ok: !message.is_error }
      await this.#save([
        recordOutcome({ goal_id, agent_id, call_id: call.call_id, row }),
        appendEvent({ type: 'tool_result', agent_id, cycle_num: this.#cycle.cycle_num, data }),
        ...effects,
      ])
      return
    }
    const { heard, message, calls, spend } = event
    const rows = this.#transcript.answer(heard, message, calls)
    const keep_from = this.#transcript.prune(this.#config.pursuit_transcript_max_messages)
    const read = this.#reading.length > 0 ? [this.#svc.use(Agents).nudgesDelivered(this.#reading)] : []
    const intents = calls.filter(({ name }) => name !== FINISH_GOAL).map(call => ({ ...call, args_hash: hashOf(call) }))
    await this.#save([
      recordAnswer({ goal_id, agent_id, epoch: this.#cycle.lease.epoch, rows, keep_from, intents }),
      spent(this.#cycle, 'goal_pursuit', goal_id, spend),
      ...read,
    ])
  }

  async #save(effects: Parameters<Cycle['save']>[0]): Promise<void> {
    if ((await this.#cycle.save(effects)) === 'refused') throw new Error('what a tool asked to be written was refused')
  }
}

/** Canonical: the same arguments give the same hash in whatever order their keys stand. */
function hashOf({ name, arguments: args }: PlannedCall): string {
  return createHash('sha256')
    .update(`${name} ${canonical(args)}`)
    .digest('hex')
    .slice(0, 32)
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  )
}
