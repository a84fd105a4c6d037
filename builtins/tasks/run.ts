import { createHash } from 'node:crypto'
import {
  act,
  CycleEnd,
  type Effect,
  InternalError,
  type PluginHandle,
  StoppingError,
  SvcError,
  sentenceOf,
  TapeToken,
  taken,
  type z,
} from '#kernel'
import { type AgentRow, Agents } from '../agents/contract.ts'
import { Approvals } from '../approvals/contract.ts'
import { bookSpend } from '../budget/contract.ts'
import { toolResult } from '../goals/contract.ts'
import { Guardrails, WITHHELD } from '../guardrails/contract.ts'
import type { Message, Spend } from '../models/contract.ts'
import { Recordings } from '../recordings/contract.ts'
import { problemOf } from '../rest/contract.ts'
import { type RunBeginning, Runs } from '../runs/contract.ts'
import { canonicalJson, type RunEnd, type RunEvent, Runtime } from '../runtime/contract.ts'
import { sessionUsed } from '../sessions/contract.ts'
import { appendEvent, Store, usdOf } from '../store/contract.ts'
import { AnswerForm } from './answer-form.ts'
import { type Lives, livesBy, runBegun, runOf, taskStarted } from './beginning.ts'
import { TaskCostLimitError, TaskInterruptedError } from './contract.ts'
import {
  chargeTask,
  endTask,
  holdTask,
  type Intent,
  recordAnswer,
  recordOutcome,
  recordText,
  recordWords,
  releaseTask,
} from './effects.ts'
import { type Ending, endingOf } from './ending.ts'
import { loadMessages, type TaskRow } from './repository.ts'
import { makeWorkspace, type Prepared, prepareRun } from './request.ts'
import { LiveText, type Piece } from './text.ts'
import { type MessageRow, Transcript } from './transcript.ts'

/** Another process has taken the task over, or it was removed with its agent. */
class LostTask extends Error {}
const LOST = 'the task is not ours any more'

export interface TaskSettings {
  readonly toolkits: readonly string[]
  readonly parse_repairs: number
}

/** What only the process knows in which a task began. */
export interface FirstTime {
  /** Whose it is, and as whom that works on it, as far as that is known. */
  agent?: AgentRow | undefined
  lives?: Lives | undefined
  /** It was written down as begun, with this run. */
  begun?: { run_id: string | null } | undefined
  /** It is the first of its session. */
  isAlone?: boolean | undefined
  /** Why it must not even begin. */
  blocked?: SvcError | undefined
  /** What checks the answer in place of its JSON Schema. */
  check?: z.ZodType | undefined
  /** W3C trace context of whoever asked. */
  traceparent?: string | undefined
}

/** What the model answered, on its way to be written down. */
interface Answer {
  rows: MessageRow[]
  booked: Effect
  spend: Spend
}

/** One stretch of work on a task in this process: until it ends, or waits for the operator. What happens is written down before it goes on. */
export class TaskRun {
  readonly row: TaskRow
  readonly text: LiveText
  /** Resolves when it is over, in whatever way; what came of it stands in the task's row, or in `text.over`. */
  readonly ended: Promise<void>
  /** It has come to a stop for as long as the operator takes. */
  waits = false
  readonly #svc: PluginHandle
  readonly #abort = new CycleEnd()
  readonly #settings: TaskSettings
  readonly #first: FirstTime
  readonly #hold: { task_id: string; owner: string; epoch: number }
  #transcript = new Transcript([])
  /** Of a structured run. */
  #form: AnswerForm | undefined
  #max_cost_usd = 0
  #run_id: string | null = null
  /** When the calls of the last answer began, on the monotonic clock. */
  #asked = 0
  #cost_micros: number
  /** What the model said last, checked. */
  #output = ''
  /** What was told of the answer that is on its way. */
  #said = ''
  /** A last answer, as long as nothing came after it: it is written with the end that it makes. */
  #last: Answer | undefined

  /** @param place the place after what was told before */
  constructor(svc: PluginHandle, settings: TaskSettings, row: TaskRow, place: number, first: FirstTime = {}) {
    this.#svc = svc
    this.#settings = settings
    this.#first = first
    this.row = row
    this.text = new LiveText(place)
    this.#hold = { task_id: row.task_id, owner: row.owner, epoch: row.epoch }
    this.#cost_micros = row.cost_micros
    this.ended = this.#recorded()
  }

  /** Ends it as failed for this reason; for a stop, a detached one is left for another process to go on with. */
  abort(reason: SvcError): void {
    this.#abort.abort(reason)
  }

