import { join } from 'node:path'
import { errorMessage, type PluginHandle, z } from '#kernel'
import { isAlive } from '#lib/is-alive'
import { contentTokens } from '#lib/output-limit'
import { replaceFile } from '#lib/yaml'
import { isoTime, Store } from '#platform/store/contract'
import { type ProcessEnd, type ProcessRequest, Sandbox } from '#safety/sandbox/contract'
import type { ToolCall } from '#tools/toolkits/contract'
import { BackgroundLog } from './background-log.ts'
import { CommandError, Reminders } from './contract.ts'

/** Maximum number of running processes of one agent, and of ended ones kept until they are read. */
const MAX_RUNNING = 5
const MAX_ENDED = 20
/** Maximum run time of a process, in milliseconds: three days. */
const LONGEST_MS = 3 * 24 * 3_600_000
const CPU_SECONDS = 24 * 3_600
/** Delay of the alarm that announces an end, in milliseconds, since an alarm must be in the future. */
const SOON_MS = 500

/** Record of a running process on disk, so that it is known after a restart. */
const Record = z.object({
  v: z.literal(1),
  process_id: z.string(),
  command: z.string(),
  pid: z.number().int().nullable(),
  started_at: z.number().int(),
})
type Record = z.infer<typeof Record>

interface Background {
  record: Record
  agent_id: string
  log: BackgroundLog
  stop: AbortController
  /** Description of the end; undefined while the process runs. */
  end?: string
  ended: Promise<void>
}

/** The agent that reads an output, and the maximum number of tokens. */
type Reader = Pick<ToolCall, 'agent_id' | 'result_tokens'>

/** Programs that run in the background for agents. They end with their agent and with the service. */
export class BackgroundProcesses {
  readonly #svc: PluginHandle
  readonly #all = new Map<string, Background>()

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  /**
   * Starts a program.
   * @returns the message for the agent
   * @throws CommandError when the agent has too many
   */
  async start(agent_id: string, command: string, request: Omit<ProcessRequest, 'time_limit_ms'>): Promise<string> {
    const running = this.#of(agent_id).filter(({ end }) => end === undefined)
    if (running.length >= MAX_RUNNING) {
      const names = running.map(({ record }) => record.process_id).join(', ')
      throw new CommandError({
        problem: `${MAX_RUNNING} processes are already running (${names}), which is the maximum; stop one with process_stop`,
      })
    }
    const process_id = this.#svc.ports.ids.make('proc', 8)
    const record: Record = { v: 1, process_id, command, pid: null, started_at: this.#svc.clock.ms() }
    const each: Background = {
      ...{ record, agent_id, log: new BackgroundLog(), stop: new AbortController(), ended: Promise.resolve() },
    }
    this.#all.set(process_id, each)
    each.ended = this.#run(each, request)
    return `Started in the background as ${process_id}. Read its output with process_output; you get a message when it ends.`
  }

  /**
   * Returns the output of a process since the last read.
   * @param wait_ms maximum time to wait for output
   */
  async read(
    { agent_id, signal, result_tokens }: Reader & { signal: AbortSignal },
    process_id: string,
    wait_ms: number,
  ): Promise<string> {
    const each = this.#find(agent_id, process_id)
    if (!each) return this.#lostOutput(agent_id, process_id)
    const over = new AbortController()
    const either = AbortSignal.any([signal, over.signal])
    const timer = this.#svc.clock.sleep(wait_ms, either).catch(() => {})
    await Promise.race([each.log.waitForOutput(either), each.ended, timer])
    over.abort()
    return this.#render(each, result_tokens)
  }

  /** Ends a process with all that it started. */
  async end({ agent_id, result_tokens }: Reader, process_id: string): Promise<string> {
    const each = this.#find(agent_id, process_id)
    if (!each) return this.#lostOutput(agent_id, process_id)
    each.stop.abort(new Error('you stopped it'))
    await each.ended
    return this.#render(each, result_tokens)
  }

  /** Lists an agent's processes, also those that an earlier process of the service started. */
  async list(agent_id: string): Promise<string> {
    const lines = this.#of(agent_id).map(({ record, end }) => `${lineOf(record)}: ${end ?? 'running'}`)
    const lost = (await this.#records(agent_id)).filter(({ process_id }) => !this.#all.has(process_id))
    lines.push(...lost.map(record => `${lineOf(record)}: ${this.#fateOf(record)}`))
    return lines.join('\n') || '[You have no background processes.]'
  }

  /** Ends all processes, or those of one agent, and waits until they have ended. */
  async stopAll(agent_id?: string): Promise<void> {
    const chosen = [...this.#all.values()].filter(each => agent_id === undefined || each.agent_id === agent_id)
    const reason = new Error(agent_id === undefined ? 'the service was stopped' : 'its agent has ended')
    for (const { stop } of chosen) stop.abort(reason)
    await Promise.all(chosen.map(({ ended }) => ended))
    for (const { record } of chosen) this.#all.delete(record.process_id)
  }

  /** Runs a process. Never rejects: the agent reads how the process ended. */
  async #run(each: Background, request: Omit<ProcessRequest, 'time_limit_ms'>): Promise<void> {
    const { record, agent_id, log, stop } = each
    let saved = this.#save(agent_id, record)
    try {
      const end = await this.#svc.use(Sandbox).run({
        ...request,
        ...{ signal: stop.signal, time_limit_ms: LONGEST_MS, limits: { cpu_seconds: CPU_SECONDS } },
        started: pid => {
          record.pid = pid
          saved = saved.then(() => this.#save(agent_id, record))
        },
        wrote: text => log.add(text),
      })
      each.end = outcomeOf(end)
    } catch (error) {
      each.end = `ended: ${errorMessage(error).replace(/\.$/, '')}`
    }
    await saved.catch(error => this.#svc.log.warn({ agent_id }, errorMessage(error)))
    await this.#svc.ports.files.rm(this.#file(agent_id, record.process_id), { force: true })
    this.#forgetOld(agent_id)
    if (!stop.signal.aborted)
      await this.#announceEnd(each).catch(error => this.#svc.log.warn({ agent_id }, errorMessage(error)))
  }

  /** Wakes the agent by an alarm, which is kept until the agent has read it. */
  async #announceEnd({ agent_id, record, end }: Background): Promise<void> {
    if (!this.#svc.has(Reminders)) return
    const command = record.command.slice(0, 200)
    const description = `Your background process ${record.process_id} (${command}) has ${end}. Read its output with process_output.`
    const at = this.#svc.clock.ms() + SOON_MS
    const { effects } = await this.#svc.use(Reminders).make({ agent_id, description, at, created_by: 'agent' })
    await this.#svc.use(Store).apply(effects)
  }

  #render({ record, log, end }: Background, result_tokens: number | undefined): string {
    const text = log.take(contentTokens(result_tokens))
    const state = end ?? 'is running; read more with process_output, or end it with process_stop'
    return [...(text === '' ? [] : [text]), `[${record.process_id} ${state}]`].join('\n')
  }

  #of(agent_id: string): Background[] {
    return [...this.#all.values()].filter(each => each.agent_id === agent_id)
  }

  #find(agent_id: string, process_id: string): Background | undefined {
    const each = this.#all.get(process_id)
    return each?.agent_id === agent_id ? each : undefined
  }

