import { createHash } from 'node:crypto'
import { toolResult } from '#core/goals/contract'
import type { Message, Spend } from '#core/models/contract'
import { canonicalJson, type PlannedCall, type RunEvent } from '#core/runtime/contract'
import type { CallIntent } from '#core/runtime/statements'
import { sessionUsed } from '#core/sessions/contract'
import { type Effect, errorMessage, type PluginHandle } from '#kernel'
import { recordInput } from '#lib/recording-context'
import { isCancelled } from '#lib/task-end'
import { type RunBeginning, Runs } from '#observability/runs/contract'
import { appendEvent, Store } from '#platform/store/contract'
import { bookSpend } from '#safety/budget/contract'
import {
  beginDeferredCall,
  chargeTask,
  deferCalls,
  endTask,
  holdTask,
  recordAnswer,
  recordOutcome,
  recordSummary,
  recordText,
  recordWords,
  releaseTask,
} from '../effects.ts'
import { loadMessages, type TaskRow } from '../repository.ts'
import { recordRunStart, taskStarted } from './beginning.ts'
import type { Ending } from './ending.ts'
import type { LiveText, Piece } from './text.ts'
import { type MessageRow, Transcript } from './transcript.ts'

/** Thrown when another process took over the task, or the task was removed with its agent. */
export class LostTask extends Error {
  constructor() {
    super('this process no longer holds the task')
  }
}

/** A model's answer that is not stored yet. */
interface Answer {
  rows: MessageRow[]
  booked: Effect
  spend: Spend
}

type Step = Pick<Extract<RunEvent, { type: 'answer' }>, 'received' | 'message' | 'spend' | 'step'>
type Outcome = Omit<Extract<RunEvent, { type: 'outcome' }>, 'type'>

/** The task's status and its result for the client. */
type TaskEnd = Pick<
  Parameters<typeof endTask>[0],
  'output' | 'parsed' | 'error' | 'approval_ids' | 'question_ids' | 'duration_ms'
> &
  Pick<Ending, 'status'>

/** Stores each event of a task before the work continues, as long as this process holds the task. */
export class TaskJournal {
  readonly #svc: PluginHandle
  readonly #row: TaskRow
  readonly #text: LiveText
  readonly #hold: { task_id: string; owner: string; epoch: number }
  #transcript = new Transcript([])
  #run_id: string | null = null
  /** Last answer, stored later together with the following calls or the end. */
  #last: Answer | undefined

  constructor(svc: PluginHandle, row: TaskRow, text: LiveText) {
    this.#svc = svc
    this.#row = row
    this.#text = text
    this.#hold = { task_id: row.task_id, owner: row.owner, epoch: row.epoch }
  }

  /** Returns the task's earlier messages, written by another process or before an approval. */
  async read(): Promise<readonly Message[]> {
    // A new task has no messages yet.
    const isNew = this.#row.epoch === 1 && this.#row.steps_taken === 0
    this.#transcript = new Transcript(isNew ? [] : await loadMessages(this.#svc.use(Store), this.#row.task_id))
    return this.#transcript.messages
  }

  /** Continues a start that is already stored. */
  async resume({ run_id }: { run_id: string | null }): Promise<void> {
    this.#run_id = run_id
    if (run_id) await this.#recordRunStart(run_id)
  }

