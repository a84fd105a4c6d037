import { type AgentRow, Agents } from '#core/agents/contract'
import { resultOf, shortArguments } from '#core/goals/contract'
import type { Message, ModelCall, Spend } from '#core/models/contract'
import { type RunEnd, type RunEvent, type RunRequest, Runtime, Schemas } from '#core/runtime/contract'
import { problemOf } from '#interfaces/rest/contract'
import { errorMessage, type PluginHandle, SvcError, type z } from '#kernel'
import { isTransient, unexpectedError } from '#lib/errors'
import { ActiveRecording, CycleEnd, recordInput, runInContext } from '#lib/recording-context'
import { Recordings } from '#observability/recordings/contract'
import { StoppingError } from '#platform/heartbeat/contract'
import { usdOf } from '#platform/store/contract'
import { Approvals } from '#safety/approvals/contract'
import { Guardrails, WITHHELD } from '#safety/guardrails/contract'
import { ASK_OPERATOR, Questions } from '#safety/questions/contract'
import type { TasksConfig } from '../config.ts'
import { isWaiting, TaskCostLimitError, TaskInterruptedError } from '../contract.ts'
import type { TaskRow } from '../repository.ts'
import { AnswerForm } from './answer-form.ts'
import { isAloneInSession, runOf, type WorkingProfile, workingProfileOf } from './beginning.ts'
import { type Ending, endingOf } from './ending.ts'
import { LostTask, TaskJournal } from './journal.ts'
import { makeWorkspace, type PreparedRequest, prepareRun } from './request.ts'
import { LiveText, type Piece } from './text.ts'

/** Data known only in the process that started the task. */
export interface FirstTime {
  /** The task's agent and its working profile, if already loaded. */
  agent?: AgentRow | undefined
  working?: WorkingProfile | undefined
  /** Set if the start is already stored, with this run. */
  begun?: { run_id: string | null } | undefined
  /** Whether its session was made for it alone, so that it is no part of a conversation. */
  isAlone?: boolean | undefined
  /** Error for which the task must not start. */
  blocked?: SvcError | undefined
  /** Zod schema that checks the answer instead of its JSON Schema. */
  check?: z.ZodType | undefined
  /** W3C trace context of the caller. */
  traceparent?: string | undefined
  /** Reports each step with tool calls to the caller. */
  progress?: ((message: string) => void) | undefined
}

/** Time between tries to store the end of a task, in milliseconds. */
const RETRY_MS = 500

/**
 * A period of work on a task in this process, until the task ends or waits for the operator. Each event is stored
 * before the work continues.
 */
export class TaskRun {
  readonly row: TaskRow
  readonly text: LiveText
  readonly journal: TaskJournal
  /** Resolves when the run is over, in any case. The result is in the task's row, or thrown by `text.isComplete`. */
  readonly ended: Promise<void>
  /** Whether the task stopped to wait for people. */
  waits = false
  /** Whether the end was stored after a first try had failed. */
  isSettled = false
  readonly #svc: PluginHandle
  readonly #abort = new CycleEnd()
  readonly #settings: TasksConfig
  readonly #first: FirstTime
  /** Parser of a structured task's answer. */
  #form: AnswerForm | undefined
  #max_cost_usd = 0
  /** When the calls of the last answer began, on the monotonic clock. */
  #askedAt = 0
  #cost_micros: number
  /** The model's last text, after guardrails. */
  #output = ''
  /** Questions that the task waits for. */
  readonly #questions = new Set<string>()
  /** Streamed text of the current answer. */
  #streamedText = ''

  /** @param before text shown earlier */
  constructor(svc: PluginHandle, settings: TasksConfig, row: TaskRow, before: Piece, first: FirstTime = {}) {
    this.#svc = svc
    this.#settings = settings
    this.#first = first
    this.row = row
    this.text = new LiveText(before)
    this.journal = new TaskJournal(svc, row, this.text)
    this.#cost_micros = row.cost_micros
    this.ended = this.#runRecorded()
  }

  /**
   * Fails the task with this reason. When the process stops, a detached task is released for another process instead.
   */
  abort(reason: SvcError): void {
    this.#abort.abort(reason)
  }

