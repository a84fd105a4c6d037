import { type ToolImages, withImages } from '#core/images/contract'
import { Schemas } from '#core/runtime/contract'
import { type PluginHandle, TimeLimitError, type Undo } from '#kernel'
import { keyedMutex } from '#lib/keyed-mutex'
import { orAbort } from '#lib/or-abort'
import { succeeds } from '#lib/succeeds'
import { appendEvent, isoTime, Store } from '#platform/store/contract'
import type { ToolCall } from '#tools/toolkits/contract'
import { answerOf, failureOf } from './answer.ts'
import type { McpServerSettings } from './config.ts'
import { type McpServer, McpServerDownError, McpToolHeldError, McpToolNotFoundError } from './contract.ts'
import type { ListedTool, Listing } from './listing.ts'
import { isHeld, type KnownTools, learnTools, placeOf } from './memory.ts'
import { knownOf, remember } from './repository.ts'
import { imagesOf, type ToolResult, textOf } from './result.ts'
import { Connection } from './session/connection.ts'
import { redactorFor } from './session/environment.ts'
import { statusOf } from './session/http.ts'
import { CONNECTION_CLOSED, explainError, type Session } from './session/session.ts'
import { type CallTool, toolkitName, toolkitOf } from './toolkit.ts'

const UNKNOWN = 'Whether the call took effect is unknown: check before you do it again.'

/** One configured server: its known tools, their toolkit, and their calls. */
export class Server {
  readonly name: string
  readonly settings: McpServerSettings
  readonly #svc: PluginHandle
  readonly #connection: Connection
  readonly #hide: (text: string) => string
  readonly #stop = new AbortController()
  /** Serializes reading and writing the stored state. */
  readonly #turn = keyedMutex()
  #known: KnownTools | undefined
  /** The registered toolkit, and the state from which it was created. */
  #offer: { of: string; undo: Undo } | undefined
  #shown: McpServer['tools'] = []
  #calls = 0
  #failures = 0

  constructor(svc: PluginHandle, name: string, settings: McpServerSettings) {
    this.#svc = svc
    this.name = name
    this.settings = settings
    this.#hide = redactorFor(settings, svc.ports.env)
    this.#connection = new Connection(svc, name, settings, listing => this.#learn(listing))
  }

