import { AgentDeadError, AgentNotFoundError, type AgentRow, Agents } from '#core/agents/contract'
import { type ImageRef, keepGiven } from '#core/images/contract'
import { Schemas } from '#core/runtime/contract'
import { Sessions, sessionUsed } from '#core/sessions/contract'
import { IdempotencyKeyReusedError, problemOf, ServerStoppingError } from '#interfaces/rest/contract'
import { errorMessage, type OperationCall, type PluginHandle, type SvcError, token } from '#kernel'
import { StoppingError } from '#platform/heartbeat/contract'
import { appendEvent, Store } from '#platform/store/contract'
import { Guardrails } from '#safety/guardrails/contract'
import { type AdmittedInstruction, admit, hashOf, parametersGiven, type TaskInput } from './admission.ts'
import type { TasksConfig } from './config.ts'
import {
  isWaiting,
  TaskCancelledError,
  TaskGoesOnError,
  TaskInterruptedError,
  TaskNotFoundError,
  TaskOverError,
  TaskStoppedError,
} from './contract.ts'
import { failedTask, insertTask, seizeTask, takeTask } from './effects.ts'
import { TaskReaper } from './reaper.ts'
import {
  findByKey,
  findDecidedTasks,
  findTask,
  lostTasks,
  newRow,
  openTasks,
  shownText,
  type TaskRow,
  type TextMode,
} from './repository.ts'
import { admitSchema, originalOf } from './run/answer-form.ts'
import { startEffects } from './run/beginning.ts'
import { type FirstTime, TaskRun } from './run/run.ts'
import type { LiveText, Piece } from './run/text.ts'

/** Interval of the check whether another process's task has gone on, in milliseconds. */
const POLL_MS = 200
/** Number of crashes after which a task fails. */
const MAX_INTERRUPTIONS = 5
/** Number of lost races after which something else must be wrong. */
const TRIES = 5

/** A task that this request began or found. */
export interface StartedTask {
  task_id: string
  /** The run that ends when this request does. */
  carried: TaskRun | undefined
}

export const OwnTasks = token<TaskService>('tasks/tasks')

/** Begins tasks, keeps those that run in this process, and takes up those that another left. */
export class TaskService {
  readonly #svc: PluginHandle
  readonly #config: TasksConfig
  readonly #runs = new Map<string, TaskRun>()
  readonly #reaper: TaskReaper
  readonly #owner: string
  #stopped = false

  constructor(svc: PluginHandle, config: TasksConfig) {
    this.#svc = svc
    this.#config = config
    this.#owner = svc.ports.ids.make('tasks', 12)
    this.#reaper = new TaskReaper(svc, this.#owner, this.#runs)
  }

