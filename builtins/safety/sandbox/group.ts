import type { ChildProcess } from 'node:child_process'
import { type Clock, errorMessage, type Ports } from '#kernel'
import { type ProcessEnd, ProgramError } from './contract.ts'
import { Output, printable } from './output.ts'

/** Time between SIGTERM and SIGKILL for a process group, in milliseconds. */
const GRACE_MS = 2_000
/** Time to wait for remaining output after the program's end, in milliseconds. */
const DRAIN_MS = 1_000
/** Default number of bytes kept from each end of an output. */
const KEPT_BYTES = 500_000

export interface GroupRequest {
  argv: readonly string[]
  cwd: string
  env: Readonly<Record<string, string>>
  input: string
  time_limit_ms: number
  kept_bytes?: number | undefined
  signal: AbortSignal | undefined
  started: ((pid: number) => void) | undefined
  wrote?: ((text: string) => void) | undefined
}

/**
 * Runs a program in its own process group, and kills all that is left of the group at the end. @throws ProgramError,
 * and the signal's reason
 */
export async function runGroup(ports: Pick<Ports, 'spawn' | 'clock'>, request: GroupRequest): Promise<ProcessEnd> {
  const { argv, cwd, env, input, time_limit_ms, kept_bytes = KEPT_BYTES, signal, started, wrote } = request
  const [program = '', ...args] = argv
  signal?.throwIfAborted()
  const { clock } = ports
  const begun = clock.monotonic()
  // Leader of its own session and process group, without a terminal.
  const child = ports.spawn(program, args, { cwd, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] })
  const [stdout, stderr] = [new Output(kept_bytes), new Output(kept_bytes)]
  for (const [from, to] of [
    [child.stdout, stdout],
    [child.stderr, stderr],
  ] as const) {
    const decoder = new TextDecoder()
    from?.on('data', (chunk: Buffer) => {
      to.add(chunk)
      wrote?.(printable(decoder.decode(chunk, { stream: true })))
    })
  }
  // A program that does not read its input has not failed.
  child.stdin?.on('error', () => {})
  child.stdin?.end(input)
  if (child.pid !== undefined) started?.(child.pid)
  let timed_out = false
  const ending = new Ending(child, clock)
  const cancel = clock.after(time_limit_ms, () => {
    timed_out = true
    ending.begin()
  })
  const abort = () => ending.begin()
  signal?.addEventListener('abort', abort, { once: true })
  try {
    const [code, how] = await waitForClose(child, program)
    if (signal?.aborted) throw signal.reason
    const duration_ms = Math.round(clock.monotonic() - begun)
    return { code, signal: how, timed_out, stdout: stdout.end(), stderr: stderr.end(), duration_ms }
  } finally {
    cancel()
    ending.release()
    signal?.removeEventListener('abort', abort)
  }
}

/** Ends a process group with SIGTERM, then with SIGKILL. */
class Ending {
  readonly #child: ChildProcess
  readonly #clock: Clock
  #cancel = () => {}

  constructor(child: ChildProcess, clock: Clock) {
    this.#child = child
    this.#clock = clock
    // Processes that the program left behind would keep its pipes open and delay the result, even those that left the
    // group.
    child.once('exit', () => {
      kill(child.pid, 'SIGKILL')
      this.#cancel()
      this.#cancel = clock.after(DRAIN_MS, () => this.#hangUp())
    })
  }

  begin(): void {
    const { pid, exitCode, signalCode } = this.#child
    this.#cancel()
    if (exitCode !== null || signalCode !== null) {
      this.#hangUp()
      return
    }
    kill(pid, 'SIGTERM')
    this.#cancel = this.#clock.after(GRACE_MS, () => kill(pid, 'SIGKILL'))
  }

  #hangUp(): void {
    this.#child.stdout?.destroy()
    this.#child.stderr?.destroy()
  }

  release(): void {
    this.#cancel()
  }
}

function kill(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // The group has no process left.
  }
}

function waitForClose(child: ChildProcess, program: string): Promise<[number | null, NodeJS.Signals | null]> {
  return new Promise((resolve, reject) => {
    child.once('error', error => reject(new ProgramError({ program, problem: errorMessage(error) }, { cause: error })))
    child.once('close', (code, signal) => resolve([code, signal]))
  })
}