  /** The write of a text that was told, and what to call once it is. */
  unwritten(piece: Piece | null): { effects: Effect[]; written: () => void } {
    if (!piece) return { effects: [], written: () => {} }
    return { effects: [recordText({ ...this.#hold, ...piece })], written: () => this.text.wrote(piece.until) }
  }

  /** The write of what the keeper has not written yet. How much that is depends on when it came, so it is recorded. */
  async #untold() {
    return this.unwritten(this.row.text === 'shown' ? await taken('told', () => this.text.piece) : null)
  }

  /** Works, and has it recorded where that is wanted. */
  async #recorded(): Promise<void> {
    const begins = this.#svc.has(Recordings) ? this.#svc.use(Recordings).follow() : undefined
    if (begins) await begins
    const { agent_id: id, task_id, owner, epoch } = this.row
    const right = { ...{ id, kind: 'task' as const, task_id, owner, epoch }, cycle_num: 0 }
    const tape = this.#svc.has(TapeToken) ? this.#svc.use(TapeToken) : undefined
    const who = tape?.begin(right, this.#abort)
    await (who ? act(who, () => this.#work()) : this.#work())
  }

  async #work(): Promise<void> {
    const began = this.#svc.clock.monotonic()
    this.#asked = began
    try {
      const ending = await this.#drive().catch(error => this.#failed(error))
      if (ending) await this.#end(ending, this.#svc.clock.monotonic() - began)
      else await this.#interruptRun()
      this.text.end(ending ? undefined : new StoppingError())
    } catch (error) {
      if (!(error instanceof LostTask))
        this.#svc.log.error(this.#fields, `its end was not written: ${sentenceOf(error)}`)
      // Whoever goes on with it, if anybody does, begins a run of their own.
      await this.#interruptRun()
      this.text.end(error instanceof LostTask ? undefined : error)
    }
  }

  get #fields() {
    const { agent_id, task_id, request_id } = this.row
    return { agent_id, task_id, request_id }
  }

  async #drive(): Promise<Ending> {
    const { traceparent, begun, agent, isAlone } = await taken('task', () => this.#asWasAsked())
    this.#run_id = begun?.run_id ?? null
    if (this.#run_id) await this.#runBegun(this.#run_id)
    const { task_id } = this.row
    // One that was just begun has said nothing.
    const isNew = this.row.epoch === 1 && this.row.steps_taken === 0
    this.#transcript = new Transcript(isNew ? [] : await loadMessages(this.#svc.use(Store), task_id))
    const said = this.#transcript.messages
    this.#form = this.#formAfter(said)
    const question = await this.#reviewed(said.at(-1))
    if (this.#form?.value) return { status: 'completed' }
    if (this.#form?.error && !question) return { status: 'failed', error: this.#form.error }
    const lives = await taken('lives by', async () => this.#first.lives ?? livesBy(this.#svc, agent))
    const work = { row: this.row, agent, lives, isAlone, said, form: this.#form }
    const prepared = await prepareRun(this.#svc, this.#settings.toolkits, work)
    this.#max_cost_usd = prepared.profile.max_cost_usd
    const started = () => (this.row.epoch === 1 ? [taskStarted(this.row, this.#run_id, traceparent)] : [])
    if (!begun && this.#svc.has(Runs)) await this.#beginRun(runOf(this.row, prepared.model), started)
    else if (!begun && this.row.epoch === 1) await this.#save(started())
    const end = await this.#loop(prepared, question)
    const ending = endingOf(end, prepared.profile.max_tokens, this.#output !== '')
    const unfit = ending.error || ending.status === 'waiting_approval' ? undefined : this.#form?.error
    return unfit ? { status: 'failed', error: unfit } : ending
  }

  /** What cannot be read from the task's row. */
  async #asWasAsked() {
    const { blocked, traceparent, begun, isAlone = false } = this.#first
    if (blocked) throw blocked
    const agent = this.#first.agent ?? (await this.#svc.use(Agents).find(this.row.agent_id))
    return { traceparent, begun, agent, isAlone }
  }

  /** @param more what is written in the same commit, once it is known which run it is */
  async #beginRun(about: RunBeginning, more: () => Effect[]): Promise<void> {
    const runs = this.#svc.use(Runs)
    for (;;) {
      const { run_id, effects } = await taken('run begins', () => runs.begins('task', about))
      this.#run_id = run_id
      // Refused: a run of another process has this id.
      if (await this.#saved([...effects, ...more()])) break
    }
    await this.#runBegun(this.#run_id)
  }

  /** By this a recording knows whose run it is. */
  async #runBegun(run_id: string): Promise<void> {
    await taken('run', async () => {
      runBegun(this.#svc, run_id)
      return run_id
    })
  }

  /** What its answer is to fit. @param said what was said before, by another process or before an approval */
  #formAfter(said: readonly Message[]): AnswerForm | undefined {
    const { response_schema } = this.row
    if (response_schema === null) return undefined
    const looked = said.slice(0, -1).filter(isAnswer).length
    return new AnswerForm(JSON.parse(response_schema), this.#settings.parse_repairs, this.#first.check, looked)
  }

  /** An answer that was written down before anybody had looked at it. @returns what the model is to be told of it */
  async #reviewed(last: Message | undefined): Promise<string | undefined> {
    if (!this.#form || !last || !isAnswer(last)) return undefined
    this.#output = last.content
    return this.#review()
  }

  /** What is wrong with the answer as people may read it. One that was withheld would be so again. */
  #review(): Promise<string | undefined> {
    return this.#form!.review(this.#output, this.#output !== WITHHELD)
  }

  /** @param question what the model is told first */
  async #loop(prepared: Prepared, question: string | undefined): Promise<RunEnd> {
    const asked: Message[] = question ? [{ role: 'user', content: question }] : []
    const news = async () => {
      // It was not the last one.
      await this.#writeAnswer()
      return [...asked.splice(0), ...(await prepared.request.news())]
    }
    const events = this.#svc.use(Runtime).run({
      ...prepared.request,
      // Asked anew at each step: a toolkit may come or go meanwhile.
      get tools() {
        return prepared.tools()
      },
      signal: this.#abort.signal,
      news,
      ...(this.#form ? { review: () => this.#review() } : {}),
      ...(this.row.text === 'shown' ? { onText: (text: string) => this.#show(text) } : {}),
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

  #gate() {
    if (!this.#svc.has(Approvals)) return {}
    const { agent_id, task_id, session_id } = this.row
    const gate = (call: { call_id: string; arguments: unknown }, tool: Parameters<Approvals['gate']>[0]['tool']) =>
      this.#svc.use(Approvals).gate({
        ...{ call_id: call.call_id, agent_id, goal_id: null, session_id, task_id, tool },
        arguments: call.arguments,
      })
    return { gate }
  }

  #show(text: string): void {
    // Answers of several steps are told one below the other.
    const apart = this.#said === '' && this.text.until > 0 ? '\n\n' : ''
    this.#said += text
    this.text.say(apart + text)
  }

  async #write(event: RunEvent, { tools, request }: Prepared): Promise<void> {
    const { agent_id, task_id } = this.row
    if (event.type === 'outcome') {
      const { call, message, effects } = event
      const row = this.#transcript.outcome(call, message)
      const duration = this.#svc.clock.monotonic() - this.#asked
      const told = toolResult({ agent_id, goal_id: null, run_id: this.#run_id }, call, message, duration)
      await this.#save([recordOutcome({ task_id, call_id: call.call_id, row }), told, ...effects])
      return
    }
    const { heard, calls, spend } = event
    if (calls.length > 0) await makeWorkspace(this.#svc, request.workspace)
    const message = { ...event.message, content: await this.#checked(event.message.content) }
    this.#output = message.content.trim() === '' ? this.#output : message.content
    const approvals = this.#svc.has(Approvals) ? this.#svc.use(Approvals) : undefined
    const intents = calls.map(call => {
      const tool = tools().find(call.name)
      const state = tool && approvals?.needed(tool) ? ('planned' as const) : ('started' as const)
      return { ...call, args_hash: hashOf(call), state }
    })
    const rows = this.#transcript.answer(heard, message)
    const booked = bookSpend({
      ...spend,
      agent_id,
      goal_id: null,
      run_id: this.#run_id,
      kind: 'task',
      step: event.step,
    })
    this.#last = { rows, booked, spend }
    if (calls.length > 0) await this.#writeAnswer(intents)
    this.#asked = this.#svc.clock.monotonic()
    this.#said = ''
    if (calls.length > 0) this.#form?.forget()
    this.#cost_micros += spend.cost_micros
    const spent_usd = usdOf(this.#cost_micros)
    if (calls.length > 0 && this.#max_cost_usd > 0 && spent_usd >= this.#max_cost_usd) {
      throw new TaskCostLimitError({ spent_usd, limit_usd: this.#max_cost_usd })
    }
  }

  /** An answer after which the work goes on. */
  async #writeAnswer(intents: Intent[] = []): Promise<void> {
    const last = this.#last
    if (!last) return
    this.#last = undefined
    const { rows, booked, spend } = last
    const { agent_id, task_id, session_id, epoch } = this.row
    const used = usedOf(spend)
    const recorded = recordAnswer({ task_id, agent_id, epoch, run_id: this.#run_id, rows, intents, ...used })
    const { effects, written } = await this.#untold()
    await this.#save([recorded, booked, sessionUsed({ session_id, ...used, duration_ms: 0 }), ...effects])
    written()
  }

  /** What people may read of a text of the model. */
  async #checked(text: string): Promise<string> {
    const guardrails = this.#svc.has(Guardrails) ? this.#svc.use(Guardrails) : undefined
    if (!guardrails?.enabled || text.trim() === '') return text
    const checked = await guardrails.check('output', text, { agent_id: this.row.agent_id })
    return checked.action === 'block' ? WITHHELD : checked.text
  }

  /** What becomes of a task whose work was broken off; undefined leaves it to another process. @throws LostTask */
  async #failed(thrown: unknown): Promise<Ending | undefined> {
    if (thrown instanceof LostTask) throw thrown
    await this.#writeAnswer()
    const { aborted, reason } = this.#abort.signal
    const { spend, text } = thrown as { spend?: Spend | null; text?: string }
    // What it cost has been booked; here it only counts for the task and its session.
    if (spend) {
      const { task_id, session_id } = this.row
      const used = usedOf(spend)
      await this.#save([chargeTask({ task_id, ...used }), sessionUsed({ session_id, ...used, duration_ms: 0 })])
    }
    if (aborted && reason instanceof StoppingError && this.row.detached) {
      const { effects } = await this.#untold()
      await this.#svc.use(Store).apply([...effects, releaseTask(this.#hold)])
      return undefined
    }
    const error: unknown = aborted ? (reason instanceof StoppingError ? new TaskInterruptedError() : reason) : thrown
    // What was streamed is not said again when this is repeated.
    const said = await taken('said', async () => this.#said)
    if (text?.trim() || said.trim()) this.#output = text?.trim() ? text : said
    if (error instanceof SvcError) return { status: 'failed', error }
    this.#svc.log.error(this.#fields, error instanceof Error ? (error.stack ?? error.message) : String(error))
    return { status: 'failed', error: new InternalError() }
  }

  async #end({ status, error, approval_ids = [] }: Ending, duration: number): Promise<void> {
    const { task_id, session_id, request_id } = this.row
    const duration_ms = Math.round(duration)
    const problem = error ? problemOf(error, request_id) : null
    const parsed = status === 'completed' ? (this.#form?.value ?? null) : null
    const result = { status, output: this.#output, parsed, error: problem }
    const last = this.#last
    this.#last = undefined
    const used = usedOf(last?.spend)
    const { effects, written } = await this.#untold()
    const run = this.#run
    const steps = last ? 1 : 0
    const isOurs = await this.#svc
      .use(Store)
      .apply([
        endTask({ ...this.#hold, ...used, steps, ...result, approval_ids: [...approval_ids], duration_ms }),
        ...(last ? [recordWords({ task_id, rows: last.rows }), last.booked] : []),
        ...effects,
        sessionUsed({ session_id, ...used, duration_ms }),
        this.#event('task_ended', { status }),
        ...(run ? [run.runs.ends(run.run_id, status)] : []),
      ])
    if (!isOurs) throw new LostTask(LOST)
    written()
    this.waits = status === 'waiting_approval'
    if (run) await taken('run_end', async () => run.runs.ended(run.run_id))
  }

  get #run() {
    if (!this.#run_id || !this.#svc.has(Runs)) return undefined
    return { run_id: this.#run_id, runs: this.#svc.use(Runs) }
  }

  /** The log of the run is a record beside the task: what goes wrong with it is not the task's failure. */
  async #interruptRun(): Promise<void> {
    const run = this.#run
    if (!run) return
    const ended = taken('run_end', () => run.runs.end(run.run_id, 'interrupted'))
    await ended.catch(error => this.#svc.log.warn(this.#fields, `its run was not ended: ${sentenceOf(error)}`))
  }

  #event(type: string, more: Record<string, unknown>): Effect {
    const { agent_id, task_id, session_id } = this.row
    return appendEvent({ type, agent_id, run_id: this.#run_id, data: { agent_id, task_id, session_id, ...more } })
  }

  /** Writes, as long as the task is ours. @throws LostTask */
  async #save(effects: readonly Effect[]): Promise<void> {
    if (!(await this.#saved(effects))) throw new Error('what a tool asked to be written was refused')
  }

  /** The same. @returns false when something else of it was refused */
  async #saved(effects: readonly Effect[]): Promise<boolean> {
    const store = this.#svc.use(Store)
    const hold = holdTask(this.#hold)
    if (await store.apply([hold, ...effects])) return true
    if (!(await store.apply([hold]))) throw new LostTask(LOST)
    return false
  }
}

/** Whether it would have ended the task: a text without tool calls. */
function isAnswer({ role, content, tool_calls = [] }: Message): boolean {
  return role === 'assistant' && tool_calls.length === 0 && content.trim() !== ''
}

function usedOf(spend: Spend | undefined) {
  const { cost_micros = 0, input_tokens = 0, output_tokens = 0 } = spend ?? {}
  return { cost_micros, input_tokens, output_tokens }
}

function hashOf({ name, arguments: args }: { name: string; arguments: unknown }): string {
  return createHash('sha256')
    .update(`${name} ${canonicalJson(args)}`)
    .digest('hex')
    .slice(0, 32)
}