  /**
   * Offers the tools known from earlier.
   * @param known stored state of this server
   * @param asks whether to start a server without stored state, to list its tools
   */
  open(known: KnownTools | undefined, asks: boolean): void {
    this.take(known)
    if (asks && this.settings.enabled && !this.#known) void this.#ask()
  }

  /** Takes over a state that another process learned or the operator accepted. */
  take(known: KnownTools | undefined): void {
    if (known?.place !== placeOf(this.settings)) return
    this.#known = known
    this.#show()
  }

  async look(): Promise<void> {
    this.take(await knownOf(this.#svc, this.name))
  }

  /**
   * Restarts the server and lists its tools again.
   * @throws McpServerDownError
   */
  async restart(): Promise<void> {
    if (this.settings.enabled) await this.#connection.restart()
  }

  /**
   * Accepts the current description of a tool, or of all tools.
   * @throws McpToolNotFoundError
   */
  accept(tool: string | undefined): Promise<void> {
    return this.#turn('', async () => {
      const known = await knownOf(this.#svc, this.name)
      const chosen = (known?.tools ?? []).filter(({ name }) => tool === undefined || name === tool)
      if (!known || (tool !== undefined && chosen.length === 0))
        throw new McpToolNotFoundError({ server: this.name, tool: tool ?? '*' })
      for (const { name, hash } of chosen) known.accepted[name] = hash
      await this.#svc.use(Store).apply([remember(this.name, known)])
      this.take(known)
    })
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#offer?.undo()
    this.#offer = undefined
    await this.#connection.close()
  }

  get state(): McpServer {
    const { name, settings } = this
    const { session, rest, error, restarts, state } = this.#connection
    return {
      name,
      toolkit: toolkitName(name),
      transport: settings.url ? 'http' : 'stdio',
      target: targetOf(settings),
      state: settings.enabled ? state : 'disabled',
      error,
      retry_at: rest > 0 ? isoTime(this.#svc.clock.ms() + Math.ceil(rest)) : null,
      says_it_is: this.#known?.says_it_is || null,
      pid: session?.pid ?? null,
      profiles: settings.profiles,
      pinned: settings.pin,
      calls: this.#calls,
      failures: this.#failures,
      restarts,
      tools: this.#shown,
    }
  }

  /** Connects until a server with unknown tools answers, since without tools no call would start it. */
  async #ask(): Promise<void> {
    while (!this.#known && !this.#stop.signal.aborted) {
      // Failures are already logged and shown.
      const isUp = await succeeds(this.#connection.ready())
      if (!isUp) await this.#svc.clock.sleep(this.#connection.rest, this.#stop.signal)
    }
  }

  #learn(listing: Listing): Promise<void> {
    return this.#turn('', async () => {
      const before = await knownOf(this.#svc, this.name)
      const { known, changes } = learnTools(before, listing, this.name, this.settings)
      const events = changes.map(data => appendEvent({ type: 'mcp_tool_changed', agent_id: null, data }))
      if (JSON.stringify(known) !== JSON.stringify(before))
        await this.#svc.use(Store).apply([remember(this.name, known), ...events])
      for (const { tool, change, held } of changes) {
        const what = change === 'added' ? 'is new' : 'has a changed definition'
        this.#svc.log.warn({}, `MCP server ${this.name}: its tool ${tool} ${what}${held ? ', and is held back' : ''}`)
      }
      this.take(known)
    })
  }

  #show(): void {
    if (!this.#known) return
    const of = JSON.stringify(this.#known)
    if (this.#offer?.of === of || this.#stop.signal.aborted) return
    const run: CallTool = (...args) => this.#call(...args)
    const check: Schemas['check'] = (...args) => this.#svc.use(Schemas).check(...args)
    const { toolkit, shown } = toolkitOf(this.name, this.settings, this.#known, run, check)
    this.#shown = shown
    void this.#offer?.undo()
    this.#offer = { of, undo: () => {} }
    if (!this.settings.enabled) return
    try {
      this.#offer.undo = this.#svc.toolkit(toolkit)
    } catch (error) {
      this.#svc.log.error({}, `MCP server ${this.name}: its tools are not offered: ${explainError(error)}`)
    }
  }

  async #call(...[name, tool, args, call]: Parameters<CallTool>): Promise<string | ToolImages> {
    const who = `${name} of the MCP server "${this.name}"`
    this.#calls++
    try {
      const result = await this.#callTool(tool, args, call)
      const text = this.#hide(textOf(result))
      if (result.isError !== true) {
        const answer = await answerOf(this.#svc, who, text, call)
        const images = imagesOf(result)
        return images.length > 0 ? withImages(answer, ...images) : answer
      }
      throw await failureOf(this.#svc, who, text, call)
    } catch (error) {
      this.#failures++
      throw error
    }
  }

  async #callTool(tool: ListedTool, args: Record<string, unknown>, call: ToolCall, again = false): Promise<ToolResult> {
    const { timeout, pin } = this.settings
    const limit = new AbortController()
    const signal = AbortSignal.any([call.signal, limit.signal])
    const session = await orAbort(signal, this.#connection.ready()).catch(async error => {
      throw error instanceof McpServerDownError
        ? await failureOf(this.#svc, "the tool's MCP server", error.message, call, 'the call was not made.')
        : error
    })
    if (pin) {
      await this.look()
      const now = this.#known?.tools.find(({ name }) => name === tool.name)
      if (this.#known && now && isHeld(this.#known, now, pin))
        throw new McpToolHeldError({ server: this.name, tool: tool.name })
    }
    const cancel = this.#svc.clock.after(timeout * 1000, () =>
      limit.abort(new TimeLimitError({ what: `The call of the MCP server "${this.name}"`, ms: timeout * 1000 })),
    )
    try {
      const result = await session.call(tool.name, args, signal)
      this.#connection.recordSuccess()
      return result
    } catch (error) {
      if (signal.aborted) throw signal.reason
      // The server no longer knows the session, so it did not execute the call.
      if (statusOf(error) === 404 && !again) {
        await this.#connection.drop(session)
        return this.#callTool(tool, args, call, true)
      }
      throw await this.#fault(error, session, call)
    } finally {
      cancel()
    }
  }

  async #fault(error: unknown, session: Session, call: ToolCall): Promise<Error> {
    const problem = this.#hide(explainError(error))
    // An error response or an invalid response is an answer; any other error means that the server is unreachable.
    const { code, issues } = error as { code?: unknown; issues?: unknown }
    // Servers also use the code of a closed connection for errors of their own.
    const isLost = code === CONNECTION_CLOSED && this.#connection.session !== session
    const isAnswer = Array.isArray(issues) || (typeof code === 'number' && code < 0 && !isLost)
    const who = `the MCP server "${this.name}"`
    if (isAnswer) return failureOf(this.#svc, who, problem, call)
    await this.#connection.drop(session, problem)
    return failureOf(
      this.#svc,
      who,
      this.#connection.error ?? problem,
      call,
      `the connection to the server was lost. ${UNKNOWN}`,
    )
  }
}

/** Returns a server's command or address, without arguments and query, which may contain secrets. */
function targetOf({ command = '', url, preset }: McpServerSettings): string {
  if (preset) return `preset ${preset}`
  return url ? `${new URL(url).origin}${new URL(url).pathname}` : command
}
