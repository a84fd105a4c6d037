import { dirname } from 'node:path'
import type { ProcessRequest, Reach, Sandbox } from '#safety/sandbox/contract'

/** Time limit of ripgrep for one batch of files, in milliseconds; after that the files are searched without ripgrep. */
const TIME_LIMIT_MS = 20_000

/**
 * Excludes files without a match by running ripgrep in the sandbox, which reads many files quickly. Remaining files are
 * searched by our own code, so that even a wrong answer cannot reveal a file that is out of reach.
 */
export class Ripgrep {
  readonly #sandbox: Sandbox
  readonly #request: Omit<ProcessRequest, 'argv'>
  readonly #argv: readonly [string, ...string[]]
  #works = true

  private constructor(sandbox: Sandbox, request: Omit<ProcessRequest, 'argv'>, argv: readonly [string, ...string[]]) {
    this.#sandbox = sandbox
    this.#request = request
    this.#argv = argv
  }

  /**
   * Returns undefined where ripgrep is not installed.
   * @param cwd the real path of the folder that the search began in
   * @param pattern see `ripgrepPattern`
   * @param maxBytes larger files are not read
   */
  static async find(
    sandbox: Sandbox,
    { reach, cwd, signal }: { reach: Reach; cwd: string; signal: AbortSignal },
    pattern: string,
    maxBytes: number,
  ): Promise<Ripgrep | undefined> {
    const program = await sandbox.find('rg')
    if (program === undefined) return undefined
    // Files are named explicitly, so ripgrep must ignore configuration, encodings and ignore files.
    const options = ['--no-config', '--text', '--encoding', 'none', '--max-filesize', String(maxBytes), '--no-messages']
    const request = { ...reach, cwd, signal, read: [dirname(program)], network: false, time_limit_ms: TIME_LIMIT_MS }
    const argv = [program, ...options, '--files-without-match', '--null', '-e', pattern, '--'] as const
    return new Ripgrep(sandbox, request, argv)
  }

  /**
   * Returns the files in which ripgrep found no match.
   * @throws the abort reason of the signal
   */
  async without(paths: readonly string[]): Promise<ReadonlySet<string>> {
    if (!this.#works) return new Set()
    try {
      const { stdout, timed_out } = await this.#sandbox.run({
        ...this.#request,
        argv: [...this.#argv, ...paths.map(path => `./${path}`)],
      })
      const names = Buffer.concat([stdout.head, stdout.tail]).toString().split('\0').slice(0, -1)
      this.#works = !timed_out
      return new Set(names.map(name => name.replace(/^\.\//, '')))
    } catch {
      this.#request.signal?.throwIfAborted()
      this.#works = false
      return new Set()
    }
  }
}
