import { join } from 'node:path'
import { errorMessage, type PluginHandle, z } from '#kernel'
import { isAlive } from '#lib/is-alive'
import { contentTokens } from '#lib/output-limit'
import { endWithin } from '#lib/text-tokens'
import { replaceFile } from '#lib/yaml'
import { isoTime, Store } from '#platform/store/contract'
import { type ProcessEnd, type ProcessRequest, type Reach, Sandbox } from '#safety/sandbox/contract'
import type { ToolCall } from '#tools/toolkits/contract'
import { BackgroundLog } from './background-log.ts'
import { CommandError, Reminders } from './contract.ts'

/** Maximum number of running processes of one agent, and of ended ones and of lost ones that are kept. */
const MAX_RUNNING = 5
const MAX_ENDED = 20
/** Maximum run time of a process, in milliseconds: three days. */
const LONGEST_MS = 3 * 24 * 3_600_000
const CPU_SECONDS = 24 * 3_600
/** Time in which a process that cannot work usually ends, in milliseconds; its start waits that long. */
const START_MS = 500
/** Delay of the alarm that announces an end, in milliseconds, since an alarm must be in the future. */
const SOON_MS = 500

const SERVICE_STOPPED = new Error('the service was stopped')

/** Record of a running process on disk, so that it is known after a restart. */
const Record = z.object({
  v: z.literal(1),
  process_id: z.string(),
  command: z.string(),
  pid: z.number().int().nullable(),
  started_at: z.number().int(),
  /** Whether the agent has a message that the process was lost with the service. */
  reported: z.boolean().default(false),
})
type Record = z.infer<typeof Record>

interface Background {
  record: Record
  agent_id: string
  log: BackgroundLog
  stop: AbortController
  /** Description of the end; undefined while the process runs. */
  end?: string
  /** The alarm that announces the end, until the agent has read of it. */
  alarm_id?: string | undefined
  ended: Promise<void>
}

/** The call by which an agent reads an output. */
type Reader = Reach & Pick<ToolCall, 'agent_id' | 'result_tokens' | 'signal' | 'effect'>

