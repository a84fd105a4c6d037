import type { AgentDetail } from '#core/agents/contract'
import type { Goal } from '#core/goals/contract'
import { PROFILE_TOOLKITS } from '#core/runtime/contract'
import type { Session } from '#core/sessions/contract'
import { isWaiting, type Task, type TaskMessage } from '#core/tasks/contract'
import { brief } from '#lib/brief'
import type { StreamEvent } from '#lib/stream'
import { describeTaskEnd, type TaskEnd } from '#lib/task-end'
import { describeMessage } from '#lib/transcript-text'
import type { Context, HandWritten } from '../context.ts'
import { Calls, operationRef } from '../operations/calls.ts'
import { findProject } from '../project/project.ts'
import { GrowingAnswer } from '../screen/growing.ts'
import { INTERRUPTED } from '../screen/interrupt.ts'
import { MessageReader } from '../screen/messages.ts'
import { printable, printableJson } from '../screen/printable.ts'
import { report } from '../screen/report.ts'
import { callLineOf, endIn } from '../screen/task-end.ts'
import { withElapsedTime } from '../screen/waiting.ts'

const AGENT = operationRef('agents.get', 'GET', '/agents/{id}')
const OPEN = operationRef('sessions.create', 'POST', '/sessions')
const ASK = operationRef('tasks.stream', 'POST', '/agents/{id}/tasks/stream')
const TASKS = operationRef('tasks.list', 'GET', '/agents/{id}/tasks')
const FOLLOW = operationRef('tasks.follow', 'GET', '/tasks/{task_id}/stream')
const GOALS = operationRef('goals.list', 'GET', '/agents/{id}/goals')
const TOOLS = operationRef('tools.list', 'GET', '/agents/{id}/tools')
const TRANSCRIPT = operationRef('tasks.transcript', 'GET', '/sessions/{session_id}/transcript')

/** Time before a broken stream of a waiting task is opened again, in milliseconds. */
const AGAIN_MS = 1_000
/** Number of newest tasks among which the chat looks for open ones when it starts. */
const TASKS_SEEN = 20
/** Number of goals that `/goals` lists. */
const GOALS_SHOWN = 10

/** A task that ended after it had waited for people, or waits again. */
interface LateEnd {
  instruction: string
  end: TaskEnd
}

const HELP = `/tools     list the tools that the agent has in this chat
/goals     list the newest goals of the agent
/history   show the messages of this session
/session   show the session's id, for svc session transcript
/quit      leave; the same command resumes this session
Ctrl-C     stop an answer and drop what you typed meanwhile; at the prompt, leave the chat

Pasted lines are one message, which Enter sends. To type several lines, end each but the last with \\.`
const COMMANDS = ['/help', '/tools', '/goals', '/history', '/session', '/quit', '/exit']

/** Chats with an agent in one session, with streamed answers. */
const chat: HandWritten = async ({ id, session }, context) => {
  const { ports, named } = context
  await using calls = new Calls(await findProject(ports, named), context)
  const agent = await calls.call<AgentDetail>(AGENT, { id: String(id) })
  const { agent_id } = agent
  const { session_id } = await calls.call<Session>(OPEN, { agent_id, session_key: String(session ?? 'chat') })
  // Awaited here, because the calls are closed afterwards.
  return await new Chat(calls, agent, session_id, context).run()
}
export default chat

class Chat {
  readonly #calls: Calls
  readonly #agent: AgentDetail
  readonly #session_id: string
  readonly #context: Context
  readonly #reader: MessageReader
  /** Aborted when the chat ends. */
  readonly #over = new AbortController()
  /** Ends of earlier tasks that came during an answer. */
  readonly #late: LateEnd[] = []
  #answer: AbortController | undefined
  #exit = 0

  constructor(calls: Calls, agent: AgentDetail, session_id: string, context: Context) {
    const { terminal, ports } = context
    this.#calls = calls
    this.#agent = agent
    this.#session_id = session_id
    this.#context = context
    const prompt = `${terminal.style.bold(printable(agent.name))} › `
    const isCommand = (line: string) => COMMANDS.includes(line)
    this.#reader = new MessageReader({ terminal, clock: ports.clock }, prompt, isCommand, this.#interrupt)
  }

