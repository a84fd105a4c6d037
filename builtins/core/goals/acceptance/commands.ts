import { errorMessage, type PluginHandle, token } from '#kernel'
import { withoutRecording } from '#lib/recording-context'
import { Store, wakeAgents } from '#platform/store/contract'
import { Shell } from '#tools/toolkits/shell/contract'
import type { GoalsConfig } from '../config.ts'
import { mayRun } from '../goals.ts'
import type { Claimed } from './judge.ts'

/** Time for which a cycle waits for commands; after that the agent is woken when they end. In milliseconds. */
const WAIT_MS = 30_000
/** Interval at which a job looks whether its agent may still run programs, in milliseconds. */
const LOOK_MS = 2_000
/** Maximum number of characters of a command's output. */
const LONGEST = 2_000

/** How a command ended. */
export interface CommandEnd {
  /** Whether it exited with 0; null when it was stopped at its time limit, so that it is unknown. */
  met: boolean | null
  problem: string | null
}

/** The commands that check one claim; they run on between cycles. */
interface Job {
  claim: string
  stop: AbortController
  /** undefined if the job was stopped. */
  ends: Promise<CommandEnd[] | undefined>
  /** Whether a cycle ended without the result. */
  isAwaited: boolean
}

/** The commands of the project whose goals are checked. */
export const OwnCommands = token<AcceptanceCommands>('goals/acceptance-commands')

/** Runs the commands by which goals are accepted, which may take longer than a cycle. */
export class AcceptanceCommands {
  readonly #svc: PluginHandle
  readonly #config: Pick<GoalsConfig, 'acceptance_timeout'>
  readonly #jobs = new Map<string, Job>()

  constructor(svc: PluginHandle, config: Pick<GoalsConfig, 'acceptance_timeout'>) {
    this.#svc = svc
    this.#config = config
  }

  /**
   * Runs the commands of a claim one after another.
   * @returns how each ended; null if they still run or were stopped, and the same claim is to be checked again later
   */
  async run(claimed: Claimed, commands: readonly string[], signal: AbortSignal): Promise<CommandEnd[] | null> {
    if (commands.length === 0) return []
    const { goal, summary } = claimed
    const { goal_id } = goal
    const claim = JSON.stringify([goal.refusals, summary, commands])
    const earlier = this.#jobs.get(goal_id)
    if (earlier?.claim !== claim) earlier?.stop.abort()
    const job = earlier?.claim === claim ? earlier : withoutRecording(() => this.#begin(claimed, claim, commands))
    const waited = new AbortController()
    const over = AbortSignal.any([signal, waited.signal])
    const limit = job.isAwaited ? Promise.resolve() : this.#svc.clock.sleep(WAIT_MS, over)
    const ends = await Promise.race([job.ends, limit.then(() => undefined)]).finally(() => {
      limit.catch(() => {})
      waited.abort()
    })
    if (ends) this.#jobs.delete(goal_id)
    else job.isAwaited = true
    return ends ?? null
  }

  /** Returns whether this process runs commands that check a claim of the goal. */
  areRunning(goal_id: string): boolean {
    return this.#jobs.get(goal_id)?.isAwaited === true
  }

  /** Stops all commands and waits until they have ended. */
  async stopAll(): Promise<void> {
    const jobs = [...this.#jobs.values()]
    for (const { stop } of jobs) stop.abort()
    await Promise.all(jobs.map(({ ends }) => ends))
  }

  #begin(claimed: Claimed, claim: string, commands: readonly string[]): Job {
    const { goal_id, agent_id } = claimed.goal
    const job: Job = { claim, stop: new AbortController(), ends: Promise.resolve(undefined), isAwaited: false }
    this.#jobs.set(goal_id, job)
    void this.#watch(goal_id, job.stop)
    job.ends = this.#runAll(claimed, commands, job.stop.signal).finally(async () => {
      const isStopped = job.stop.signal.aborted
      job.stop.abort()
      if (isStopped && this.#jobs.get(goal_id) === job) this.#jobs.delete(goal_id)
      if (isStopped || !job.isAwaited) return
      const woken = this.#svc.use(Store).apply([wakeAgents({ agents: [agent_id], reason: 'acceptance' })])
      await woken.catch(error => this.#svc.log.warn({ agent_id, goal_id }, errorMessage(error)))
    })
    return job
  }

  /** Stops a job when its goal ends, its agent is paused or the daemon is frozen, also by another process. */
  async #watch(goal_id: string, stop: AbortController): Promise<void> {
    const { clock, log } = this.#svc
    while (!stop.signal.aborted) {
      await clock.sleep(LOOK_MS, stop.signal).catch(() => {})
      if (stop.signal.aborted) return
      const may = await mayRun(this.#svc, goal_id).catch(error => {
        log.warn({ goal_id }, errorMessage(error))
        return 'now'
      })
      if (may !== 'now') stop.abort()
    }
  }

  /** Never rejects. */
  async #runAll(claimed: Claimed, commands: readonly string[], signal: AbortSignal) {
    const ends: CommandEnd[] = []
    for (const command of commands) {
      ends.push(await this.#runOne(claimed, command, signal))
      if (signal.aborted) return undefined
    }
    return ends
  }

  async #runOne({ reach }: Claimed, command: string, signal: AbortSignal): Promise<CommandEnd> {
    const seconds = this.#config.acceptance_timeout
    try {
      const end = await this.#svc.use(Shell).run(command, { ...reach, signal, time_limit_ms: seconds * 1000 })
      if (end.code === 0) return { met: true, problem: null }
      const text = end.text.slice(-LONGEST)
      if (!end.timed_out) return { met: false, problem: `The command \`${command}\` does not exit with 0:\n${text}` }
      const problem = `svc stopped the command \`${command}\` at its time limit of ${seconds} s, so whether it exits with 0 is unknown; only the operator can raise the limit (daemon.acceptance_timeout):\n${text}`
      return { met: null, problem }
    } catch (error) {
      return { met: false, problem: `The command \`${command}\` could not be run: ${errorMessage(error)}` }
    }
  }
}