  /**
   * Stores the start of work, in a separate run if runs are kept.
   * @throws LostTask
   */
  async begin(about: RunBeginning, traceparent: string | undefined): Promise<void> {
    const isFirst = this.#row.epoch === 1
    const startEffects = () => (isFirst ? [taskStarted(this.#row, this.#run_id, traceparent)] : [])
    if (!this.#svc.has(Runs)) {
      if (isFirst) await this.#save(startEffects())
      return
    }
    const runs = this.#svc.use(Runs)
    for (;;) {
      const { run_id, effects } = await recordInput('run begins', () => runs.startEffects('task', about))
      this.#run_id = run_id
      // Refused: a run of another process has this id, so another id is tried.
      if (await this.#trySave([...effects, ...startEffects()])) return this.#recordRunStart(run_id)
    }
  }

  /** Starts the run's log, recorded so that a recording knows its run. */
  async #recordRunStart(run_id: string): Promise<void> {
    await recordInput('run', async () => {
      recordRunStart(this.#svc, run_id)
      return run_id
    })
  }

  /** Keeps the model's answer, to be stored with what follows. */
  recordStep({ received, message, spend, step }: Step): void {
    const rows = this.#transcript.answer(received, message)
    const whose = { agent_id: this.#row.agent_id, goal_id: null, run_id: this.#run_id }
    this.#last = { rows, booked: bookSpend({ ...spend, ...whose, kind: 'task', step }), spend }
  }

  /**
   * Stores an answer after which the work continues.
   * @throws LostTask
   */
  async recordProgress(calls: readonly (PlannedCall & Pick<CallIntent, 'state'>)[] = []): Promise<void> {
    const last = this.#last
    if (!last) return
    const { rows, booked, spend } = last
    const { agent_id, task_id, session_id, epoch } = this.#row
    const used = usageOf(spend)
    const intents = calls.map(call => ({ ...call, args_hash: hashOf(call) }))
    const recorded = recordAnswer({ task_id, agent_id, epoch, run_id: this.#run_id, rows, intents, ...used })
    const { effects, written } = await this.#unwrittenText()
    await this.#save([recorded, booked, sessionUsed({ session_id, ...used, duration_ms: 0 }), ...effects])
    this.#last = undefined
    written()
  }

  /** Stores that calls of the last answer did not begin. @throws LostTask */
  async defer(calls: readonly PlannedCall[]): Promise<void> {
    await this.#save([deferCalls({ call_ids: calls.map(({ call_id }) => call_id) })])
  }

  /** Stores that a call begins which did not before. @throws LostTask */
  async beginDeferred(call_id: string): Promise<void> {
    await this.#save([beginDeferredCall({ call_id })])
  }

  /**
   * Stores the outcome of a tool call.
   * @param duration in milliseconds
   * @throws LostTask
   */
  async outcome({ call, message, effects, ran }: Outcome, duration: number): Promise<void> {
    const { agent_id, task_id } = this.#row
    const row = this.#transcript.outcome(call, message)
    const event = toolResult({ agent_id, goal_id: null, run_id: this.#run_id }, call, message, duration, ran)
    await this.#save([recordOutcome({ task_id, call_id: call.call_id, row }), event, ...effects])
  }

  /**
   * Stores a summary and its cost.
   * @param summary null if the model's answer was no summary
   * @throws LostTask
   */
  async saveSummary(spend: Spend, summary: Message | null): Promise<void> {
    const { agent_id, task_id, session_id } = this.#row
    const used = usageOf(spend)
    const row = summary && this.#transcript.add(summary)
    await this.#save([
      recordSummary({ task_id, row, ...used }),
      bookSpend({ ...spend, agent_id, goal_id: null, run_id: this.#run_id, kind: 'summary' }),
      sessionUsed({ session_id, ...used, duration_ms: 0 }),
    ])
  }

  /**
   * Adds the cost of a model call without an answer to the task and its session. It is already booked in the budget.
   */
  async bookSpend(spend: Spend): Promise<void> {
    const { task_id, session_id } = this.#row
    const used = usageOf(spend)
    await this.#save([chargeTask({ task_id, ...used }), sessionUsed({ session_id, ...used, duration_ms: 0 })])
  }

  /** Releases the task for another process to continue. */
  async release(): Promise<void> {
    const { effects } = await this.#unwrittenText()
    await this.#svc.use(Store).apply([...effects, releaseTask(this.#hold)])
  }

  /**
   * Stores the task's end, or that it waits for the operator.
   * @throws LostTask
   */
  async end(end: TaskEnd): Promise<void> {
    const { agent_id, task_id, session_id } = this.#row
    const { status, duration_ms } = end
    const last = this.#last
    const used = usageOf(last?.spend)
    const { effects, written } = await this.#unwrittenText()
    const data = { agent_id, task_id, session_id, status, ...(isCancelled(end) ? { cancelled: true } : {}) }
    const isOurs = await this.#svc
      .use(Store)
      .apply([
        endTask({ ...this.#hold, ...used, steps: last ? 1 : 0, ...end }),
        ...(last ? [recordWords({ task_id, rows: last.rows }), last.booked] : []),
        ...effects,
        sessionUsed({ session_id, ...used, duration_ms }),
        appendEvent({ type: 'task_ended', agent_id, run_id: this.#run_id, data }),
        ...(this.#run ? [this.#run.runs.endEffect(this.#run.run_id, status)] : []),
      ])
    if (!isOurs) throw new LostTask()
    this.#last = undefined
    written()
  }

  /** Ends the run's log after the end is stored. */
  async runEnded(): Promise<void> {
    const run = this.#run
    if (run) await recordInput('run_end', async () => run.runs.recordEnd(run.run_id))
  }

  /** Marks the run as interrupted. The log is secondary to the task, so its errors do not fail the task. */
  async interruptRun(): Promise<void> {
    const run = this.#run
    if (!run) return
    const ended = recordInput('run_end', () => run.runs.end(run.run_id, 'interrupted'))
    const { agent_id, task_id, request_id } = this.#row
    await ended.catch(error =>
      this.#svc.log.warn({ agent_id, task_id, request_id }, `cannot end the run of the task: ${errorMessage(error)}`),
    )
  }

  get #run() {
    if (!this.#run_id || !this.#svc.has(Runs)) return undefined
    return { run_id: this.#run_id, runs: this.#svc.use(Runs) }
  }

  /** Returns the write of streamed text, and a callback for after its commit. */
  textEffects(piece: Piece | null): { effects: Effect[]; written: () => void } {
    if (!piece) return { effects: [], written: () => {} }
    return { effects: [recordText({ ...this.#hold, ...piece })], written: () => this.#text.markWritten(piece.until) }
  }

  /** Returns the write of text that the reaper has not stored yet. Its length depends on timing, so it is recorded. */
  async #unwrittenText() {
    return this.textEffects(this.#row.text === 'shown' ? await recordInput('unwritten', () => this.#text.piece) : null)
  }

  /**
   * Writes if this process still holds the task.
   * @throws LostTask
   */
  async #save(effects: readonly Effect[]): Promise<void> {
    if (!(await this.#trySave(effects))) throw new Error('a write that a tool requested was refused')
  }

  /**
   * Writes if this process still holds the task.
   * @returns false if another of the writes was refused
   * @throws LostTask
   */
  async #trySave(effects: readonly Effect[]): Promise<boolean> {
    const store = this.#svc.use(Store)
    const hold = holdTask(this.#hold)
    if (await store.apply([hold, ...effects])) return true
    if (!(await store.apply([hold]))) throw new LostTask()
    return false
  }
}

function usageOf(spend: Spend | undefined) {
  const { cost_micros = 0, input_tokens = 0, output_tokens = 0 } = spend ?? {}
  return { cost_micros, input_tokens, output_tokens }
}

function hashOf({ name, arguments: args }: { name: string; arguments: unknown }): string {
  return createHash('sha256')
    .update(`${name} ${canonicalJson(args)}`)
    .digest('hex')
    .slice(0, 32)
}
