import type { ChildProcess } from 'node:child_process'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import type { Clock, Ports } from '#kernel'
import { LineSplitter } from '#lib/line-splitter'

/**
 * Shell script that replaces itself with the program. A background process of its group waits for the end of a pipe
 * that this process holds, and then kills the group: so the program ends even if this process crashes.
 */
const GUARDED = '{ read -r _ <&3; kill -s KILL -- -$$; } </dev/null >/dev/null 2>&1 & exec "$@" 3<&-'
/** Maximum length of a message, and of a line of the error output, in bytes. */
const LONGEST_MESSAGE = 8 * 1024 * 1024
const LONGEST_LINE = 500
/** Time to wait for a server's last output after its end, in milliseconds. */
const DRAIN_MS = 1_000
/** Time that a server has to end after its input was closed, and again after SIGTERM, in milliseconds. */
const GRACE_MS = 1_000

export interface Program {
  command: string
  args: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
  /** Called with each line of the server's error output. */
  onErrorLine: (line: string) => void
  parse: (text: string) => JSONRPCMessage
}

/**
 * An MCP server as a child process. It leads its own process group, which ends as a whole with the server or with this
 * process.
 */
export class ProcessTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport['onmessage']
  /** Reason why the process has ended. */
  reason: string | undefined
  readonly #program: Program
  readonly #ports: Pick<Ports, 'spawn' | 'clock'>
  #child: ChildProcess | undefined
  #gone: Promise<void> = Promise.resolve()
  #over = true

  constructor(program: Program, ports: { spawn: Ports['spawn']; clock: Clock }) {
    this.#program = program
    this.#ports = ports
  }

  get pid(): number | undefined {
    return this.#child?.pid
  }

  async start(): Promise<void> {
    const { command, args, cwd, env, onErrorLine, parse } = this.#program
    const words = ['-c', GUARDED, 'sh', command, ...args]
    const child = this.#ports.spawn('/bin/sh', words, {
      cwd,
      env,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    })
    this.#child = child
    this.#over = false
    const tooLong = () => this.#end(`it sent a message of more than ${LONGEST_MESSAGE / 1024 / 1024} MiB`)
    const out = new LineSplitter(LONGEST_MESSAGE, line => this.#receiveLine(line, parse), tooLong)
    const err = new LineSplitter(LONGEST_LINE, onErrorLine, onErrorLine)
    child.stdout?.on('data', (chunk: Buffer) => out.add(chunk))
    child.stderr?.on('data', (chunk: Buffer) => err.add(chunk))
    // Write errors of an ended process are ignored, because its end is reported instead.
    for (const stream of [child.stdin, child.stdio[3]]) stream?.on('error', () => {})
    this.#gone = this.#waitForStart(child).then(reason => {
      err.end()
      this.reason ??= reason
      for (const stream of child.stdio) stream?.destroy()
      this.#over = true
      this.onclose?.()
    })
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      void this.#gone.then(() => reject(new Error(this.reason)))
    })
  }

  async send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin
    const isSent = await new Promise<boolean>(resolve => {
      if (stdin?.writable) stdin.write(`${JSON.stringify(message)}\n`, error => resolve(!error))
      else resolve(false)
    })
    if (isSent) return
    // The process reads no more input; the way it ended gives the reason.
    await this.#gone
    throw new Error(this.reason ?? 'the server has ended')
  }

  /** Closes the server's input, then sends SIGTERM, then SIGKILL, each to the whole process group. */
  async close(): Promise<void> {
    const { clock } = this.#ports
    this.#child?.stdin?.end()
    const cancel = [
      clock.after(GRACE_MS, () => this.#kill('SIGTERM')),
      clock.after(2 * GRACE_MS, () => this.#kill('SIGKILL')),
    ]
    await this.#gone
    for (const each of cancel) each()
  }

  #receiveLine(line: string, parse: Program['parse']): void {
    if (line.trim() === '') return
    let message: JSONRPCMessage
    try {
      message = parse(line)
    } catch {
      // Some servers print a greeting to standard output instead of standard error.
      this.onerror?.(new Error('it wrote text to standard output that is not a message of the protocol'))
      return
    }
    this.onmessage?.(message)
  }

  /** Resolves when no process of the group is left, with the reason of the end. */
  #waitForStart(child: ChildProcess): Promise<string> {
    return new Promise(resolve => {
      child.once('error', error => resolve(`it cannot be started in ${this.#program.cwd} (${error.message})`))
      child.once('exit', (code, signal) => {
        this.#kill('SIGKILL')
        const over = () => resolve(signal ? `it was ended by ${signal}` : endOf(code))
        // Processes that left the group may keep the pipe open.
        const cancel = this.#ports.clock.after(DRAIN_MS, over)
        child.once('close', () => {
          cancel()
          over()
        })
      })
    })
  }

  #end(reason: string): void {
    this.reason ??= reason
    this.#kill('SIGKILL')
  }

  #kill(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid
    if (pid === undefined || this.#over) return
    try {
      process.kill(-pid, signal)
    } catch {
      // The group has no process left.
    }
  }
}

function endOf(code: number | null): string {
  return code === 126 || code === 127
    ? 'the program does not exist or cannot be executed'
    : `it ended with code ${code}`
}
