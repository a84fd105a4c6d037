import { AgentDeadError, AgentNotFoundError, type AgentRow, Agents } from '#core/agents/contract'
import { type ImageRef, keepGiven } from '#core/images/contract'
import { Schemas } from '#core/runtime/contract'
import { Sessions, sessionUsed } from '#core/sessions/contract'
import { IdempotencyKeyReusedError, problemOf, ServerStoppingError } from '#interfaces/rest/contract'
import { errorMessage, type OperationCall, type PluginHandle, type SvcError, token } from '#kernel'
import { isCancelled } from '#lib/task-end'
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
import { givenToolkits } from './toolkit-names.ts'

/** Interval of checks for progress of another process's task, in milliseconds. */
const POLL_MS = 200
/** Number of crashes after which a task fails. */
const MAX_INTERRUPTIONS = 5
/** Number of lost races after which another cause is assumed. */
const TRIES = 5
const NOTHING_USED = { input_tokens: 0, output_tokens: 0, cost_micros: 0, duration_ms: 0 }

/** A task that a request started or found. */
export interface StartedTask {
  task_id: string
  /** The run that ends when the request ends. */
  carried: TaskRun | undefined
}

export const OwnTasks = token<TaskService>('tasks/tasks')

/** Starts tasks, manages those that run in this process, and takes over those that another process left. */
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
   * Starts a task, or returns the one started with the same Idempotency-Key.
   * @throws AgentNotFoundError, AgentDeadError, BudgetExhaustedError, IdempotencyKeyReusedError, InvalidInputError for
   * a schema that cannot be checked or unknown toolkits, and the errors of sessions
   */
  async begin(given: TaskInput, call: OperationCall, streams: boolean): Promise<StartedTask> {
    if (this.#stopped) throw new StoppingError()
    const input = { ...given, toolkits: given.toolkits && givenToolkits(this.#svc, given.toolkits) }
    if (input.response_schema) await admitSchema(this.#svc.use(Schemas), input.response_schema)
    // The hash is only compared for requests with a key.
    const request_hash = call.idempotency_key === undefined ? '' : hashOf(input)
    let admission: AdmittedInstruction | undefined
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
      admission ??= await admit(this.#svc, agent_id, input.instruction)
      const { blocked } = admission
      // Lone surrogates cannot be stored.
      const instruction = admission.instruction.toWellFormed()
      images ??= await keepGiven(this.#svc, input.images ?? [])
      const begun = await this.#insert({ ...input, instruction }, images, agent, request_hash, call, streams, blocked)
      if (!begun) continue
      const { row, first } = begun
      const { response_schema } = input
      const check = response_schema ? originalOf(response_schema) : undefined
      // A stream reports its progress by its events.
      const progress = streams ? undefined : call.progress
      const run = this.#start(row, { until: 0, text: '' }, { ...first, check, progress })
      return { task_id: row.task_id, carried: this.#carry(run, call) }
    }
    throw new AgentNotFoundError({ ref: input.id })
  }

  /**
   * Returns the task once it has ended or waits, in whatever process it runs.
   * @throws TaskNotFoundError if it is removed meanwhile; TaskGoesOnError if the signal is aborted first
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

  /** Waits briefly for a task of another process; settles the task if that process is gone. */
  async waitForOtherProcess(row: TaskRow, signal: AbortSignal | undefined): Promise<void> {
    if (this.#stopped) throw new StoppingError()
    if (this.#runs.has(row.task_id)) return
    const { clock } = this.#svc
    if (row.lease_until < clock.ms()) await this.#recover(row)
    // A task of this process that is just starting or ending.
    if (row.owner === this.#owner) await clock.yield()
    else await clock.sleep(POLL_MS, signal)
  }

  /** Waits briefly for people to decide or answer. */
  async waitForDecision(signal: AbortSignal | undefined): Promise<void> {
    if (this.#stopped) throw new StoppingError()
    await this.#svc.clock.sleep(POLL_MS, signal)
  }

  /**
   * Returns a task's row.
   * @throws TaskNotFoundError
   */
  async find(task_id: string): Promise<TaskRow> {
    const row = await findTask(this.#store, task_id)
    if (!row) throw new TaskNotFoundError({ task_id })
    return row
  }

  /** Settles tasks of dead processes before tasks are shown. */
  async settleLost(): Promise<void> {
    for (const row of await lostTasks(this.#store, this.#svc.clock.ms())) await this.#recover(row)
  }

  /**
   * Continues a task that waits for people, or was left by its process. Does nothing when another process does.
   * @param onlyOwn whether to do nothing, too, when another process ran it last
   */
  async resume(task_id: string, { onlyOwn = false } = {}): Promise<void> {
    const seen = await findTask(this.#store, task_id)
    if (!seen || (onlyOwn && seen.owner !== this.#owner) || this.#stopped || this.#runs.has(task_id)) return
    const taken = await this.#store.apply([takeTask({ task_id, owner: this.#owner, epoch: seen.epoch })])
    if (taken) this.#start(await this.find(task_id), await shownText(this.#store, task_id))
  }

  /**
   * Works on a task that this process already holds, as in a replay.
   * @throws TaskNotFoundError
   */
  async drive(task_id: string): Promise<{ ended: Promise<void> }> {
    return new TaskRun(this.#svc, this.#config, await this.find(task_id), await shownText(this.#store, task_id))
  }

  /**
   * Ends a task as stopped, in whatever process it runs; that process can no longer write to it.
   * @throws TaskNotFoundError, TaskOverError
   */
  async cancel(task_id: string): Promise<void> {
    for (let tries = 0; ; tries++) {
      const row = await this.find(task_id)
      const { status } = row
      if (status !== 'running' && !isWaiting(status)) throw new TaskOverError({ task_id, status })
      if (tries === TRIES) throw new TaskOverError({ task_id, status: 'changing' })
      const run = this.#runs.get(task_id)
      if (run && !run.text.isComplete) {
        run.abort(new TaskStoppedError())
        await run.ended
        // It may have stopped to wait just before.
        if (!run.waits) return
      } else if (await this.#failElsewhere(row, seizeTask, new TaskStoppedError())) return
    }
  }

  /** Ends all open tasks of a session. */
  async cancelIn(session_id: string): Promise<void> {
    for (const task_id of await openTasks(this.#store, session_id)) {
      await this.cancel(task_id).catch(error => {
        // The task ended by itself meanwhile.
        if (!(error instanceof TaskOverError || error instanceof TaskNotFoundError)) throw error
      })
    }
  }

  /** Takes over tasks that other processes left, and those decided elsewhere. */
  async sweep(): Promise<void> {
    await this.settleLost()
    for (const task_id of await findDecidedTasks(this.#store)) await this.resume(task_id)
  }

  /** Aborts the runs of a deleted agent. */
  forget(agent_id: string): void {
    for (const run of this.#runs.values()) {
      if (run.row.agent_id === agent_id) run.abort(new AgentNotFoundError({ ref: agent_id }))
    }
  }

  /** Accepts tasks again after a stop. */
  open(): void {
    this.#stopped = false
  }

  /** Ends all runs. Detached tasks continue in another process. */
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
   * Stores a new task, and in the same commit the start of its run.
   * @returns undefined if another request took the session or the key first, or the agent is gone
   */
  async #insert(
    {
      instruction,
      max_steps,
      session_id: given,
      session_key,
      response_schema = null,
      toolkits = null,
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
    const options = { instruction, images, max_steps, response_schema, parameters, toolkits, text, may_ask }
    const made = { task_id, agent_id, session_id, ...options, request_id, request_hash, user_id: tenant }
    const task = { ...made, idempotency_key: key ?? null, owner: this.#owner }
    const isNew = effects.length > 0
    // A blocked task has no run.
    const begins = blocked ? undefined : await startEffects(this.#svc, agent, { task_id, session_id, traceparent })
    const inserted = await this.#store.apply([
      ...effects,
      insertTask(task),
      // A new session is active in any case.
      ...(isNew ? [] : [sessionUsed({ session_id, ...NOTHING_USED, task: wanted.task })]),
      ...(begins?.effects ?? []),
    ])
    if (!inserted) return undefined
    const row = isNew ? newRow(task, this.#svc.clock.ms()) : await this.find(task_id)
    return {
      row,
      first: { blocked, traceparent, agent, ...begins?.first, isAlone: isNew && session_key === undefined },
    }
  }

  #start(row: TaskRow, before: Piece, first: FirstTime = {}): TaskRun {
    const run = new TaskRun(this.#svc, this.#config, row, before, first)
    this.#runs.set(row.task_id, run)
    this.#reaper.keep()
    void run.ended.then(() => {
      // A run whose end was not stored stays, to report its failure, until its lease expires and it is settled as lost.
      if (!run.text.hasFailed || run.isSettled) this.#runs.delete(row.task_id)
      // Decided before the task was marked as waiting.
      return run.waits && !this.#stopped ? this.#goOn(row.task_id) : undefined
    })
    return run
  }

  async #goOn(task_id: string): Promise<void> {
    try {
      for (const decided of await findDecidedTasks(this.#store, task_id)) await this.resume(decided)
    } catch (error) {
      this.#svc.log.warn(
        { task_id },
        `cannot resume the task, which may wait although everything is decided: ${errorMessage(error)}`,
      )
    }
  }

  /** Returns the run if it ends with its client, as without an Idempotency-Key. */
  #carry(run: TaskRun, { signal, idempotency_key }: OperationCall): TaskRun | undefined {
    if (idempotency_key !== undefined) return undefined
    const onDisconnect = () =>
      run.abort(signal.reason instanceof ServerStoppingError ? new TaskInterruptedError() : new TaskCancelledError())
    if (signal.aborted) onDisconnect()
    else signal.addEventListener('abort', onDisconnect, { once: true })
    void run.ended.then(() => signal.removeEventListener('abort', onDisconnect))
    return run
  }

  /**
   * Settles a task left by its process: a detached one continues here if this process is long-running; any other fails.
   */
  async #recover(row: TaskRow): Promise<void> {
    const { task_id, owner } = row
    const run = this.#runs.get(task_id)
    if (run?.text.hasFailed) this.#runs.delete(task_id)
    // It runs here: the machine slept, or the clock was set forward, and the lease is about to be renewed.
    else if (run && owner === this.#owner) return
    const stays = this.#svc.roles.has('daemon') || this.#svc.roles.has('server')
    if (row.detached && row.interruptions < MAX_INTERRUPTIONS) return stays ? this.resume(task_id) : undefined
    await this.#failElsewhere(row, takeTask, new TaskInterruptedError())
  }

  /**
   * Takes a task from its process and fails it.
   * @returns false if the task's state has changed
   */
  async #failElsewhere(row: TaskRow, take: typeof takeTask, error: SvcError): Promise<boolean> {
    const { task_id, agent_id, session_id, epoch, request_id, status, created_at, lease_until } = row
    const held = { task_id, owner: this.#owner }
    // Only the beginning of the first period of work is known. A process that is gone worked no longer than its lease.
    const isFirst = status === 'running' && epoch === 1
    const duration_ms = isFirst ? Math.max(0, Math.min(this.#svc.clock.ms(), lease_until) - created_at) : 0
    const end = { output: await this.#outputOf(row), error: problemOf(error, request_id), duration_ms }
    const cancelled = isCancelled(end) ? { cancelled: true } : {}
    const data = { agent_id, task_id, session_id, status: 'failed', ...cancelled }
    return this.#store.apply([
      take({ ...held, epoch }),
      failedTask({ ...held, epoch: epoch + 1, ...end }),
      sessionUsed({ session_id, input_tokens: 0, output_tokens: 0, cost_micros: 0, duration_ms }),
      appendEvent({ type: 'task_ended', agent_id, data }),
    ])
  }

  /** Returns the text of a task left by another process, as shown to its readers. */
  async #outputOf({ task_id, output }: TaskRow): Promise<string> {
    return output || (await shownText(this.#store, task_id)).text
  }
}

/**
 * Waits until the text is complete or the signal is aborted.
 * @throws the failure that prevented storing the end
 */
async function overOrAborted(text: LiveText, signal: AbortSignal | undefined): Promise<void> {
  signal?.addEventListener('abort', text.wake)
  try {
    while (!text.isComplete && !signal?.aborted) await text.waitForChange()
  } finally {
    signal?.removeEventListener('abort', text.wake)
  }
}
