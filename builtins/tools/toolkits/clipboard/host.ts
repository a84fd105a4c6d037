import { defineError, type Ports, withTimeLimit } from '#kernel'
import type { Clipboard } from './own.ts'

/** Time limit of the system's clipboard program, in milliseconds. */
const LIMIT_MS = 5_000
/** Maximum clipboard size, in bytes. */
const LARGEST = 1_000_000

interface Programs {
  write: readonly string[]
  read: readonly string[]
}
const MAC: Programs = { write: ['pbcopy'], read: ['pbpaste'] }
const WAYLAND: Programs = { write: ['wl-copy'], read: ['wl-paste', '--no-newline'] }
const X11: Programs = {
  write: ['xclip', '-selection', 'clipboard'],
  read: ['xclip', '-selection', 'clipboard', '-o'],
}

const HostClipboardError = defineError({
  code: 'host_clipboard',
  status: 503,
  title: 'Clipboard unreachable',
  message: (p: { program: string; problem: string }) =>
    `The machine's clipboard cannot be reached: ${p.program} ${p.problem}.`,
})

/** The operator's clipboard, through the system's program for it. */
export class HostClipboard implements Clipboard {
  readonly name = "the machine's clipboard"
  readonly #ports: Pick<Ports, 'spawn' | 'clock' | 'env'>
  readonly #programs: Programs

  constructor(ports: Pick<Ports, 'spawn' | 'clock' | 'env'>) {
    this.#ports = ports
    this.#programs = process.platform === 'darwin' ? MAC : ports.env.WAYLAND_DISPLAY ? WAYLAND : X11
  }

  async write(text: string): Promise<void> {
    await this.#run(this.#programs.write, text)
  }

  read(): Promise<string> {
    return this.#run(this.#programs.read)
  }

  async #run([program = '', ...args]: readonly string[], input?: string): Promise<string> {
    const { spawn, clock, env } = this.#ports
    const fail = (problem: string) => new HostClipboardError({ program, problem })
    // Clipboard programs stay in the background and keep inherited streams open, so they get no output.
    const stdio = ['pipe', input === undefined ? 'pipe' : 'ignore', 'ignore'] as const
    const child = spawn(program, args, { env: displayOf(env), stdio: [...stdio] })
    const ended = new Promise<string>((done, failed) => {
      const pieces: Buffer[] = []
      let size = 0
      child.on('error', (error: NodeJS.ErrnoException) =>
        failed(fail(error.code === 'ENOENT' ? 'is not installed' : `failed (${error.code})`)),
      )
      child.stdout?.on('data', (piece: Buffer) => {
        size += piece.length
        if (size <= LARGEST) pieces.push(piece)
        else child.kill()
      })
      child.stdin?.on('error', () => {})
      child.on(input === undefined ? 'close' : 'exit', code => {
        if (code === 0 || size > LARGEST) done(Buffer.concat(pieces).toString('utf8'))
        else failed(fail(`ended with code ${code}`))
      })
    })
    child.stdin?.end(input ?? '')
    try {
      return await withTimeLimit(clock, LIMIT_MS, program, ended)
    } catch (error) {
      child.kill('SIGKILL')
      throw error
    }
  }
}

/** Returns the environment variables that a clipboard program needs, without secrets. */
function displayOf(env: Ports['env']): NodeJS.ProcessEnv {
  const names = ['PATH', 'HOME', 'DISPLAY', 'XAUTHORITY', 'WAYLAND_DISPLAY', 'XDG_RUNTIME_DIR', 'LANG', 'LC_ALL']
  return Object.fromEntries(names.flatMap(name => (env[name] === undefined ? [] : [[name, env[name]]])))
}
