import { createInterface } from 'node:readline'
import type { AgentDetail } from '#core/agents/contract'
import { PROFILE_TOOLKITS } from '#core/runtime/contract'
import type { Session } from '#core/sessions/contract'
import type { StreamEvent } from '#lib/stream'
import { describeTaskEnd } from '#lib/task-end'
import type { Context, HandWritten } from '../context.ts'
import { Calls, operationRef } from '../operations/calls.ts'
import { findProject } from '../project/project.ts'
import { GrowingAnswer } from '../screen/growing.ts'
import { INTERRUPTED } from '../screen/interrupt.ts'
import { printable, printableJson } from '../screen/printable.ts'
import { report } from '../screen/report.ts'
import { callLineOf, endIn } from '../screen/task-end.ts'
import { withElapsedTime } from '../screen/waiting.ts'

const AGENT = operationRef('agents.get', 'GET', '/agents/{id}')
const OPEN = operationRef('sessions.create', 'POST', '/sessions')
const ASK = operationRef('tasks.stream', 'POST', '/agents/{id}/tasks/stream')
const TOOLS = operationRef('tools.list', 'GET', '/agents/{id}/tools')
const TRANSCRIPT = operationRef('tasks.transcript', 'GET', '/sessions/{session_id}/transcript')

const HELP = `/tools     list the tools of the agent
/history   show the messages of this session
/session   show the session's id, for svc session transcript
/quit      leave; the same command resumes this session
Ctrl-C     stop an answer; at the prompt, leave the chat`

/** Chats with an agent in one session, with streamed answers. */
const chat: HandWritten = async ({ id, session }, context) => {
  const { ports, named } = context
  await using calls = new Calls(await findProject(ports, named), context)
  const { agent_id } = await calls.call<AgentDetail>(AGENT, { id: String(id) })
  const { session_id } = await calls.call<Session>(OPEN, { agent_id, session_key: String(session ?? 'chat') })
  // Awaited here, because the calls are closed afterwards.
  return await new Chat(calls, agent_id, session_id, context).run()
}
export default chat

class Chat {
  readonly #calls: Calls
  readonly #agent_id: string
  readonly #session_id: string
  readonly #context: Context
  #answer: AbortController | undefined
  #exit = 0

  constructor(calls: Calls, agent_id: string, session_id: string, context: Context) {
    this.#calls = calls
    this.#agent_id = agent_id
    this.#session_id = session_id
    this.#context = context
  }

  /**
   * Runs until the input ends.
   * @returns exit code 1 if the last answer failed
   */
  async run(): Promise<number> {
    const { terminal, json } = this.#context
    const isTyped = process.stdin.isTTY === true && terminal.columns !== undefined
    const lines = createInterface({
      input: process.stdin,
      terminal: isTyped,
      ...(isTyped ? { output: process.stdout } : {}),
    })
    lines.setPrompt(`${terminal.style.bold(this.#agent_id)} › `)
    const interrupt = () => {
      if (this.#answer) return this.#answer.abort()
      this.#exit = INTERRUPTED
      lines.close()
    }
    lines.on('SIGINT', interrupt)
    process.on('SIGINT', interrupt)
    const prompt = () => isTyped && lines.prompt()
    if (isTyped) terminal.out(terminal.style.dim('/help lists the commands of this chat'))
    try {
      prompt()
      for await (const line of lines) {
        if (line.trim() === '/quit' || line.trim() === '/exit') break
        await this.#take(line.trim()).catch((error: unknown) => {
          this.#exit = report(error, terminal, json)
        })
        prompt()
      }
      return this.#exit
    } finally {
      process.off('SIGINT', interrupt)
      lines.close()
    }
  }

  async #take(line: string): Promise<void> {
    const { terminal } = this.#context
    if (line === '') return
    if (line === '/help') terminal.out(HELP)
    else if (line === '/session') terminal.out(this.#session_id)
    else if (line === '/tools') await this.#tools()
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
        id: this.#agent_id,
        instruction,
        session_id: this.#session_id,
        toolkits: [PROFILE_TOOLKITS],
        tool_calls: true,
      }
      const events = await withElapsedTime(terminal, ports.clock, () => this.#calls.stream(ASK, input, stop.signal))
      this.#exit = 0
      await this.#printEvents(events)
    } catch (error) {
      if (!stop.signal.aborted) throw error
      terminal.err('\n(ended)')
    } finally {
      this.#answer = undefined
    }
  }

  async #printEvents(events: AsyncIterable<StreamEvent>): Promise<void> {
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
      else if (end) {
        answer.end(end)
        if (end.status !== 'completed') terminal.err(printable(describeTaskEnd(end)))
      }
    }
  }

  async #tools(): Promise<void> {
    const { tools } = await this.#calls.call<{ tools: { name: string; description: string }[] }>(TOOLS, {
      id: this.#agent_id,
    })
    for (const { name, description } of tools) {
      this.#context.terminal.out(printable(`${name}  ${description.split('\n')[0]}`))
    }
  }

  async #history(): Promise<void> {
    const said = await this.#calls.call<{ role: string; content: string }[]>(TRANSCRIPT, {
      session_id: this.#session_id,
    })
    for (const { role, content } of said) this.#context.terminal.out(printable(`${role}: ${content}`))
    if (said.length === 0) this.#context.terminal.out('no messages yet')
  }
}
