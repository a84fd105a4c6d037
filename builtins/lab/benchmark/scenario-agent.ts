import { basename, dirname, join } from 'node:path'
import { type AgentDetail, Agents, agentReach } from '#core/agents/contract'
import type { Goal } from '#core/goals/contract'
import type { TaskResponse } from '#core/tasks/contract'
import { errorMessage, type Kernel, type Ports } from '#kernel'
import { jsonOrText } from '#lib/tree'
import type { CycleResult } from '#platform/heartbeat/contract'
import { Store, wakeAgents } from '#platform/store/contract'
import { Toolkits } from '#tools/toolkits/contract'
import { Shell } from '#tools/toolkits/shell/contract'
import type { CompletedCall, Outcome } from './checks.ts'
import type { Scenario } from './contract.ts'
import { propsOf } from './props.ts'

/** Result of a scenario before its checks. */
export interface ScenarioOutcome extends Outcome {
  /** Reason for a missing answer, such as `max_steps` or an error code; null when there is one. */
  failure: string | null
  detail: string | null
  /** Score from 0 to 1 of a scenario that computes its own. */
  share?: number
}

/** Number of consecutive failed cycles without a tool call after which the pursuit counts as failed. */
const FAILED_CYCLES = 2
/** Time limit of a command that checks a result, in milliseconds. */
const CHECK_LIMIT = 60_000
const FAILURES = { completed: 'claimed', abandoned: 'gave_up', active: 'not_done' } as const

/** An agent that runs one scenario, in a trial. */
export class ScenarioAgent {
  readonly #kernel: Kernel
  readonly #ports: Ports
  readonly #scenario: Scenario
  readonly #profile: string | undefined
  readonly #called: CompletedCall[] = []
  #detail!: AgentDetail

  /** @param profile replaces the scenario's preset */
  constructor(kernel: Kernel, scenario: Scenario, profile?: string) {
    this.#profile = profile
    this.#kernel = kernel
    this.#ports = kernel.ports
    this.#scenario = scenario
  }

