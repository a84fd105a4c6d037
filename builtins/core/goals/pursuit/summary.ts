import { Memory } from '#core/memory/contract'
import { MAX_TOOL_CALLS, type Message, type ModelCall, type Spend } from '#core/models/contract'
import { Runtime } from '#core/runtime/contract'
import { errorMessage, type PluginHandle } from '#kernel'
import { recordInput } from '#lib/recording-context'
import type { Cycle } from '#platform/heartbeat/contract'
import { Approvals } from '#safety/approvals/contract'
import type { GoalsConfig } from '../config.ts'
import { assemblyOf } from '../context/assembly.ts'
import type { GoalRow } from '../contract.ts'
import { recordSummary } from '../repository.ts'
import { recordSpend } from './outcome.ts'
import type { Transcript } from './transcript.ts'

/** If fewer messages of a goal are kept, the oldest are dropped without a summary. */
const LEAST_KEPT = 50
/**
 * The tool with which an agent saves notes; its memory also receives the lines of a summary that are worth remembering.
 */
const SAVE_NOTE = 'save_note'

/** Summaries of one pursuit: each replaces the oldest turns, and is stored before a request uses it. */
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

  /** Returns the next summary; undefined when none is due or the model gave none, so that a digest is used instead. */
  async next(call: ModelCall): Promise<Message | undefined> {
    const most = this.#config.pursuit_transcript_max_messages
    const isFull = most >= LEAST_KEPT && countUnsummarized(call.messages) + MAX_TOOL_CALLS >= most
    let call_id = ''
    const summary = await this.#svc.use(Runtime).summarize(call, {
      conversation: this.#goal.goal_id,
      keeps: isFull ? Math.floor(most / 2) : undefined,
      remembers: this.#remembers,
      save: (spend, message) => {
        call_id = spend.call_id
        return this.#save(spend, message)
      },
    })
    if (summary) await this.#remember(summary.remember, call_id)
    return summary?.message
  }

  /** Books what the call cost, with the summary if there is one. */
  async #save(spend: Spend, message: Message | undefined): Promise<void> {
    const { agent_id, goal_id } = this.#goal
    const { epoch } = this.#cycle.lease
    const recorded = message ? [recordSummary({ goal_id, agent_id, epoch, row: this.#transcript().add(message) })] : []
    await this.#cycle.save([recordSpend(this.#cycle, 'summary', goal_id, spend), ...recorded])
  }

  /** Saves notes like the agent's own. A note that cannot be saved is lost; the summary is used anyway. */
  async #remember(lines: readonly string[], call_id: string): Promise<void> {
    if (lines.length === 0 || !this.#remembers) return
    const { agent_id, goal_id } = this.#goal
    try {
      await recordInput('remember', async () => {
        const memory = this.#svc.use(Memory)
        const metadata = { kind: 'note', ...(await memory.origin({ goal_id }, SAVE_NOTE)) }
        for (const [n, line] of lines.entries())
          await memory.notes(agent_id).store(line, metadata, memory.idOf(`${call_id}:${n}`))
      })
    } catch (error) {
      const { cycle_num } = this.#cycle
      const problem = `A note from the summary could not be saved: ${errorMessage(error)}`
      this.#svc.log.warn({ agent_id, goal_id, cycle_num, code: 'summary_failed' }, problem)
    }
  }

  /** Whether the agent may save notes without approval. */
  get #remembers(): boolean {
    const tool = this.#svc.use(Runtime).toolsFor(assemblyOf(this.#cycle).profile).find(SAVE_NOTE)
    if (!tool || !this.#svc.has(Memory)) return false
    return !this.#svc.has(Approvals) || !this.#svc.use(Approvals).needsApproval(tool)
  }
}

/** Returns the number of messages that no summary covers. */
function countUnsummarized(messages: readonly Message[]): number {
  const at = messages.findLastIndex(({ summary }) => summary !== undefined)
  return messages.length - at - 1 + (messages[at]?.summary?.keeps ?? 0)
}