  /** Runs the task, in a recording context if recordings are on. */
  async #runRecorded(): Promise<void> {
    const begins = this.#svc.has(Recordings) ? this.#svc.use(Recordings).follow() : undefined
    if (begins) await begins
    const { agent_id: id, task_id, owner, epoch } = this.row
    const identity = { id, kind: 'task' as const, task_id, owner, epoch, cycle_num: 0 }
    const backend = this.#svc.has(ActiveRecording) ? this.#svc.use(ActiveRecording) : undefined
    const who = backend?.begin(identity, this.#abort)
    await (who ? runInContext(who, () => this.#work()) : this.#work())
  }

  async #work(): Promise<void> {
    const began = this.#svc.clock.monotonic()
    this.#askedAt = began
    try {
      const ending = await this.#drive().catch(error => this.#endByError(error))
      if (ending) await this.#end(ending, this.#svc.clock.monotonic() - began)
      else await this.journal.interruptRun()
      this.text.end(ending ? undefined : new StoppingError())
    } catch (error) {
      if (!(error instanceof LostTask))
        this.#svc.log.error(this.#fields, `cannot store the end of the task: ${errorMessage(error)}`)
      this.text.end(error instanceof LostTask ? undefined : error)
      if (isTransient(error) && !this.row.detached) await this.#endLater(error, began)
      // A process that continues the task starts another run.
      if (!this.isSettled) await this.journal.interruptRun()
    }
  }

  /** Stores that the task failed once the database can be written again. Its client has the error already. */
  async #endLater(error: SvcError, began: number): Promise<void> {
    const { clock } = this.#svc
    while (!(this.#abort.signal.reason instanceof StoppingError)) {
      await clock.sleep(RETRY_MS)
      try {
        await this.#end({ status: 'failed', error }, clock.monotonic() - began)
        this.isSettled = true
        return
      } catch (again) {
        if (!isTransient(again)) return
      }
    }
  }

  get #fields() {
    const { agent_id, task_id, request_id } = this.row
    return { agent_id, task_id, request_id }
  }