  /**
   * Runs the scenario.
   * @param model name of the model, as given
   */
  async perform(model: string, cycles: number, signal: AbortSignal): Promise<ScenarioOutcome> {
    const { asks, tools, mode, name, preset } = this.#scenario
    const undo = [
      this.#kernel.points.add(Toolkits, propsOf(tools), 'benchmark'),
      this.#kernel.hooks.on('tool_result', each => this.#recordCall(each), 'benchmark'),
    ]
    try {
      this.#detail = (await this.#kernel.invoke('agents.spawn', {
        preset: (preset && this.#profile) ?? preset ?? name,
        model,
      })) as AgentDetail
      await this.#writeFiles(this.#scenario.files)
      if (mode === 'goals') return await this.#goals(cycles, signal)
      if (mode === 'pursuit') return await this.#pursue(asks[0] ?? '', cycles, signal)
      return await this.#answer(asks, signal)
    } finally {
      for (const fn of undo) await fn()
    }
  }

  /** Deletes the agent, so that later agents do not learn of it. */
  async leave(): Promise<void> {
    if (this.#detail) await this.#kernel.invoke('agents.delete', { id: this.#detail.agent_id })
  }

  async #answer(asks: readonly string[], signal: AbortSignal): Promise<ScenarioOutcome> {
    const { max_steps, schema } = this.#scenario
    let last: TaskResponse | undefined
    for (const [n, instruction] of asks.entries()) {
      signal.throwIfAborted()
      const form = schema && n === asks.length - 1 ? { response_schema: schema } : {}
      const input = { id: this.#detail.agent_id, instruction, max_steps, ...form }
      last = (await this.#kernel.invoke('tasks.run', input, { signal })) as TaskResponse
      signal.throwIfAborted()
      if (last.status !== 'completed') break
    }
    const failed = last?.status === 'completed' ? null : (last?.error?.code ?? last?.status ?? 'failed')
    const detail = last?.error?.detail ?? null
    return { ...this.#outcome(last?.output ?? '', last?.parsed), failure: failed, detail }
  }

  async #pursue(objective: string, cycles: number, signal: AbortSignal): Promise<ScenarioOutcome> {
    const { agent_id } = this.#detail
    const { acceptance, ends } = this.#scenario
    const goal = (await this.#kernel.invoke('goals.add', { id: agent_id, objective, acceptance })) as Goal
    let now = goal
    let failed = 0
    for (let n = 0; n < cycles && now.status === 'active'; n++) {
      const before = this.#called.length
      const result = await this.#cycle(signal)
      // A cycle that failed after tool calls has done work, so the count begins anew.
      const isFailed = (result === 'error' || result === 'timeout') && this.#called.length === before
      failed = isFailed ? failed + 1 : 0
      if (failed === FAILED_CYCLES) return this.#failedPerformance(result)
      now = (await this.#kernel.invoke('goals.get', { goal_id: goal.goal_id })) as Goal
      // Questions to the operator are answered at once, and cost the agent no cycle.
      if (now.question_id && this.#scenario.operator !== undefined) await this.#answerQuestion(now.question_id)
    }
    const failure = now.status === ends ? null : FAILURES[now.status]
    return { ...this.#outcome(now.result ?? '', null), failure, detail: failure && now.result }
  }

  async #answerQuestion(question_id: string): Promise<void> {
    await this.#kernel.invoke('questions.answer', { question_id, answer: this.#scenario.operator })
  }

  /** Lets the agent choose a goal this number of times, and removes each again. */
  async #goals(cycles: number, signal: AbortSignal): Promise<ScenarioOutcome> {
    const { agent_id } = this.#detail
    const taken: string[] = []
    for (let n = 0; n < cycles; n++) {
      const result = await this.#cycle(signal)
      if (result === 'error' || result === 'timeout') return this.#failedPerformance(result)
      const [goal] = (await this.#kernel.invoke('goals.list', { id: agent_id })) as Goal[]
      if (goal?.status !== 'active') continue
      taken.push(goal.objective)
      await this.#kernel.invoke('goals.abandon', {
        goal_id: goal.goal_id,
        reason: 'Only the choice of the goal was requested.',
      })
    }
    const share = taken.length / cycles
    const detail = `${taken.length} of ${cycles} cycles produced an accepted goal`
    return { ...this.#outcome(taken.at(-1) ?? '', null), failure: share === 1 ? null : 'no_goal', detail, share }
  }

  /** Runs one cycle of the agent now. */
  async #cycle(signal: AbortSignal): Promise<CycleResult> {
    signal.throwIfAborted()
    const { agent_id } = this.#detail
    let result: CycleResult | undefined
    const undo = this.#kernel.hooks.on('cycle_end', ended => {
      if (ended.agent_id === agent_id) result = ended.result as CycleResult
    })
    try {
      await this.#kernel.use(Store).apply([wakeAgents({ agents: [agent_id], reason: 'benchmark' })])
      while (result === undefined && !signal.aborted) {
        if (!(await this.#kernel.heartbeat.step(signal))) await this.#ports.clock.sleep(5, signal)
      }
      signal.throwIfAborted()
      return result!
    } finally {
      void undo()
    }
  }

  async #failedPerformance(failure: string): Promise<ScenarioOutcome> {
    const { error } = await this.#kernel.use(Agents).find(this.#detail.agent_id)
    return { ...this.#outcome('', null), failure: failure === 'error' ? 'model_error' : failure, detail: error }
  }

  #outcome(answer: string, parsed: unknown): Outcome {
    const { files } = this.#ports
    const file = (path: string) => files.readFile(join(this.#detail.workspace, path), 'utf8').catch(() => undefined)
    return { answer, parsed, called: this.#called, file, run: (command, given) => this.#run(command, given) }
  }

  async #run(command: string, given: Readonly<Record<string, string>>) {
    const { files } = this.#ports
    const agent = await this.#kernel.use(Agents).find(this.#detail.agent_id)
    const reach = agentReach(this.#kernel.project, agent)
    // A new folder, because the agent may have planted links at a predictable path.
    const folder = await files.mkdtemp(join(this.#detail.workspace, 'check-'))
    try {
      for (const [path, text] of Object.entries(given)) await files.writeFile(join(folder, path), text)
      const line = command.replaceAll('{check}', basename(folder))
      return await this.#kernel.use(Shell).run(line, { ...reach, signal: AbortSignal.timeout(CHECK_LIMIT) })
    } catch (error) {
      return { code: null, text: errorMessage(error) }
    } finally {
      await files.rm(folder, { recursive: true, force: true })
    }
  }

  async #recordCall({ agent_id, tool, arguments: args }: { agent_id: string; tool: string; arguments: string }) {
    if (agent_id !== this.#detail?.agent_id) return
    this.#called.push({ tool, arguments: jsonOrText(args) })
    const arrived = this.#scenario.arrivals.find(({ after }) => after === this.#called.length)
    if (arrived) await this.#writeFiles(arrived.files)
  }

  async #writeFiles(given: Scenario['files']): Promise<void> {
    for (const [path, text] of Object.entries(typeof given === 'function' ? given() : given)) {
      const file = join(this.#detail.workspace, path)
      await this.#ports.files.mkdir(dirname(file), { recursive: true })
      await this.#ports.files.writeFile(file, text)
    }
  }
}
