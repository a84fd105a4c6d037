import { join } from 'node:path'
import { type Effect, errorMessage, type PluginHandle, z } from '#kernel'
import { isAlive } from '#lib/is-alive'
import { contentTokens, PROGRAM_TOKENS } from '#lib/output-limit'
import { replaceFile } from '#lib/yaml'
import { isoTime, Store } from '#platform/store/contract'
import { type ProcessEnd, type ProcessRequest, type Reach, Sandbox } from '#safety/sandbox/contract'
import type { ToolCall } from '#tools/toolkits/contract'
import { BackgroundLog } from './background-log.ts'
import { CommandError, type Processes, Reminders } from './contract.ts'
import { LONG_RUNNING } from './shell.ts'

/** Maximum number of running processes of one agent, and of ended ones and of lost ones that are kept. */
const MAX_RUNNING = 5
const MAX_ENDED = 20
/** Maximum run time of a process, in milliseconds: three days. */
const LONGEST_MS = 3 * 24 * 3_600_000
/** Time in which a process that cannot work usually ends, in milliseconds; its start waits that long. */
const START_MS = 500
/** Delay of the alarm that announces an end, in milliseconds, since an alarm must be in the future. */
const SOON_MS = 500
/** Time after which an agent that waits for a process is asked whether to go on, in milliseconds. */
const LOOK_MS = 15 * 60_000
/** Time between the end of a wait and the time limit of the tool call, in milliseconds. */
const MARGIN_MS = 5_000

const SERVICE_STOPPED = new Error('the service was stopped')