/** Programs that run in the background for agents. They end with their agent and with the service. */
export class BackgroundProcesses {
  readonly #svc: PluginHandle
  readonly #all = new Map<string, Background>()

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  /**
   * Starts a program.
   * @returns the message for the agent: of a program that ends at once, its end
   * @throws CommandError when the agent has too many
   */
  async start(call: Reader, command: string, request: Omit<ProcessRequest, 'time_limit_ms'>): Promise<string> {
    const { agent_id, signal } = call
    const running = this.#of(agent_id).filter(({ end }) => end === undefined)
    if (running.length >= MAX_RUNNING) {
      const names = running.map(({ record }) => record.process_id).join(', ')
      throw new CommandError({
        problem: `${MAX_RUNNING} processes are already running (${names}), which is the maximum; stop one with process_stop`,
      })
    }
    const process_id = this.#svc.ports.ids.make('proc', 8)
    const record: Record = { v: 1, process_id, command, pid: null, started_at: this.#svc.clock.ms(), reported: false }
    const each: Background = {
      ...{ record, agent_id, log: new BackgroundLog(), stop: new AbortController(), ended: Promise.resolve() },
    }
    this.#all.set(process_id, each)
    each.ended = this.#run(each, request)
    await this.#wait(START_MS, signal, () => each.ended)
    if (each.end !== undefined) return this.#render(each, call)
    return `Started in the background as ${process_id}. Read its output with process_output; you get a message when it ends.`
  }

  /**
   * Returns the output of a process since the last read.
   * @param wait_ms maximum time to wait until the process pauses after some output, or ends
   */
  async read(call: Reader, process_id: string, wait_ms: number): Promise<string> {
    const each = this.#find(call.agent_id, process_id)
    if (!each) return this.#lostOutput(call.agent_id, process_id)
    const { clock } = this.#svc
    await this.#wait(wait_ms, call.signal, over => Promise.race([each.log.waitForPause(clock, over), each.ended]))
    return this.#render(each, call)
  }

  /** Ends a process with all that it started. */
  async end(call: Reader, process_id: string): Promise<string> {
    const each = this.#find(call.agent_id, process_id)
    if (!each) return this.#lostOutput(call.agent_id, process_id)
    each.stop.abort(new Error('you stopped it'))
    await each.ended
    return this.#render(each, call)
  }

  /** Lists an agent's processes, also those that an earlier process of the service started. */
  async list(call: Reader): Promise<string> {
    const known = this.#of(call.agent_id)
    const lines = known.map(({ record, end }) => `${lineOf(record)}: ${end ?? 'running'}`)
    const lost = await this.#lost(call.agent_id)
    lines.push(...lost.map(record => `${lineOf(record)}: ${this.#fateOf(record)}`))
    for (const each of known.filter(({ end }) => end !== undefined)) await this.#withdrawMessage(each, call)
    return lines.join('\n') || '[You have no background processes.]'
  }

  /** Ends all processes, or those of one agent, and waits until they have ended. */
  async stopAll(agent_id?: string): Promise<void> {
    const chosen = [...this.#all.values()].filter(each => agent_id === undefined || each.agent_id === agent_id)
    const reason = agent_id === undefined ? SERVICE_STOPPED : new Error('its agent has ended')
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
    const warn = (error: unknown) => this.#svc.log.warn({ agent_id }, errorMessage(error))
    await saved.catch(warn)
    // A record stays of a process that the service stops, so that it is known after the restart.
    if (stop.signal.reason !== SERVICE_STOPPED) await this.#removeRecord(record, agent_id)
    await this.#forgetOld(agent_id).catch(warn)
    if (!stop.signal.aborted) await this.#announceEnd(each).catch(warn)
  }

  /** Waits for some work, at most this long. */
  async #wait(most_ms: number, signal: AbortSignal, work: (over: AbortSignal) => Promise<void>): Promise<void> {
    const over = new AbortController()
    const either = AbortSignal.any([signal, over.signal])
    await Promise.race([work(either), this.#svc.clock.sleep(most_ms, either).catch(() => {})])
    over.abort()
  }

  async #announceEnd(each: Background): Promise<void> {
    each.alarm_id = await this.#remind(each, `has ${each.end}. Read its output with process_output.`)
  }

  /** Announces to agents the processes that ended with an earlier process of the service. */
  async announceLost(): Promise<void> {
    const agents = await this.#svc.ports.files.readdir(this.#journals).catch(() => [])
    for (const agent_id of agents) {
      const gone = (await this.#lost(agent_id)).filter(
        ({ pid, reported }) => !reported && pid !== null && !isAlive(pid),
      )
      for (const record of gone) {
        const message =
          'has ended, because the service was restarted. Its output is lost; start it again if you need it.'
        await this.#remind({ agent_id, record }, message).catch(error =>
          this.#svc.log.warn({ agent_id }, errorMessage(error)),
        )
        await this.#save(agent_id, { ...record, reported: true })
      }
    }
  }

  /** Wakes an agent by an alarm, which is kept until the agent has read it. @returns the alarm's id */
  async #remind({ agent_id, record }: Pick<Background, 'agent_id' | 'record'>, message: string) {
    if (!this.#svc.has(Reminders)) return
    const description = `Background process ${record.process_id} (${record.command.slice(0, 200)}) ${message}`
    const at = this.#svc.clock.ms() + SOON_MS
    const reminder = { agent_id, description, at, created_by: 'process' } as const
    const { alarm_id, effects } = await this.#svc.use(Reminders).make(reminder)
    await this.#svc.use(Store).apply(effects)
    return alarm_id
  }

  /** Withdraws the message about an end of which the agent reads by this call. */
  async #withdrawMessage(each: Background, call: Reader): Promise<void> {
    await each.ended
    const { alarm_id } = each
    if (alarm_id === undefined || !this.#svc.has(Reminders)) return
    for (const write of this.#svc.use(Reminders).withdraw({ alarm_id, agent_id: call.agent_id })) call.effect(write)
    each.alarm_id = undefined
  }

  async #render(each: Background, call: Reader): Promise<string> {
    const { record, log, end } = each
    const { text, dropped } = log.take()
    const shown = endWithin(text, contentTokens(call.result_tokens))
    const hidden = text.length - shown.length
    const lines = [
      `[${record.process_id} ${end ?? 'is running; read more with process_output, or end it with process_stop'}]`,
    ]
    if (shown.trimEnd() !== '') lines.unshift(shown.trimEnd())
    if (hidden + dropped > 0) lines.unshift(`[… ${hidden + dropped} characters before this are left out …]`)
    if (hidden > 0) {
      const path = await this.#svc
        .use(Sandbox)
        .keep(call, text)
        .catch(error => this.#svc.log.warn({ agent_id: call.agent_id }, errorMessage(error)))
      const what = dropped === 0 ? 'All output since the last read is' : `The last ${text.length} characters are`
      if (path) lines.push(`[${what} in ${path}; read it with file_read.]`)
    }
    if (end !== undefined) await this.#withdrawMessage(each, call)
    return lines.join('\n')
  }

  #of(agent_id: string): Background[] {
    return [...this.#all.values()].filter(each => each.agent_id === agent_id)
  }

  #find(agent_id: string, process_id: string): Background | undefined {
    const each = this.#all.get(process_id)
    return each?.agent_id === agent_id ? each : undefined
  }

  async #forgetOld(agent_id: string): Promise<void> {
    const ended = this.#of(agent_id).filter(({ end }) => end !== undefined)
    for (const { record } of ended.slice(0, -MAX_ENDED)) this.#all.delete(record.process_id)
    const gone = (await this.#lost(agent_id)).filter(({ pid }) => pid === null || !isAlive(pid))
    for (const record of gone.slice(0, -MAX_ENDED)) await this.#removeRecord(record, agent_id)
  }

  /** Returns what is known of a process that another service process started. */
  async #lostOutput(agent_id: string, process_id: string): Promise<string> {
    const record = (await this.#lost(agent_id)).find(each => each.process_id === process_id)
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

  #removeRecord({ process_id }: Record, agent_id: string): Promise<void> {
    return this.#svc.ports.files.rm(this.#file(agent_id, process_id), { force: true })
  }

  /** Returns the records of an agent's processes that another service process started, oldest first. */
  async #lost(agent_id: string): Promise<Record[]> {
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
    const lost = found.flat().filter(({ process_id }) => !this.#all.has(process_id))
    return lost.sort((a, b) => a.started_at - b.started_at)
  }

  #file(agent_id: string, process_id: string): string {
    return join(this.#folder(agent_id), `${process_id}.json`)
  }

  get #journals(): string {
    return join(this.#svc.project.svc, 'journals')
  }

  #folder(agent_id: string): string {
    return join(this.#journals, agent_id, 'processes')
  }
}

function lineOf({ process_id, command, started_at }: Record): string {
  return `${process_id}  ${command.slice(0, 200)}  (since ${isoTime(started_at)})`
}

function outcomeOf({ code, signal, timed_out }: ProcessEnd): string {
  if (timed_out) return 'ended: it ran for three days, which is the limit'
  return signal === null ? `ended with exit code ${code}` : `ended by ${signal}`
}