  /**
   * Runs until the input ends.
   * @returns exit code 1 if the last answer failed
   */
  async run(): Promise<number> {
    const { terminal, json } = this.#context
    process.on('SIGINT', this.#interrupt)
    if (this.#reader.isTyped) terminal.out(terminal.style.dim('/help lists the commands of this chat'))
    try {
      if (this.#reader.isTyped) await this.#showOpen()
      this.#reader.prompt()
      for await (const message of this.#reader.read()) {
        if (message === '/quit' || message === '/exit') break
        await this.#take(message).catch((error: unknown) => {
          this.#exit = report(error, terminal, json)
        })
        for (const late of this.#late.splice(0)) this.#printLate(late)
        this.#reader.prompt()
      }
      return this.#exit
    } finally {
      this.#over.abort()
      process.off('SIGINT', this.#interrupt)
      this.#reader.close()
    }
  }

  /** Shows the tasks of the session that wait or run, such as those of a terminal that was closed. */
  async #showOpen(): Promise<void> {
    const { agent_id: id } = this.#agent
    const tasks = await this.#calls.call<Task[]>(TASKS, { id, session_id: this.#session_id, limit: TASKS_SEEN })
    for (const task of tasks.toReversed()) {
      if (isOpen(task)) this.#printLate({ instruction: task.instruction, end: task })
    }
  }

  readonly #interrupt = () => {
    const isDropped = this.#reader.drop()
    if (this.#answer) this.#answer.abort()
    else if (isDropped) this.#reader.prompt()
    else {
      this.#exit = INTERRUPTED
      this.#reader.close()
    }
  }

  async #take(line: string): Promise<void> {
    const { terminal } = this.#context
    if (line === '') return
    if (line === '/help') terminal.out(HELP)
    else if (line === '/session') terminal.out(this.#session_id)
    else if (line === '/tools') await this.#tools()
    else if (line === '/goals') await this.#goals()
    else if (line === '/history') await this.#history()
    else if (/^\/[a-z]+$/.test(line)) terminal.err(`Unknown command ${line}. Commands:\n${HELP}`)
    else await this.#ask(line)
  }

  async #ask(instruction: string): Promise<void> {
    const { terminal, ports } = this.#context
    const stop = new AbortController()
    this.#answer = stop
    try {
      const input = {
        id: this.#agent.agent_id,
        instruction,
        session_id: this.#session_id,
        toolkits: [PROFILE_TOOLKITS],
        tool_calls: true,
      }
      const events = await withElapsedTime(terminal, ports.clock, () => this.#calls.stream(ASK, input, stop.signal))
      this.#exit = 0
      await this.#printEvents(events, instruction)
    } catch (error) {
      if (!stop.signal.aborted) throw error
      terminal.err('\n(ended)')
    } finally {
      this.#answer = undefined
    }
  }

  async #printEvents(events: AsyncIterable<StreamEvent>, instruction: string): Promise<void> {
    const { terminal, json } = this.#context
    const answer = new GrowingAnswer(terminal)
    for await (const event of events) {
      const end = endIn(event)
      if (end?.status === 'failed') this.#exit = 1
      const call = callLineOf(event)
      if (json) {
        if (call === undefined) terminal.out(printableJson(JSON.stringify(event)))
      } else if (call !== undefined) answer.call(call)
      else if (event.event === 'token') answer.grow((event.data as { text: string }).text)
      else if (event.event === 'reset') answer.reset()
      else if (end) this.#printEnd(answer, end)
      if (end && isWaiting(end.status ?? '') && this.#reader.isTyped) void this.#showLater({ instruction, end })
    }
  }

  #printEnd(answer: GrowingAnswer, end: TaskEnd): void {
    answer.end(end)
    if (end.status !== 'completed') this.#context.terminal.err(printable(describeTaskEnd(end)))
  }

  /** Shows how a task ends that waits for people: its stream ended when it began to wait. */
  async #showLater({ instruction, end: { task_id } }: LateEnd): Promise<void> {
    const { ports } = this.#context
    const { signal } = this.#over
    this.#context.terminal.err('The answer is then shown in this chat too.')
    for (;;) {
      const end = await this.#followToEnd(task_id, signal).catch(() => undefined)
      if (signal.aborted) return
      if (end) {
        const late = { instruction, end }
        if (this.#answer) this.#late.push(late)
        else this.#reader.printAbove(() => this.#printLate(late))
        return
      }
      // The daemon restarted.
      await ports.clock.sleep(AGAIN_MS, signal)
    }
  }

  /** Returns the end of a task that waits for people; undefined if its stream broke. */
  async #followToEnd(task_id: string | undefined, signal: AbortSignal): Promise<TaskEnd | undefined> {
    let end: TaskEnd | undefined
    for await (const event of await this.#calls.stream(FOLLOW, { task_id, wait: true }, signal)) end = endIn(event)
    // An error without a task is that of the stream.
    return end?.task_id === undefined ? undefined : end
  }

  #printLate({ instruction, end }: LateEnd): void {
    const { terminal, json } = this.#context
    if (json) {
      terminal.out(printableJson(JSON.stringify({ event: 'done', data: end })))
      return
    }
    terminal.err(terminal.errStyle.dim(printable(`To: ${brief(instruction)}`)))
    this.#printEnd(new GrowingAnswer(terminal), end)
    if (isOpen(end)) void this.#showLater({ instruction, end })
  }

  async #goals(): Promise<void> {
    const goals = await this.#calls.call<Goal[]>(GOALS, { id: this.#agent.agent_id, limit: GOALS_SHOWN })
    for (const { goal_id, status, objective } of goals) {
      this.#context.terminal.out(printable(`${goal_id}  ${status}  ${brief(objective)}`))
    }
    if (goals.length === 0) this.#context.terminal.out('no goals yet')
  }

  async #tools(): Promise<void> {
    const { tools } = await this.#calls.call<{ tools: { name: string; description: string }[] }>(TOOLS, {
      id: this.#agent.agent_id,
      for_tasks: true,
    })
    for (const { name, description } of tools) {
      this.#context.terminal.out(printable(`${name}  ${description.split('\n')[0]}`))
    }
  }

  async #history(): Promise<void> {
    const messages = await this.#calls.call<TaskMessage[]>(TRANSCRIPT, { session_id: this.#session_id })
    const spoken = messages.filter(({ is_notice }) => !is_notice)
    for (const message of spoken) this.#context.terminal.out(printable(describeMessage(message)))
    if (spoken.length === 0) this.#context.terminal.out('no messages yet')
  }
}

/** Returns whether a task has not ended. */
function isOpen({ status = '' }: TaskEnd): boolean {
  return status === 'running' || isWaiting(status)
}