  #forgetOld(agent_id: string): void {
    const ended = this.#of(agent_id).filter(({ end }) => end !== undefined)
    for (const { record } of ended.slice(0, -MAX_ENDED)) this.#all.delete(record.process_id)
  }

  /** Returns what is known of a process that another service process started. */
  async #lostOutput(agent_id: string, process_id: string): Promise<string> {
    const record = (await this.#records(agent_id)).find(each => each.process_id === process_id)
    if (record) return `[${process_id}: ${this.#fateOf(record)}]`
    const id = JSON.stringify(process_id.slice(0, 100))
    throw new CommandError({
      problem: `you have no process ${id}; process_output without process_id lists your processes`,
    })
  }

  #fateOf({ pid }: Record): string {
    const lost = 'the service was restarted, so its output is lost'
    return pid !== null && isAlive(pid)
      ? `${lost}; the process may still run with pid ${pid}, and only the operator can end it`
      : `${lost}, and the process no longer runs; start it again if you need it`
  }

  async #save(agent_id: string, record: Record): Promise<void> {
    const { files } = this.#svc.ports
    await files.mkdir(this.#folder(agent_id), { recursive: true, mode: 0o700 })
    await replaceFile(files, this.#file(agent_id, record.process_id), `${JSON.stringify(record)}\n`)
  }

  async #records(agent_id: string): Promise<Record[]> {
    const { files } = this.#svc.ports
    const names = await files.readdir(this.#folder(agent_id)).catch(() => [])
    const found = await Promise.all(
      names
        .filter(name => /^proc-\w+\.json$/.test(name))
        .map(async name => {
          const text = await files.readFile(join(this.#folder(agent_id), name), 'utf8').catch(() => 'null')
          return Record.safeParse(JSON.parse(text)).data ?? []
        }),
    )
    return found.flat()
  }

  #file(agent_id: string, process_id: string): string {
    return join(this.#folder(agent_id), `${process_id}.json`)
  }

  #folder(agent_id: string): string {
    return join(this.#svc.project.svc, 'journals', agent_id, 'processes')
  }
}

function lineOf({ process_id, command, started_at }: Record): string {
  return `${process_id}  ${command.slice(0, 200)}  (since ${isoTime(started_at)})`
}

function outcomeOf({ code, signal, timed_out }: ProcessEnd): string {
  if (timed_out) return 'ended: it ran for three days, which is the limit'
  return signal === null ? `ended with exit code ${code}` : `ended by ${signal}`
}