  get #store(): Store {
    return this.#svc.use(Store)
  }

  /** The run of a task in this process. */
  findRun(task_id: string): TaskRun | undefined {
    return this.#runs.get(task_id)
  }

  /**
   * Begins a task, or finds the one that was begun with the same Idempotency-Key.
   * @throws AgentNotFoundError, AgentDeadError, BudgetExhaustedError, IdempotencyKeyReusedError, InvalidInputError for a schema by
   * which no answer can be checked, and what sessions throw
   */
  async begin(input: TaskInput, call: OperationCall, streams: boolean): Promise<StartedTask> {
    if (this.#stopped) throw new StoppingError()
    if (input.response_schema) await admitSchema(this.#svc.use(Schemas), input.response_schema)
    // What a request was is asked only by its key.
    const request_hash = call.idempotency_key === undefined ? '' : hashOf(input)
    let asked: AdmittedInstruction | undefined
    let images: ImageRef[] | undefined
    for (let tries = 0; tries < TRIES; tries++) {
      const agent = await this.#svc.use(Agents).find(input.id)
      const { agent_id, died_at } = agent
      const known = await this.#findRepeated(agent_id, call)
      if (known && known.request_hash !== request_hash)
        throw new IdempotencyKeyReusedError({ earlier: `task ${known.task_id}` })
      if (known) {
        call.replayed?.()
        return { task_id: known.task_id, carried: undefined }
      }
      if (died_at !== null) throw new AgentDeadError({ agent_id })
      asked ??= await admit(this.#svc, agent_id, input.instruction)
      const { blocked } = asked
      // Half of a pair of surrogates is no text that can be kept.
      const instruction = asked.instruction.toWellFormed()
      images ??= await keepGiven(this.#svc, input.images ?? [])
      const begun = await this.#insert({ ...input, instruction }, images, agent, request_hash, call, streams, blocked)
      if (!begun) continue
      const { row, first } = begun
      const { response_schema } = input
      const check = response_schema ? originalOf(response_schema) : undefined
      const run = this.#start(row, { until: 0, text: '' }, { ...first, check })
      return { task_id: row.task_id, carried: this.#carry(run, call) }
    }
    throw new AgentNotFoundError({ ref: input.id })
  }

  /**
   * The task as it stands once it does not run any more, in whatever process.
   * @throws TaskNotFoundError when it is removed meanwhile; TaskGoesOnError when the signal comes first
   */
  async waitUntilSettled(task_id: string, signal: AbortSignal | undefined): Promise<TaskRow> {
    for (;;) {
      const run = this.#runs.get(task_id)
      if (run) await overOrAborted(run.text, signal)
      const row = await this.find(task_id)
      if (row.status !== 'running') return row
      if (signal?.aborted)
        throw signal.reason instanceof ServerStoppingError ? signal.reason : new TaskGoesOnError({ task_id })
      await this.waitForOtherProcess(row, signal)
    }
  }

  /** Waits a moment for a task that runs in another process; sees to it when that process is gone. */
  async waitForOtherProcess(row: TaskRow, signal: AbortSignal | undefined): Promise<void> {
    if (this.#stopped) throw new StoppingError()
    if (this.#runs.has(row.task_id)) return
    const { clock } = this.#svc
    if (row.lease_until < clock.ms()) await this.#recover(row)
    // One of ours that is just being begun or ended.
    if (row.owner === this.#owner) await clock.yield()
    else await clock.sleep(POLL_MS, signal)
  }

  /** @throws TaskNotFoundError */
  async find(task_id: string): Promise<TaskRow> {
    const row = await findTask(this.#store, task_id)
    if (!row) throw new TaskNotFoundError({ task_id })
    return row
  }

  /** Settles tasks whose process is gone, before tasks are shown. */
  async settleLost(): Promise<void> {
    for (const row of await lostTasks(this.#store, this.#svc.clock.ms())) await this.#recover(row)
  }

  /**
   * Continues a task that waits for people, or was left by its process. Does nothing when another process does.
   */
  async resume(task_id: string): Promise<void> {
    const seen = await findTask(this.#store, task_id)
    if (!seen || this.#stopped || this.#runs.has(task_id)) return
    const taken = await this.#store.apply([takeTask({ task_id, owner: this.#owner, epoch: seen.epoch })])
    if (taken) this.#start(await this.find(task_id), await shownText(this.#store, task_id))
  }

  /** Works on a task that is held already, as in a replay: no other process keeps it. @throws TaskNotFoundError */
  async drive(task_id: string): Promise<{ ended: Promise<void> }> {
    return new TaskRun(this.#svc, this.#config, await this.find(task_id), await shownText(this.#store, task_id))
  }

  /** Ends a task as stopped, in whatever process it runs: there it can write no more. @throws TaskNotFoundError, TaskOverError */
  async cancel(task_id: string): Promise<void> {
    for (let tries = 0; ; tries++) {
      const row = await this.find(task_id)
      const { agent_id, session_id, epoch, status, request_id } = row
      if (status !== 'running' && !isWaiting(status)) throw new TaskOverError({ task_id, status })
      if (tries === TRIES) throw new TaskOverError({ task_id, status: 'being worked on' })
      const run = this.#runs.get(task_id)
      if (run && !run.text.isComplete) {
        run.abort(new TaskStoppedError())
        await run.ended
        return
      }
      const error = problemOf(new TaskStoppedError(), request_id)
      const output = await this.#outputOf(row)
      const seized = await this.#store.apply([
        seizeTask({ task_id, owner: this.#owner, epoch }),
        failedTask({ task_id, owner: this.#owner, epoch: epoch + 1, output, error }),
        appendEvent({ type: 'task_ended', agent_id, data: { agent_id, task_id, session_id, status: 'failed' } }),
      ])
      if (seized) return
    }
  }

  /** Ends all tasks of a session that are not over. */
  async cancelIn(session_id: string): Promise<void> {
    for (const task_id of await openTasks(this.#store, session_id)) {
      await this.cancel(task_id).catch(error => {
        // It ended by itself meanwhile.
        if (!(error instanceof TaskOverError || error instanceof TaskNotFoundError)) throw error
      })
    }
  }

  /** Takes up what other processes left, and what the operator decided elsewhere. */
  async sweep(): Promise<void> {
    await this.settleLost()
    for (const task_id of await findDecidedTasks(this.#store)) await this.resume(task_id)
  }

  /** Ends the runs of an agent that was deleted. */
  forget(agent_id: string): void {
    for (const run of this.#runs.values()) {
      if (run.row.agent_id === agent_id) run.abort(new AgentNotFoundError({ ref: agent_id }))
    }
  }

  /** Takes tasks again, after a stop. */
  open(): void {
    this.#stopped = false
  }

  /** Ends all runs: detached ones go on in another process. */
  async stop(): Promise<void> {
    this.#stopped = true
    for (const run of this.#runs.values()) run.abort(new StoppingError())
    await Promise.all([...this.#runs.values()].map(run => run.ended))
    await this.#reaper.stop()
  }

  async #findRepeated(agent_id: string, { tenant, idempotency_key }: OperationCall): Promise<TaskRow | undefined> {
    if (idempotency_key === undefined) return undefined
    return findByKey(this.#store, { user_id: tenant, agent_id, key: idempotency_key })
  }

  /**
   * Writes down that there is a task, and in the same commit that its run has begun.
   * @returns undefined when another request was first with the session or the key, or the agent is gone
   */
  async #insert(
    {
      instruction,
      max_steps,
      session_id: given,
      session_key,
      response_schema = null,
      may_ask = false,
      ...more
    }: TaskInput,
    images: ImageRef[],
    agent: AgentRow,
    request_hash: string,
    { tenant, idempotency_key: key, request_id, traceparent }: OperationCall,
    streams: boolean,
    blocked: SvcError | undefined,
  ): Promise<{ row: TaskRow; first: FirstTime } | undefined> {
    const { agent_id } = agent
    const wanted = { agent_id, tenant, session_id: given, session_key, task: instruction.slice(0, 200).toWellFormed() }
    const { session_id, effects } = await this.#svc.use(Sessions).resolve(wanted)
    const guarded = this.#svc.has(Guardrails) && this.#svc.use(Guardrails).enabled
    const text: TextMode = streams ? (guarded ? 'suppressed' : 'shown') : 'none'
    const task_id = this.#svc.ports.ids.make('task', 12)
    const parameters = parametersGiven(more)
    const asked = { instruction, images, max_steps, response_schema, parameters, text, may_ask }
    const made = { ...{ task_id, agent_id, session_id, ...asked, request_id, request_hash }, user_id: tenant }
    const task = { ...made, idempotency_key: key ?? null, owner: this.#owner }
    const isNew = effects.length > 0
    // One that may not begin has no run.
    const begins = blocked ? undefined : await startEffects(this.#svc, agent, { task_id, session_id, traceparent })
    const inserted = await this.#store.apply([
      ...effects,
      insertTask(task),
      // One that is new is active in any case.
      ...(isNew
        ? []
        : [sessionUsed({ session_id, input_tokens: 0, output_tokens: 0, cost_micros: 0, duration_ms: 0 })]),
      ...(begins?.effects ?? []),
    ])
    if (!inserted) return undefined
    const row = isNew ? newRow(task, this.#svc.clock.ms()) : await this.find(task_id)
    return { row, first: { blocked, traceparent, agent, ...begins?.first, isAlone: isNew } }
  }

  #start(row: TaskRow, before: Piece, first: FirstTime = {}): TaskRun {
    const run = new TaskRun(this.#svc, this.#config, row, before, first)
    this.#runs.set(row.task_id, run)
    this.#reaper.keep()
    void run.ended.then(() => {
      // One whose end was not written stays, to say so, until its time is over and it is settled as lost.
      if (!run.text.hasFailed) this.#runs.delete(row.task_id)
      // Decided while the task was not waiting yet.
      return run.waits && !this.#stopped ? this.#goOn(row.task_id) : undefined
    })
    return run
  }

  async #goOn(task_id: string): Promise<void> {
    try {
      for (const decided of await findDecidedTasks(this.#store, task_id)) await this.resume(decided)
    } catch (error) {
      this.#svc.log.warn({ task_id }, `it may wait although all is decided: ${errorMessage(error)}`)
    }
  }

  /** Without an Idempotency-Key a task ends with its client. */
  #carry(run: TaskRun, { signal, idempotency_key }: OperationCall): TaskRun | undefined {
    if (idempotency_key !== undefined) return undefined
    const onDisconnect = () =>
      run.abort(signal.reason instanceof ServerStoppingError ? new TaskInterruptedError() : new TaskCancelledError())
    if (signal.aborted) onDisconnect()
    else signal.addEventListener('abort', onDisconnect, { once: true })
    void run.ended.then(() => signal.removeEventListener('abort', onDisconnect))
    return run
  }

  /** A task that its process left: a detached one goes on here, if this process stays; any other has failed. */
  async #recover(row: TaskRow): Promise<void> {
    const { task_id, agent_id, session_id, epoch, request_id } = row
    if (this.#runs.get(task_id)?.text.hasFailed) this.#runs.delete(task_id)
    const stays = this.#svc.roles.has('daemon') || this.#svc.roles.has('server')
    if (row.detached && row.interruptions < MAX_INTERRUPTIONS) return stays ? this.resume(task_id) : undefined
    const error = problemOf(new TaskInterruptedError(), request_id)
    const output = await this.#outputOf(row)
    const data = { agent_id, task_id, session_id, status: 'failed' }
    await this.#store.apply([
      takeTask({ task_id, owner: this.#owner, epoch }),
      failedTask({ task_id, owner: this.#owner, epoch: epoch + 1, output, error }),
      appendEvent({ type: 'task_ended', agent_id, data }),
    ])
  }

  /** What a task that another process left had said: what its readers were shown. */
  async #outputOf({ task_id, output }: TaskRow): Promise<string> {
    return output || (await shownText(this.#store, task_id)).text
  }
}

/** Waits until it has all been said, or the signal is aborted. @throws the failure that kept the end from being written down */
async function overOrAborted(text: LiveText, signal: AbortSignal | undefined): Promise<void> {
  signal?.addEventListener('abort', text.wake)
  try {
    while (!text.isComplete && !signal?.aborted) await text.waitForChange()
  } finally {
    signal?.removeEventListener('abort', text.wake)
  }
}
