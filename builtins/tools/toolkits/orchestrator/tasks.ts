import { defineError, errorMessage, type PluginHandle } from '#kernel'
import { isAlive } from '#lib/is-alive'
import { pluralize } from '#lib/pluralize'
import { Jail, type Reach, reachOf, Sandbox } from '#safety/sandbox/contract'
import type { ToolCall } from '#tools/toolkits/contract'
import type { OrchestratorConfig } from './config.ts'
import { needsOf, type Program, wordsFor } from './programs.ts'
import { type CodeTask, Records } from './records.ts'

/** The agent has the maximum number of running code tasks, or no code task of this id. */
const CodeTaskError = defineError({
  code: 'code_task_refused',
  status: 422,
  title: 'Code task refused',
  message: (p: { message: string }) => p.message,
})

/** Time that a call waits for a task to end, in milliseconds; less than the time limit of tools. */
const WAIT_MS = 20_000
/** Maximum tokens of an output that are kept. */
const OUTPUT_TOKENS = 100_000
/** The task's record is deleted with its agent. */
const DELETED = new Error('its agent was deleted')
const LIMITS = { memory_mb: 8_192, file_mb: 2_048 }

interface TaskRequest {
  program: Program
  path: string
  model: string | undefined
  task: string
  folder: string
}

interface Running {
  agent_id: string
  stop: AbortController
  ended: Promise<void>
}

/** Runs coding programs for agents in the background, because they take longer than a tool call. */
export class CodeTasks {
  readonly #svc: PluginHandle
  readonly #config: OrchestratorConfig
  readonly #records: Records
  readonly #running = new Map<string, Running>()

  constructor(svc: PluginHandle, config: OrchestratorConfig) {
    this.#svc = svc
    this.#config = config
    this.#records = new Records(svc)
  }

  /**
   * Starts a task, and waits a limited time for its end.
   * @throws CodeTaskError, OutsideError, PathError
   */
  async begin(request: TaskRequest, call: ToolCall): Promise<CodeTask> {
    const { agent_id, signal } = call
    const most = this.#config.code_max_tasks
    if (this.#running.size >= most) {
      throw new CodeTaskError({
        message: `At most ${pluralize(most, 'code task')} may run at a time; wait for one to end.`,
      })
    }
    const { clock, ports } = this.#svc
    const { program, task, folder, model = null } = request
    const task_id = ports.ids.make('code', 8)
    // Reserve the slot before the first await.
    const running: Running = { agent_id, stop: new AbortController(), ended: Promise.resolve() }
    this.#running.set(task_id, running)
    const record: CodeTask = {
      v: 1,
      task_id,
      agent_id,
      program,
      model,
      task,
      folder,
      status: 'running',
      reason: null,
      started_at: clock.ms(),
      ended_at: null,
      watched_by: process.pid,
    }
    try {
      const cwd = await this.#folder(call, folder)
      await this.#records.write(record)
      running.ended = this.#run(record, request, { ...reachOf(call), cwd, signal: running.stop.signal }).finally(() =>
        this.#running.delete(task_id),
      )
    } catch (error) {
      this.#running.delete(task_id)
      throw error
    }
    const waited = new AbortController()
    await Promise.race([running.ended, clock.sleep(WAIT_MS, AbortSignal.any([signal, waited.signal]))])
    waited.abort()
    return (await this.#records.read(agent_id, task_id)) ?? record
  }

  /**
   * Returns the current state of a task of this agent.
   * @throws CodeTaskError
   */
  async get(agent_id: string, task_id: string): Promise<CodeTask> {
    const record = await this.#records.read(agent_id, task_id)
    if (record) return this.#standing(record)
    throw new CodeTaskError({
      message: `There is no code task ${JSON.stringify(task_id.slice(0, 100))} of yours; list_code_tasks shows them.`,
    })
  }

  async list(agent_id: string): Promise<CodeTask[]> {
    return (await this.#records.list(agent_id)).map(record => this.#standing(record))
  }

  async output(agent_id: string, task_id: string): Promise<string> {
    return (await this.#records.output(agent_id, task_id)) ?? ''
  }

  /** Ends all tasks, or those of one agent, and waits until they have ended. */
  async stop(agent_id?: string): Promise<void> {
    const chosen = [...this.#running.values()].filter(task => agent_id === undefined || task.agent_id === agent_id)
    for (const { stop } of chosen) stop.abort(agent_id ? DELETED : new Error('the service was stopped'))
    await Promise.all(chosen.map(({ ended }) => ended))
  }

  /** Returns a record as lost if the process that ran its task is gone. */
  #standing(record: CodeTask): CodeTask {
    if (record.status !== 'running' || this.#running.has(record.task_id)) return record
    const isWatched = record.watched_by !== process.pid && isAlive(record.watched_by)
    return isWatched ? record : { ...record, status: 'lost', reason: 'the process that ran it has ended' }
  }

  /** Runs a task. Never rejects: the record states how the task ended. */
  async #run(
    record: CodeTask,
    { program, path, model, task }: TaskRequest,
    place: Reach & { cwd: string; signal: AbortSignal },
  ): Promise<void> {
    const ends = (status: CodeTask['status'], reason: string | null, output?: string) =>
      this.#records.write({ ...record, status, reason, ended_at: this.#svc.clock.ms() }, output)
    const { code_timeout, code_pass_env } = this.#config
    try {
      const sandbox = this.#svc.use(Sandbox)
      const end = await sandbox.run({
        argv: wordsFor(program, path, model),
        ...place,
        input: task,
        network: true,
        time_limit_ms: code_timeout * 1000,
        ...needsOf(program, path, this.#svc, code_pass_env),
        limits: { ...LIMITS, cpu_seconds: Math.ceil(code_timeout) * 4 },
      })
      const output = await sandbox.describeEnd(end, place, OUTPUT_TOKENS)
      const status = end.timed_out ? 'timeout' : end.code === 0 ? 'completed' : 'failed'
      await ends(status, end.timed_out ? `it took longer than ${code_timeout} s` : null, output)
    } catch (error) {
      if (error === DELETED) return
      await ends('failed', errorMessage(error)).catch(fault => this.#svc.log.error({}, errorMessage(fault)))
    }
  }

  async #folder(reach: Reach, folder: string): Promise<string> {
    const { files } = this.#svc.ports
    const { real } = await this.#svc.use(Jail).resolve(reach, folder)
    const found = await files.stat(real).catch(() => undefined)
    if (found?.isDirectory()) return real
    throw new CodeTaskError({
      message: `${JSON.stringify(folder)} is not a folder of your workspace; create it first.`,
    })
  }
}
