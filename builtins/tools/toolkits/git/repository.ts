import { basename, join } from 'node:path'
import { defineError, type PluginHandle } from '#kernel'
import { fileLeadingOut, gitRequest, LIST_SETTINGS, unsafeSetting } from '#lib/git'
import { Jail, type ProcessEnd, type Reach, reachOf, Sandbox } from '#safety/sandbox/contract'

const GitError = defineError({
  code: 'git_refused',
  status: 422,
  title: 'Git refused',
  message: (p: { problem: string }) => `git was not run: ${p.problem}.`,
})

const TIME_LIMIT_MS = 30_000

/** The repository of one workspace: its own `.git`, and never one of a folder above. */
export class Repository {
  readonly #svc: PluginHandle
  readonly #reach: Reach
  readonly #workspace: string
  readonly #agent: string
  readonly #signal: AbortSignal

  /** @param workspace real path of the workspace */
  private constructor(svc: PluginHandle, reach: Reach, workspace: string, agent: string, signal: AbortSignal) {
    this.#svc = svc
    this.#reach = reach
    this.#workspace = workspace
    this.#agent = agent
    this.#signal = signal
  }

  static async of(svc: PluginHandle, call: Reach & { agent_id: string; signal: AbortSignal }): Promise<Repository> {
    const { real } = await svc.use(Jail).resolve(call, '.')
    return new Repository(svc, reachOf(call), real, call.agent_id, call.signal)
  }

  /** Creates the repository; an existing one is kept. */
  async init(): Promise<void> {
    if ((await this.#kind()) !== 'none') return this.#vet()
    await this.#describe(await this.#git(['init', '--quiet', '--initial-branch=main', '--template=']))
  }

  /**
   * Runs a git command and returns its output for a model.
   * @throws GitError
   */
  async run(args: readonly string[], input = ''): Promise<string> {
    await this.#vet()
    return this.#describe(await this.#git(args, input))
  }

  #describe(end: ProcessEnd): Promise<string> {
    return this.#svc.use(Sandbox).describeEnd(end, this.#reach)
  }

  async #kind(): Promise<'none' | 'folder' | 'other'> {
    const found = await this.#svc.ports.files.lstat(join(this.#workspace, '.git')).catch(() => undefined)
    if (!found) return 'none'
    return found.isDirectory() ? 'folder' : 'other'
  }

  /**
   * Checks that the repository is safe to use, because a program may have modified it.
   * @throws GitError
   */
  async #vet(): Promise<void> {
    const kind = await this.#kind()
    if (kind === 'none')
      throw new GitError({ problem: 'there is no repository in your workspace; make one with git_init' })
    if (kind === 'other') throw new GitError({ problem: '.git is not a folder, so it may lead out of your workspace' })
    const borrowed = (this.#reach.folders ?? []).filter(({ purpose }) => purpose === 'objects').map(({ path }) => path)
    const leading = await fileLeadingOut(this.#svc.ports.files, join(this.#workspace, '.git'), borrowed)
    if (leading) throw new GitError({ problem: `.git/${leading} leads out of the repository; remove it` })
    if (await this.#isContained()) return
    const { stdout, code } = await this.#git(LIST_SETTINGS)
    if (code !== 0) throw new GitError({ problem: '.git/config cannot be read' })
    const bad = unsafeSetting(stdout.head.toString())
    if (bad || stdout.tail.length > 0) {
      throw new GitError({
        problem: `.git/config sets ${bad ?? 'more than can be checked'}, which could run programs; remove this setting first`,
      })
    }
  }

  /** Returns whether what the operator's repository makes git run stays in the sandbox, where agents cannot write its settings. */
  async #isContained(): Promise<boolean> {
    if (!this.#reach.folders?.length) return false
    return (await this.#svc.use(Sandbox).status()).wall === 'bubblewrap'
  }

  #git(args: readonly string[], input = ''): Promise<ProcessEnd> {
    return this.#svc.use(Sandbox).run({
      ...gitRequest(this.#workspace, this.#agent, args),
      ...this.#reach,
      input,
      network: false,
      time_limit_ms: TIME_LIMIT_MS,
      signal: this.#signal,
    })
  }

  /**
   * Checks a path and returns it for git.
   * @throws OutsideError, PathError, GitError
   */
  async path(path: string): Promise<string> {
    const { real } = await this.#svc.use(Jail).resolve(this.#reach, path)
    if (basename(real) === '.git')
      throw new GitError({ problem: 'the internal data of git is not part of the repository' })
    return path
  }
}
