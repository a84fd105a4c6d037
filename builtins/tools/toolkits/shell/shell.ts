import type { PluginHandle } from '#kernel'
import { authorEnv } from '#lib/git'
import { contentTokens, PROGRAM_TOKENS } from '#lib/output-limit'
import { Jail, type ProcessEnd, type ProcessRequest, type Reach, reachOf, Sandbox } from '#safety/sandbox/contract'
import { type Allowed, checkWords, refuseUnknown } from './check.ts'
import type { ShellConfig } from './config.ts'
import { CommandError, type Shell } from './contract.ts'
import { wordsOf } from './words.ts'

/** Limits of programs that run longer than `tools.shell_timeout`. */
export const LONG_RUNNING = { cpu_seconds: 24 * 3_600 }

/** Where a program runs. A `ToolCall` qualifies. */
export interface At extends Reach {
  signal: AbortSignal
  /** The agent whose name its commits carry. */
  agent_id?: string
  /** Maximum tokens of the text for the model. */
  result_tokens?: number
  /** Time limit of the program instead of `tools.shell_timeout`, in milliseconds. */
  time_limit_ms?: number
}

interface CommandLine {
  command: string
  /** Folder relative to the workspace. */
  cwd: string
  input: string
}

/** Runs programs for agents, by the rules of the shell. */
export class Programs implements Shell {
  readonly #svc: PluginHandle
  readonly #config: ShellConfig

  constructor(svc: PluginHandle, config: ShellConfig) {
    this.#svc = svc
    this.#config = config
  }

  async check(command: string): Promise<void> {
    const allowed = this.#allowedPrograms(await this.#isSandboxed())
    refuseUnknown(wordsOf(command, allowed === 'any')[0]!, allowed)
  }

  async run(command: string, at: At) {
    const end = await this.exec({ command, cwd: '.', input: '' }, at)
    return { code: end.code, text: await this.describeEnd(end, at), timed_out: end.timed_out }
  }

  /** Runs one program with its arguments. */
  async exec(line: CommandLine, at: At): Promise<ProcessEnd> {
    return this.start(await this.requestFor(line, at), at)
  }

  /** Returns the process request of a command line. @throws CommandError when the rules forbid it */
  async requestFor({ command, cwd, input }: CommandLine, at: At) {
    const place = await this.place(at, cwd)
    const allowed = this.#allowedPrograms(place.sandboxed)
    const { argv, env } = await checkWords(wordsOf(command, allowed === 'any'), allowed, place)
    const author = at.agent_id === undefined ? {} : authorEnv(at.agent_id)
    return { argv, env: { ...author, ...env }, input, cwd: place.cwd }
  }

  start(request: Pick<ProcessRequest, 'argv' | 'cwd' | 'env' | 'input'>, at: At): Promise<ProcessEnd> {
    const { shell_pass_env: pass_env, shell_timeout } = this.#config
    const { signal, time_limit_ms = shell_timeout * 1000 } = at
    const limits = at.time_limit_ms === undefined ? {} : LONG_RUNNING
    return this.#svc.use(Sandbox).run({ ...request, ...reachOf(at), signal, pass_env, time_limit_ms, limits })
  }

  /** Returns the result of a program as text for a model. */
  describeEnd(end: ProcessEnd, at: At): Promise<string> {
    const tokens = Math.min(contentTokens(at.result_tokens), PROGRAM_TOKENS)
    return this.#svc.use(Sandbox).describeEnd(end, reachOf(at), tokens)
  }

  async place(at: At, folder: string) {
    const jail = this.#svc.use(Jail)
    const { real } = await jail.resolve(at, folder)
    const found = await this.#svc.ports.files.stat(real).catch(() => undefined)
    if (!found?.isDirectory()) throw new CommandError({ problem: `${JSON.stringify(folder)} is not a folder` })
    return { jail, reach: reachOf(at), cwd: real, sandboxed: await this.#isSandboxed() }
  }

  async #isSandboxed(): Promise<boolean> {
    return (await this.#svc.use(Sandbox).status()).wall === 'bubblewrap'
  }

  /**
   * Returns which programs may run: in a sandbox any; otherwise development programs only if the configuration allows
   * them or a person approves each call.
   */
  #allowedPrograms(isSandboxed: boolean): Allowed {
    if (isSandboxed && this.#config.shell_sandboxed_programs) return 'any'
    return this.#config.shell_allow_dev_commands || isGated(this.#svc) ? 'development' : 'restricted'
  }
}

/** Returns whether a person approves each command before it runs. */
function isGated({ config }: PluginHandle): boolean {
  const without = config.get('approval.auto_approve') ?? []
  return config.get('approval.enabled') === true && !(without as readonly string[]).includes('shell_exec')
}