/** Record of a running process on disk, so that it is known after a restart. */
const Record = z.object({
  v: z.literal(1),
  process_id: z.string(),
  command: z.string(),
  pid: z.int().nullable(),
  started_at: z.int(),
  /** The goal for which it was started; null for a task or a conversation, which get no messages about it. */
  goal_id: z.string().nullable().default(null),
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
  /** Time that its agent still wants to wait for its end, in milliseconds, longer than one call may wait. */
  wait_ms?: number | undefined
  /** The alarms with messages about it, until the agent has read of its end. */
  alarms: string[]
  ended: Promise<void>
}

/** The call by which an agent reads an output. */
type Reader = Reach & Pick<ToolCall, 'agent_id' | 'goal_id' | 'result_tokens' | 'signal' | 'effect'>

/** Programs that run in the background for agents. They end with their agent and with the service. */
export class BackgroundProcesses implements Processes {
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
    const { agent_id, goal_id, signal } = call
    const running = this.#of(agent_id).filter(({ end }) => end === undefined)
    if (running.length >= MAX_RUNNING) {
      const names = running.map(({ record }) => record.process_id).join(', ')
      throw new CommandError({
        problem: `${MAX_RUNNING} processes are already running (${names}), which is the maximum; stop one with process_stop`,
      })
    }
    const process_id = this.#svc.ports.ids.make('proc', 8)
    const started_at = this.#svc.clock.ms()
    const record: Record = { v: 1, process_id, command, pid: null, started_at, goal_id, reported: false }
    const each: Background = {
      record,
      agent_id,
      log: new BackgroundLog(),
      stop: new AbortController(),
      alarms: [],
      ended: Promise.resolve(),
    }
    this.#all.set(process_id, each)
    each.ended = this.#run(each, request)
    await this.#wait(START_MS, signal, () => each.ended)
    if (each.end !== undefined) return this.#render(each, call)
    return `Started in the background as ${process_id}; process_output reads its output. ${howToWait(record, call)}`
  }

  /**
   * Returns the output of a process since the last read.
   * @param wait_ms maximum time to wait until the process ends. The call waits less than its time limit; for the rest of
   * the time the goal that started the process waits.
   * @param untilOutput whether to wait only until the process pauses after new output
   */
  async read(call: Reader, process_id: string, wait_ms: number, untilOutput: boolean): Promise<string> {
    const each = this.#find(call.agent_id, process_id)
    if (!each) return this.#lostOutput(call.agent_id, process_id)
    const { clock, config } = this.#svc
    const limit_ms = Number(config.get('daemon.tool_timeout') ?? 0) * 1000
    const most_ms = limit_ms > 0 ? Math.max(0, Math.min(wait_ms, limit_ms - MARGIN_MS)) : wait_ms
    await this.#wait(most_ms, call.signal, over =>
      untilOutput ? Promise.race([each.log.waitForPause(clock, over), each.ended]) : each.ended,
    )
    const left_ms = wait_ms - most_ms
    const isOwn = each.record.goal_id !== null && each.record.goal_id === call.goal_id
    each.wait_ms = left_ms > 0 && isOwn && !untilOutput && this.#svc.has(Reminders) ? left_ms : undefined
    return this.#render(each, call)
  }

  async waitFor(goal_id: string, onlyAsked = false): Promise<Effect[][]> {
    if (!this.#svc.has(Reminders)) return []
    const running = [...this.#all.values()].filter(({ record, end }) => record.goal_id === goal_id && end === undefined)
    const now = this.#svc.clock.ms()
    const message = 'still runs. If you need it no longer, end it with process_stop.'
    return Promise.all(
      running
        .filter(({ wait_ms }) => !onlyAsked || wait_ms !== undefined)
        .map(async each => {
          const at = now + (each.wait_ms ?? LOOK_MS)
          each.wait_ms = undefined
          return [...this.#withdrawals(each), ...(await this.#messageEffects(each, message, at))]
        }),
    )
  }

  /** Returns the id of the agent's running process; undefined unless there is exactly one. */
  onlyRunning({ agent_id }: Reader): string | undefined {
    const running = this.#of(agent_id).filter(({ end }) => end === undefined)
    return running.length === 1 ? running[0]!.record.process_id : undefined
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
    const lost = await this.#listLost(call.agent_id)
    lines.push(...lost.map(record => `${lineOf(record)}: ${this.#stateOfLost(record)}`))
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
    const warn = (error: unknown) => this.#svc.log.warn({ agent_id }, errorMessage(error))
    const save = () => this.#save(agent_id, record).catch(warn)
    let saved = save()
    try {
      const end = await this.#svc.use(Sandbox).run({
        ...request,
        signal: stop.signal,
        time_limit_ms: LONGEST_MS,
        limits: LONG_RUNNING,
        started: pid => {
          record.pid = pid
          saved = saved.then(save)
        },
        wrote: text => log.add(text),
      })
      each.end = outcomeOf(end)
    } catch (error) {
      each.end = `ended: ${errorMessage(error).replace(/\.$/, '')}`
    }
    await saved
    // A record stays of a process that the service stops, so that it is known after the restart.
    if (stop.signal.reason !== SERVICE_STOPPED) await this.#removeRecord(record, agent_id).catch(warn)
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
    const withdrawn = this.#withdrawals(each)
    const made = await this.#messageEffects(each, `has ${each.end}. Read its output with process_output.`)
    await this.#svc.use(Store).apply([...withdrawn, ...made])
  }

  /** Announces to agents the processes that ended with an earlier process of the service. */
  async announceLost(): Promise<void> {
    const agents = await this.#svc.ports.files.readdir(this.#journals).catch(() => [])
    for (const agent_id of agents) {
      const gone = (await this.#listLost(agent_id)).filter(
        ({ pid, reported }) => !reported && pid !== null && !isAlive(pid),
      )
      for (const record of gone) {
        const message =
          'has ended, because the service was restarted. Its output is lost; start it again if you need it.'
        await this.#messageEffects({ agent_id, record, alarms: [] }, message)
          .then(effects => this.#svc.use(Store).apply(effects))
          .catch(error => this.#svc.log.warn({ agent_id }, errorMessage(error)))
        await this.#save(agent_id, { ...record, reported: true })
      }
    }
  }

  /** Returns the writes of a message for the goal of a process, which wakes the agent; none if that goal is not active. */
  async #messageEffects(
    { agent_id, record, alarms }: Pick<Background, 'agent_id' | 'record' | 'alarms'>,
    message: string,
    at = this.#svc.clock.ms() + SOON_MS,
  ): Promise<Effect[]> {
    const { process_id, command, goal_id } = record
    if (goal_id === null || !this.#svc.has(Reminders)) return []
    const description = `Background process ${process_id} (${command.slice(0, 200)}) ${message}`
    const reminder = { agent_id, goal_id, description, at, created_by: 'process' } as const
    const { alarm_id, effects } = await this.#svc.use(Reminders).make(reminder)
    alarms.push(alarm_id)
    return effects
  }

  /** Returns the writes that withdraw the unread messages about a process. */
  #withdrawals({ agent_id, alarms }: Background): Effect[] {
    return alarms.splice(0).flatMap(alarm_id => this.#svc.use(Reminders).withdraw({ alarm_id, agent_id }))
  }

  /** Withdraws the message about an end of which the agent reads by this call. */
  async #withdrawMessage(each: Background, call: Reader): Promise<void> {
    await each.ended
    for (const write of this.#withdrawals(each)) call.effect(write)
  }

  async #render(each: Background, call: Reader): Promise<string> {
    const { record, log, end } = each
    const { text, missing } = log.take()
    const tokens = Math.min(contentTokens(call.result_tokens), PROGRAM_TOKENS)
    const { shown, note } = await this.#svc.use(Sandbox).shorten(text.trimEnd(), call, { tokens, missing })
    const way =
      each.wait_ms === undefined ? howToWait(record, call) : 'Your goal waits for its end now; you get a message.'
    const state = end ?? `is running; end it with process_stop. ${way}`
    if (end !== undefined) await this.#withdrawMessage(each, call)
    return [...(shown === '' ? [] : [shown]), `[${record.process_id} ${state}]`, ...(note ? [`[${note}]`] : [])].join(
      '\n',
    )
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
    const gone = (await this.#listLost(agent_id)).filter(({ pid }) => pid === null || !isAlive(pid))
    for (const record of gone.slice(0, -MAX_ENDED)) await this.#removeRecord(record, agent_id)
  }

  /** Returns what is known of a process that another service process started. */
  async #lostOutput(agent_id: string, process_id: string): Promise<string> {
    const record = (await this.#listLost(agent_id)).find(each => each.process_id === process_id)
    if (record) return `[${process_id}: ${this.#stateOfLost(record)}]`
    const id = JSON.stringify(process_id.slice(0, 100))
    throw new CommandError({
      problem: `you have no process ${id}; process_output without process_id lists your processes`,
    })
  }

  #stateOfLost({ pid }: Record): string {
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
  async #listLost(agent_id: string): Promise<Record[]> {
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

/** Says how an agent waits for the end of a process. It gets a message only in the goal that started the process. */
function howToWait({ process_id, goal_id }: Record, call: Pick<Reader, 'goal_id'>): string {
  return goal_id === null || goal_id !== call.goal_id
    ? 'To wait for its end, use process_output with wait_seconds.'
    : `To wait for its end, use process_output with wait_seconds, or answer "I wait for ${process_id}" without a tool call; you get a message.`
}

function lineOf({ process_id, command, started_at }: Record): string {
  return `${process_id}  ${command.slice(0, 200)}  (since ${isoTime(started_at)})`
}

function outcomeOf({ code, signal, timed_out, limits }: ProcessEnd): string {
  if (timed_out) return 'ended: it ran for three days, which is the limit'
  const end = signal === null ? `ended with exit code ${code}` : `ended by ${signal}`
  return limits === undefined ? end : `${end}. ${limits.replace(/\.$/, '')}`
}
