import { Memory } from '#core/memory/contract'
import {
  MAX_TOOL_CALLS,
  type Message,
  type ModelAnswer,
  type ModelCall,
  Models,
  type SummaryDue,
} from '#core/models/contract'
import { Runtime } from '#core/runtime/contract'
import { type PluginHandle, sentenceOf } from '#kernel'
import { recordInput } from '#lib/recording-context'
import { type Cycle, FencedError } from '#platform/heartbeat/contract'
import { Approvals } from '#safety/approvals/contract'
import { assembled } from './assembly.ts'
import type { GoalsConfig } from './config.ts'
import type { GoalRow } from './contract.ts'
import { spent } from './outcome.ts'
import { recordSummary } from './repository.ts'
import type { Transcript } from './transcript.ts'

/** A shorter conversation needs no summary in any window. */
const LEAST_MESSAGES = 8
/** Where fewer messages of a goal are kept, the oldest go without a summary. */
const LEAST_KEPT = 50
/** Pauses after failures in a row, in milliseconds: a provider that cannot write a summary is not asked in each step. */
const PAUSES_MS = [60_000, 300_000, 900_000]
/** Goals whose failures are remembered; the one that failed longest ago goes first. */
const MAX_PAUSED = 1_000
/** The tool by which an agent saves what it found out, whose memory takes what a summary finds worth remembering. */
const SAVE_NOTE = 'save_note'

/** Failures in a row by goal, in each project of this process. */
const failed = new WeakMap<PluginHandle, Map<string, { times: number; until: number }>>()

/** Summaries of one pursuit: each stands for its oldest turns from then on, and is written down before a request uses it. */
export class Summaries {
  readonly #svc: PluginHandle
  readonly #config: GoalsConfig
  readonly #cycle: Cycle
  readonly #goal: GoalRow
  readonly #transcript: () => Transcript

  constructor(svc: PluginHandle, config: GoalsConfig, cycle: Cycle, goal: GoalRow, transcript: () => Transcript) {
    this.#svc = svc
    this.#config = config
    this.#cycle = cycle
    this.#goal = goal
    this.#transcript = transcript
  }

  /** Returns the summary to go on with; undefined when none is due, or none could be had: then a digest stands in for it. */
  async next(call: ModelCall): Promise<Message | undefined> {
    if (call.messages.length < LEAST_MESSAGES) return undefined
    const due = await recordInput('summary due', () => this.#due(call))
    const { summaries } = this.#svc.use(Models)
    if (!due || !summaries) return undefined
    try {
      const { messages } = call
      const answer = await this.#ask(call, due, summaries.request(messages, due, this.#remembers))
      const summary = summaries.read(answer, messages, due)
      await this.#write(answer, summary?.message)
      if (!summary) return this.#failed('Its answer has not the sections of a summary.')
      this.#pauses.delete(this.#goal.goal_id)
      await this.#remember(summary.remember, answer)
      return summary.message
    } catch (error) {
      if (this.#cycle.signal.aborted || error instanceof FencedError) throw error
      return this.#failed(sentenceOf(error))
    }
  }

  async #due(call: ModelCall): Promise<SummaryDue | null> {
    const { until = Number.NEGATIVE_INFINITY } = this.#pauses.get(this.#goal.goal_id) ?? {}
    if (this.#svc.clock.monotonic() < until) return null
    const most = this.#config.pursuit_transcript_max_messages
    const isFull = most >= LEAST_KEPT && unsummarized(call.messages) + MAX_TOOL_CALLS >= most
    const { summaries } = this.#svc.use(Models)
    return (await summaries?.due(call, isFull ? Math.floor(most / 2) : undefined)) ?? null
  }

  #ask(call: ModelCall, due: SummaryDue, messages: Message[]): Promise<ModelAnswer> {
    const { model, fallback = [], purpose, max_tokens, signal } = call
    return this.#svc.use(Models).call({
      ...(due.model ? { model: due.model } : { model, fallback }),
      ...{ messages, tools: [], temperature: 0, max_tokens },
      ...{ purpose: { ...purpose, kind: 'summary' }, signal },
    })
  }

  /** Books what the call cost, with the summary if there is one. */
  async #write({ spend }: ModelAnswer, message: Message | undefined): Promise<void> {
    const { agent_id, goal_id } = this.#goal
    const { epoch } = this.#cycle.lease
    const recorded = message ? [recordSummary({ goal_id, agent_id, epoch, row: this.#transcript().add(message) })] : []
    await this.#cycle.save([spent(this.#cycle, 'summary', goal_id, spend), ...recorded])
  }

  /** Saves notes as the agent itself would. What cannot be saved is lost: the summary counts all the same. */
  async #remember(lines: readonly string[], { spend }: ModelAnswer): Promise<void> {
    if (lines.length === 0 || !this.#remembers) return
    const { agent_id, goal_id } = this.#goal
    try {
      await recordInput('remember', async () => {
        const memory = this.#svc.use(Memory)
        const metadata = { kind: 'note', ...(await memory.origin({ goal_id }, SAVE_NOTE)) }
        for (const [n, line] of lines.entries())
          await memory.notes(agent_id).store(line, metadata, memory.idOf(`${spend.call_id}:${n}`))
      })
    } catch (error) {
      this.#log(`A note from its summary could not be saved: ${sentenceOf(error)}`)
    }
  }

  /** Whether the agent may save notes without being asked about it. */
  get #remembers(): boolean {
    const tool = this.#svc.use(Runtime).toolsFor(assembled(this.#cycle).profile).find(SAVE_NOTE)
    if (!tool || !this.#svc.has(Memory)) return false
    return !this.#svc.has(Approvals) || !this.#svc.use(Approvals).needed(tool)
  }

  #failed(reason: string): undefined {
    const times = (this.#pauses.get(this.#goal.goal_id)?.times ?? 0) + 1
    const pause = PAUSES_MS[Math.min(times, PAUSES_MS.length) - 1]!
    this.#pauses.delete(this.#goal.goal_id)
    this.#pauses.set(this.#goal.goal_id, { times, until: this.#svc.clock.monotonic() + pause })
    if (this.#pauses.size > MAX_PAUSED) this.#pauses.delete(this.#pauses.keys().next().value!)
    this.#log(
      `No summary was written: ${reason} A digest stands in for it; the next attempt is in ${pause / 1000} s at the earliest.`,
    )
    return undefined
  }

  get #pauses(): Map<string, { times: number; until: number }> {
    const known = failed.get(this.#svc) ?? new Map()
    failed.set(this.#svc, known)
    return known
  }

  #log(message: string): void {
    const { agent_id, goal_id } = this.#goal
    this.#svc.log.warn({ agent_id, goal_id, cycle_num: this.#cycle.cycle_num, code: 'summary_failed' }, message)
  }
}

/** Messages of a conversation that no summary stands for. */
function unsummarized(messages: readonly Message[]): number {
  const at = messages.findLastIndex(({ summary }) => summary !== undefined)
  return messages.length - at - 1 + (messages[at]?.summary?.keeps ?? 0)
}
