import type { ChildProcess } from 'node:child_process'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js'
import type { Clock, Ports } from '#kernel'
import { Frames } from './frames.ts'

/**
 * Runs the program in the place of the shell that reads this. What the shell leaves behind it in the group waits for the end
 * of a pipe that we hold: when we are gone, in whatever way, it ends the group, itself included.
 */
const GUARDED = '{ read -r _ <&3; kill -s KILL -- -$$; } </dev/null >/dev/null 2>&1 & exec "$@" 3<&-'
/** Bytes of one message, and of one line of the error output. */
const LONGEST_MESSAGE = 8 * 1024 * 1024
const LONGEST_LINE = 500
/** How long what a server wrote last may take to arrive after its end, in milliseconds. */
const DRAIN_MS = 1_000
/** How long a server has to end when its input has ended, and again when it was asked to, in milliseconds. */
const GRACE_MS = 1_000

export interface Program {
  command: string
  args: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
  /** Given each line that it writes to its error output. */
  onErrorLine: (line: string) => void
  parse: (text: string) => JSONRPCMessage
}

/** An MCP server as a child: the leader of a group of its own, which ends as a whole, with it or with us. */
export class ProcessTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport['onmessage']
  /** Why it is over. */
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
      ...{ cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe', 'pipe'] },
    })
    this.#child = child
    this.#over = false
    const tooLong = () => this.#end(`it sent a message of more than ${LONGEST_MESSAGE / 1024 / 1024} MiB`)
    const out = new Frames(LONGEST_MESSAGE, line => this.#receiveLine(line, parse), tooLong)
    const err = new Frames(LONGEST_LINE, onErrorLine, onErrorLine)
    child.stdout?.on('data', (chunk: Buffer) => out.add(chunk))
    child.stderr?.on('data', (chunk: Buffer) => err.add(chunk))
    // One that ended meanwhile reads nothing more, which its end says better.
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
    // It reads nothing more: how it ends says why.
    await this.#gone
    throw new Error(this.reason ?? 'the server has ended')
  }

  /** Ends its input, then asks it to end, then ends it; each with all that it started. */
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
      // Some greet people on the wrong output.
      this.onerror?.(new Error('it wrote something to its output that is no message of the protocol'))
      return
    }
    this.onmessage?.(message)
  }

  /** Resolves when nothing of its group is left, with how it ended. */
  #waitForStart(child: ChildProcess): Promise<string> {
    return new Promise(resolve => {
      child.once('error', error => resolve(`it cannot be started in ${this.#program.cwd} (${error.message})`))
      child.once('exit', (code, signal) => {
        this.#kill('SIGKILL')
        const over = () => resolve(signal ? `it was ended by ${signal}` : endOf(code))
        // What left the group may hold the pipe open.
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
      // No process is left in it.
    }
  }
}

function endOf(code: number | null): string {
  return code === 126 || code === 127 ? 'there is no such program, or it cannot be run' : `it ended with code ${code}`
}
