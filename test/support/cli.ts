import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../dist/svc.js' : './svc.js', import.meta.url),
)

/** User configuration folder of the programs that tests start, instead of the real one. */
const CONFIG = join(tmpdir(), `svc-test-config-${process.pid}`)
process.once('exit', () => rmSync(CONFIG, { recursive: true, force: true }))

/**
 * Returns the environment of a program that a test starts. The project of a test is trusted unless `env` says
 * otherwise.
 */
export function bareEnvironment(env: Readonly<Record<string, string | undefined>> = {}): NodeJS.ProcessEnv {
  return {
    PATH: process.env.PATH,
    HOME: process.env.HOME,
    SVC_TRUST_PROJECT: 'true',
    ...(env.HOME === undefined ? { XDG_CONFIG_HOME: CONFIG } : {}),
  }
}

export interface CliOptions {
  cwd: string
  /** Added to a bare environment, which has none of the machine's keys and settings. */
  env?: Readonly<Record<string, string>>
  /** File of the program, if it is not the built one. */
  program?: string
  /** Words that come before the program on the command line. */
  within?: readonly string[]
}

export interface Ran {
  code: number | null
  stdout: string
  stderr: string
}

/** Runs the built command line to its end: `await svc(['spawn', 'coder'], { cwd })`. */
export async function svc(words: readonly string[], options: CliOptions): Promise<Ran> {
  const running = new RunningSvc(words, options)
  const code = await running.ended
  return { code, stdout: running.stdout, stderr: running.stderr }
}

/** The built command line as a running process: `await using daemon = new RunningSvc(['start'], { cwd })`. */
export class RunningSvc {
  readonly process: ChildProcess
  /** The exit code; null when a signal ended it. */
  readonly ended: Promise<number | null>
  stdout = ''
  stderr = ''
  readonly #listeners = new Set<() => void>()

  constructor(words: readonly string[], { cwd, env = {}, program = PROGRAM, within = [] }: CliOptions) {
    const bare = { ...bareEnvironment(env), ...env }
    const [command, ...rest] = [...within, process.execPath, program, ...words]
    this.process = spawn(command!, rest, { cwd, env: bare, stdio: ['ignore', 'pipe', 'pipe'] })
    for (const name of ['stdout', 'stderr'] as const) {
      this.process[name]!.setEncoding('utf8').on('data', text => {
        this[name] += text
        for (const listener of this.#listeners) listener()
      })
    }
    this.ended = once(this.process, 'close').then(([code]) => code as number | null)
  }

  get pid(): number {
    return this.process.pid!
  }

  /** Waits until standard output or standard error matches. @throws when the process ends without a match */
  async waitForOutput(pattern: RegExp): Promise<RegExpExecArray> {
    let listener = () => {}
    const matched = new Promise<RegExpExecArray>(resolve => {
      listener = () => {
        const match = pattern.exec(this.stdout) ?? pattern.exec(this.stderr)
        if (match) resolve(match)
      }
    })
    this.#listeners.add(listener)
    listener()
    const silent = this.ended.then(code => {
      throw new Error(`svc ended with ${code} and did not say ${pattern}:\n${this.stdout}\n${this.stderr}`)
    })
    try {
      return await Promise.race([matched, silent])
    } finally {
      this.#listeners.delete(listener)
      silent.catch(() => {})
    }
  }

  /** Sends a signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<number | null> {
    this.process.kill(signal)
    return this.ended
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.exitCode === null && this.process.signalCode === null) await this.end('SIGKILL')
  }
}