  async #drive(): Promise<Ending> {
    const { traceparent, begun, agent, isAlone } = await recordInput('task', () => this.#originalRequest())
    if (begun) await this.journal.resume(begun)
    const messages = await this.journal.read()
    this.#output = messages.findLast(isText)?.content ?? ''
    this.#form = this.#formAfter(messages)
    const question = await this.#reviewAnswer(messages.at(-1))
    if (this.#form?.value) return { status: 'completed' }
    if (this.#form?.error && !question) return { status: 'failed', error: this.#form.error }
    const working = await recordInput('lives by', async () => this.#first.working ?? workingProfileOf(this.#svc, agent))
    const work = { row: this.row, agent, working, isAlone, messages, form: this.#form }
    const prepared = await prepareRun(this.#svc, this.#settings.toolkits, work)
    this.#max_cost_usd = prepared.profile.max_cost_usd
    if (!begun) await this.journal.begin(runOf(this.row, prepared.model), traceparent)
    const end = await this.#loop(prepared, question)
    const ending = endingOf(end, this.#output !== '', this.#questions)
    const unfit = ending.error || isWaiting(ending.status) ? undefined : this.#form?.error
    return unfit ? { status: 'failed', error: unfit } : ending
  }

  /** Returns data that is not in the task's row. */
  async #originalRequest() {
    const { blocked, traceparent, begun } = this.#first
    if (blocked) throw blocked
    const agent = this.#first.agent ?? (await this.#svc.use(Agents).find(this.row.agent_id))
    const isAlone = this.#first.isAlone ?? (await isAloneInSession(this.#svc, this.row))
    return { traceparent, begun, agent, isAlone }
  }

  /**
   * Returns the parser for the task's structured answer, if it needs one.
   * @param messages earlier messages, written by another process or before an approval
   */
  #formAfter(messages: readonly Message[]): AnswerForm | undefined {
    const { response_schema } = this.row
    if (response_schema === null) return undefined
    const tries = messages.slice(0, -1).filter(isAnswer).length
    return new AnswerForm(
      this.#svc.use(Schemas),
      JSON.parse(response_schema),
      this.#settings.parse_repairs,
      this.#first.check,
      tries,
    )
  }

  /** Reviews an answer that was stored before its review. @returns the correction for the model */
  async #reviewAnswer(last: Message | undefined): Promise<string | undefined> {
    if (!this.#form || !last || !isAnswer(last)) return undefined
    this.#output = last.content
    return this.#review()
  }

  /**
   * Reviews the answer after guardrails. An answer that they withheld is not requested again, because it would be
   * withheld again.
   */
  #review(): Promise<string | undefined> {
    return this.#form!.review(this.#output, this.#output !== WITHHELD)
  }

  /**
   * Runs the loop.
   * @param question message that the model reads first
   */
  async #loop(prepared: PreparedRequest, question: string | undefined): Promise<RunEnd> {
    const corrections: Message[] = question ? [{ role: 'user', content: question, is_notice: true }] : []
    const newMessages = async () => {
      // The answer was not the last one, so it is stored now.
      await this.journal.recordProgress()
      return [...corrections.splice(0), ...(await prepared.request.newMessages())]
    }
    const events = this.#svc.use(Runtime).run({
      ...prepared.request,
      // Evaluated at each step, because toolkits may be added or removed meanwhile.
      get tools() {
        return prepared.tools()
      },
      signal: this.#abort.signal,
      newMessages,
      summarize: call => this.#summarize(call, prepared),
      ...(this.#form ? { review: () => this.#review() } : {}),
      ...(this.row.text === 'shown' && !this.#isGuarded ? this.#shows() : {}),
      ...this.#gate(),
    })
    try {
      for (;;) {
        const { value, done } = await events.next()
        if (done) return value
        await this.#write(value, prepared)
      }
    } finally {
      await events.return?.(undefined as never)
    }
  }

  /** Summarizes a conversation that is due for it or no longer fits into the model's context window. */
  async #summarize(call: ModelCall, prepared: PreparedRequest): Promise<Message | undefined> {
    // Tried once for each task: another task of the session may be writing it.
    const { keeps } = prepared
    delete prepared.keeps
    const summary = await this.#svc.use(Runtime).summarize(call, {
      conversation: this.row.session_id,
      keeps,
      save: async (spend, message) => {
        this.#cost_micros += spend.cost_micros
        await this.journal.saveSummary(spend, message ?? null)
      },
    })
    return summary?.message
  }

  #gate(): Pick<RunRequest, 'gate' | 'defer'> {
    if (!this.#svc.has(Approvals) && !this.#svc.has(Questions)) return {}
    const { agent_id, task_id, session_id } = this.row
    const gate: RunRequest['gate'] = async ({ call_id, name, arguments: args, isHeld, step }, tool, check) => {
      const asking = { call_id, agent_id, goal_id: null, task_id, arguments: args, isHeld }
      if (name === ASK_OPERATOR && this.#svc.has(Questions)) {
        const verdict = await this.#svc.use(Questions).gate(asking)
        if (verdict.verdict === 'park') this.#questions.add(verdict.approval_id)
        return verdict
      }
      if (this.#svc.has(Approvals)) {
        const verdict = await this.#svc.use(Approvals).gate({ ...asking, session_id, tool, check })
        if (verdict.verdict !== 'park') return verdict
        const { approval_id } = verdict
        this.text.addCall('approval_requested', { approval_id, tool_name: name, arguments: shortArguments(args) })
        return verdict
      }
      if (isHeld) return { verdict: 'hold' }
      // Calls of an earlier answer, which are resumed, have step 0.
      if (step === 0) await this.journal.beginDeferred(call_id)
      return { verdict: 'run', arguments: args }
    }
    return { gate, defer: calls => this.journal.defer(calls) }
  }

  /** Returns callbacks that show one answer at a time; each replaces the previous one. */
  #shows() {
    const onReset = () => {
      this.#streamedText = ''
      this.text.reset()
    }
    const onText = (text: string) => {
      if (this.#streamedText === '') this.text.reset()
      this.#streamedText += text
      this.text.say(text)
    }
    return { onText, onReset }
  }

  /**
   * Shows the output at the task's end. It may differ from the streamed text, for example if guardrails were turned on
   * meanwhile.
   */
  #showOutput(): void {
    if (this.row.text !== 'shown' || this.text.shown === this.#output) return
    this.text.reset()
    if (this.#output !== '') this.text.say(this.#output)
  }

  async #write(event: RunEvent, { tools, request }: PreparedRequest): Promise<void> {
    if (event.type === 'outcome') {
      await this.journal.outcome(event, this.#svc.clock.monotonic() - this.#askedAt)
      this.text.addCall('tool_result', resultOf(event.call, event.message, event.ran))
      return
    }
    const { calls, spend } = event
    if (calls.length > 0) await makeWorkspace(this.#svc, request.scratch ?? request.workspace)
    const message = { ...event.message, content: await this.#checkOutput(event.message.content) }
    this.#output = message.content.trim() === '' ? this.#output : message.content
    this.journal.recordStep({ ...event, message })
    if (calls.length > 0) {
      const approvals = this.#svc.has(Approvals) ? this.#svc.use(Approvals) : undefined
      const planned = calls.map(call => {
        const tool = tools().find(call.name)
        const isGated = call.name === ASK_OPERATOR || (tool && approvals?.needsApproval(tool))
        return { ...call, state: isGated ? ('planned' as const) : ('started' as const) }
      })
      await this.journal.recordProgress(planned)
      const names = calls.map(call => call.name).join(', ')
      this.#first.progress?.(`Step ${event.step} of at most ${request.max_steps}: ${names}`)
    }
    this.#askedAt = this.#svc.clock.monotonic()
    this.#streamedText = ''
    if (calls.length > 0) this.#form?.forget()
    this.#cost_micros += spend.cost_micros
    const spent_usd = usdOf(this.#cost_micros)
    if (calls.length > 0 && this.#max_cost_usd > 0 && spent_usd >= this.#max_cost_usd) {
      throw new TaskCostLimitError({ spent_usd, limit_usd: this.#max_cost_usd })
    }
  }

  get #isGuarded(): boolean {
    return this.#svc.has(Guardrails) && this.#svc.use(Guardrails).enabled
  }

  /** Returns a text of the model after guardrails. */
  async #checkOutput(text: string): Promise<string> {
    if (!this.#isGuarded || text.trim() === '') return text
    const checked = await this.#svc.use(Guardrails).check('output', text, { agent_id: this.row.agent_id })
    return checked.action === 'block' ? WITHHELD : checked.text
  }

  /**
   * Returns how a task ends after an error; undefined releases it for another process.
   * @throws LostTask
   */
  async #endByError(thrown: unknown): Promise<Ending | undefined> {
    if (thrown instanceof LostTask) throw thrown
    await this.journal.recordProgress()
    const { aborted, reason } = this.#abort.signal
    const { spend, text } = thrown as { spend?: Spend | null; text?: string }
    if (spend) await this.journal.bookSpend(spend)
    if (aborted && reason instanceof StoppingError && this.row.detached) {
      await this.journal.release()
      return undefined
    }
    const error: unknown = aborted ? (reason instanceof StoppingError ? new TaskInterruptedError() : reason) : thrown
    // A replay does not stream again, so the streamed text is recorded.
    const streamedText = await recordInput('said', async () => this.#streamedText)
    if (text?.trim() || streamedText.trim()) this.#output = text?.trim() ? text : streamedText
    if (error instanceof SvcError) return { status: 'failed', error }
    this.#svc.log.error(this.#fields, error instanceof Error ? (error.stack ?? error.message) : String(error))
    return { status: 'failed', error: unexpectedError(error) }
  }

  async #end({ status, error, approval_ids = [], question_ids = [] }: Ending, duration: number): Promise<void> {
    this.#showOutput()
    await this.journal.end({
      status,
      output: this.#output,
      parsed: status === 'completed' ? (this.#form?.value ?? null) : null,
      error: error ? problemOf(error, this.row.request_id) : null,
      approval_ids: [...approval_ids],
      question_ids: [...question_ids],
      duration_ms: Math.round(duration),
    })
    this.waits = isWaiting(status)
    await this.journal.runEnded()
  }
}

function isText({ role, content }: Message): boolean {
  return role === 'assistant' && content.trim() !== ''
}

/** Returns whether a message could end the task: text without tool calls. */
function isAnswer(message: Message): boolean {
  const { tool_calls = [] } = message
  return tool_calls.length === 0 && isText(message)
}
