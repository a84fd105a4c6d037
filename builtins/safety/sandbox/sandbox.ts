import { totalmem } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { errorMessage, type PluginHandle, type Ports } from '#kernel'
import { keyedMutex } from '#lib/keyed-mutex'
import { PROGRAM_TOKENS } from '#lib/output-limit'
import { secretsIn } from '#lib/secrets'
import { isOfSystem, type Running, sandboxArguments } from './bubblewrap.ts'
import type { SandboxConfig } from './config.ts'
import {
  Jail,
  NoSandboxError,
  PathError,
  type ProcessEnd,
  type ProcessLimits,
  type ProcessRequest,
  ProgramError,
  type Reach,
  type Sandbox,
  type SandboxStatus,
} from './contract.ts'
import { cleanEnv } from './environment.ts'
import { runGroup } from './group.ts'
import { cutMiddle, missingBytes, textOf } from './output.ts'
import { areasOf, searchArea } from './reach.ts'

/**
 * Shell script that sets POSIX limits and then runs the program; arguments are not interpreted by the shell. File size
 * is in blocks of 512 bytes. When memory runs out, Linux ends the program before the service and the operator's programs.
 */
const LIMITED =
  '{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null; ulimit -c 0; ulimit -t "$1"; ulimit -d "$2"; ulimit -f "$3"; shift 3; exec "$@"'
/**
 * Shell script that limits the number of processes in a sandbox, which Linux counts apart from the operator's other ones.
 * The option's name differs between shells. Linux does not limit root.
 */
const COUNTED = '{ ulimit -p 4096 || ulimit -u 4096; } 2>/dev/null; exec "$@"'
const PROBE_LIMIT_MS = 10_000
const LEAST_MEMORY_MB = 2048
/** Folder for long outputs, and the number of files kept in it. */
const OUTPUTS = '.output'
const MOST_OUTPUTS = 20

const MOUNTS = 'mounts'

/** Runs programs, with bubblewrap if it is installed and enabled. */
export class Processes implements Sandbox {
  readonly #svc: PluginHandle
  readonly #config: SandboxConfig
  /** Path of bubblewrap, or why it cannot be used; determined once. */
  #bubblewrap: Promise<{ path: string } | { reason: string }> | undefined

  /** Programs that run in the sandbox now. */
  readonly #running = new Set<Running>()
  /** Serializes starts and ends, so that no end removes a file that a start is about to mount. */
  readonly #inTurn = keyedMutex()

  constructor(svc: PluginHandle, config: SandboxConfig) {
    this.#svc = svc
    this.#config = config
  }

  async run(request: ProcessRequest): Promise<ProcessEnd> {
    const { files, env: own } = this.#svc.ports
    const [name, ...args] = request.argv
    const { workspace, scratch = workspace } = request
    await files.mkdir(scratch, { recursive: true, mode: 0o700 })
    const home = await files.realpath(scratch)
    // If `.tmp` exists and is not a folder, the agent has created it.
    await files.mkdir(join(home, '.tmp'), { mode: 0o700 }).catch(() => {})
    const cwd = request.cwd ?? (await realFolder(files, workspace))
    const candidates = await this.#candidates(name)
    const { command, running } = await this.#wrapCommand(candidates, cwd, request)
    const secrets = [...secretsIn(own), ...this.#svc.config.secrets()]
    const limits = { ...this.#limits, ...request.limits }
    const ended = runGroup(this.#svc.ports, {
      argv: [...limitArguments(limits), ...command, ...args],
      cwd,
      env: { ...cleanEnv(own, home, cwd, request.pass_env ?? false, secrets), ...request.env },
      input: request.input ?? '',
      time_limit_ms: request.time_limit_ms,
      kept_bytes: request.kept_bytes,
      signal: request.signal,
      started: request.started,
      wrote: request.wrote,
    })
    const end = await ended.finally(() => running && this.#inTurn(MOUNTS, () => this.#end(running)))
    return mayHaveHitLimit(end) ? { ...end, limits: describeLimits(limits) } : end
  }

  /** Removes the files that were there only for a program, unless another one needs them. */
  async #end(program: Running): Promise<void> {
    this.#running.delete(program)
    const others = new Set([...this.#running].flatMap(({ temporary }) => temporary))
    const unused = program.temporary.filter(path => !others.has(path))
    await Promise.all(unused.map(path => this.#svc.ports.files.rm(path, { force: true }).catch(() => {})))
  }

  async status(): Promise<SandboxStatus> {
    const { sandbox: mode, sandbox_network } = this.#config
    const found = await this.#findSandbox()
    if ('path' in found) return { mode, wall: 'bubblewrap', network: sandbox_network, reason: 'bubblewrap works here' }
    return { mode, wall: 'none', network: true, reason: found.reason }
  }

  async find(program: string): Promise<string | undefined> {
    return (await this.#candidates(program))[0]
  }

  async describeEnd(end: ProcessEnd, reach: Reach, tokens = PROGRAM_TOKENS): Promise<string> {
    const [out, err] = [textOf(end.stdout).trimEnd(), textOf(end.stderr).trimEnd()]
    const whole = err === '' ? out : [out, '[Standard error output:]', err].filter(Boolean).join('\n')
    const missing = missingBytes(end.stdout) + missingBytes(end.stderr)
    const { shown, note } = await this.shorten(whole, reach, { tokens, missing })
    const notes = [outcomeOf(end), end.limits, note].filter(each => each !== undefined)
    return [...(shown === '' ? [] : [shown]), ...notes.map(note => `[${note}]`)].join('\n')
  }

  async shorten(whole: string, reach: Reach, { tokens, missing }: { tokens: number; missing: number }) {
    const shown = cutMiddle(whole, tokens, missing)
    if (shown === whole) return { shown }
    const path = await this.keep(reach, whole).catch(error => this.#svc.log.warn({}, errorMessage(error)))
    const what = missing === 0 ? 'The full output is' : `The output without ${missing} bytes of its middle is`
    return path ? { shown, note: `${what} in ${path}; read it with file_read.` } : { shown }
  }

  /** Saves a text and removes the oldest saved ones. */
  async keep({ workspace, scratch = workspace }: Reach, text: string): Promise<string> {
    const jail = this.#svc.use(Jail)
    const own = { workspace: scratch }
    const path = `${OUTPUTS}/${this.#svc.ports.ids.make(String(this.#svc.clock.ms()), 4)}.txt`
    await jail.replace(own, path, Buffer.from(text))
    const folder = await jail.folder(own, OUTPUTS)
    try {
      const names = (await this.#svc.ports.files.readdir(folder.at('.'))).filter(name => /^\d+-\w+\.txt$/.test(name))
      for (const name of names.sort().slice(0, -MOST_OUTPUTS)) {
        await this.#svc.ports.files.rm(folder.at(name), { force: true })
      }
    } finally {
      await folder.close()
    }
    return scratch === workspace ? path : join(scratch, path)
  }

  get #limits(): ProcessLimits {
    const { process_cpu_seconds, process_memory_mb, process_file_mb } = this.#config
    const memory_mb = process_memory_mb ?? usualMemory()
    return { cpu_seconds: process_cpu_seconds, memory_mb, file_mb: process_file_mb }
  }

  /** Returns the paths of all programs of this name on our PATH, in its order. */
  async #candidates(name: string): Promise<string[]> {
    const { files, env } = this.#svc.ports
    const folders = (env.PATH ?? '/usr/local/bin:/usr/bin:/bin').split(':').filter(isAbsolute)
    const paths = isAbsolute(name) ? [name] : folders.map(folder => join(folder, name))
    const found = await Promise.all(paths.map(path => files.stat(path).catch(() => undefined)))
    return paths.filter((_, n) => found[n]?.isFile() && (found[n].mode & 0o111) !== 0)
  }

  /**
   * Returns the program to run, with the bubblewrap command before it where there is a sandbox, and counts it as running
   * there. In a sandbox the first visible candidate is taken, as a shell inside would: version managers put invisible
   * ones of their own first.
   * @throws NoSandboxError, ProgramError
   */
  async #wrapCommand(
    candidates: readonly string[],
    cwd: string,
    request: ProcessRequest,
  ): Promise<{ command: string[]; running?: Running }> {
    const [first] = candidates
    const refuse = (problem: string) => new ProgramError({ program: request.argv[0], problem })
    if (first === undefined)
      throw refuse(isAbsolute(request.argv[0]) ? 'it is no executable file' : 'this machine has no such program')
    const found = await this.#findSandbox()
    if ('reason' in found) {
      if (this.#config.sandbox === 'required') throw new NoSandboxError({ reason: found.reason })
      return { command: [first] }
    }
    const { files } = this.#svc.ports
    const { network = this.#config.sandbox_network, write = [] } = request
    const areas = await areasOf(files, request)
    const read = [...this.#config.sandbox_read, ...(request.read ?? [])]
    const seen = [...read, ...write, ...areas.map(area => area.path)]
    const program = candidates.find(path => isOfSystem(path) || seen.some(folder => path.startsWith(`${folder}/`)))
    if (program === undefined) {
      throw refuse(
        `it is ${first}, which is not visible inside the sandbox; the operator can add its folder to tools.sandbox_read`,
      )
    }
    const guarded = await Promise.all(areas.map(area => searchArea(files, area, this.#svc.project.root)))
    const wall = { areas, guarded, running: this.#running, cwd, network, read, write }
    const { args, program: running } = await this.#inTurn(MOUNTS, async () => {
      const made = await sandboxArguments(files, wall)
      this.#running.add(made.program)
      return made
    })
    return { command: [found.path, ...args, '/bin/sh', '-c', COUNTED, 'sh', program], running }
  }

  #findSandbox() {
    if (this.#config.sandbox === 'off') return { reason: 'tools.sandbox is off' }
    this.#bubblewrap ??= this.#probe()
    return this.#bubblewrap
  }

  /** Tests bubblewrap, because some machines have it but forbid what it needs. */
  async #probe(): Promise<{ path: string } | { reason: string }> {
    const path = await this.find('bwrap')
    if (path === undefined) return { reason: 'bubblewrap (bwrap) is not installed' }
    const { root: cwd } = this.#svc.project
    const areas = await areasOf(this.#svc.ports.files, { workspace: cwd })
    const guarded = areas.map(() => ({ closed: [], missing: [], repositories: [] }))
    const nothing = { guarded, running: [], network: false, read: [], write: [] }
    const { args } = await sandboxArguments(this.#svc.ports.files, { areas, cwd, ...nothing })
    try {
      const { code, stderr } = await runGroup(this.#svc.ports, {
        argv: [path, ...args, 'true'],
        cwd,
        env: cleanEnv({}, cwd, cwd, false, []),
        input: '',
        time_limit_ms: PROBE_LIMIT_MS,
        signal: undefined,
        started: undefined,
      })
      if (code === 0) return { path }
      return { reason: `bubblewrap does not work here: ${textOf(stderr).trim() || `it ended with code ${code}`}` }
    } catch (error) {
      return { reason: `bubblewrap does not work here: ${errorMessage(error)}` }
    }
  }
}

/** Returns a folder's real path. @throws PathError when the folder does not exist */
async function realFolder(files: Ports['files'], folder: string): Promise<string> {
  const real = await files.realpath(folder).catch(() => undefined)
  if (real === undefined) throw new PathError({ path: folder, problem: 'does not exist any more' })
  return real
}

/** Returns the memory of a process without `tools.process_memory_mb`, in MiB: type checkers of large projects need much. */
function usualMemory(): number {
  const bytes = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY)
  return Math.max(LEAST_MEMORY_MB, Math.floor(bytes / 2 ** 21))
}

/** Signals by which a program ends that gets no more memory or processor time; a shell returns them as exit codes. */
const LIMIT_SIGNALS: readonly (NodeJS.Signals | null)[] = ['SIGABRT', 'SIGKILL', 'SIGSEGV', 'SIGXCPU']
const LIMIT_CODES: readonly (number | null)[] = [134, 137, 139, 152]
const NO_MEMORY =
  /out of memory|memory exhausted|cannot allocate memory|std::bad_alloc|\bMemoryError\b|memory allocation of \d+ bytes failed/i

/** Returns whether a program may have failed because one of its processes reached a limit. */
function mayHaveHitLimit({ code, signal, timed_out, stdout, stderr }: ProcessEnd): boolean {
  if (timed_out) return false
  const outputs = [stderr.head, stderr.tail, stdout.head, stdout.tail]
  return (
    LIMIT_SIGNALS.includes(signal) ||
    LIMIT_CODES.includes(code) ||
    outputs.some(output => NO_MEMORY.test(output.toString('latin1')))
  )
}

function describeLimits({ memory_mb, cpu_seconds }: ProcessLimits): string {
  return `Each process may use ${memory_mb} MiB of memory (tools.process_memory_mb) and ${cpu_seconds} s of processor time.`
}

function limitArguments({ cpu_seconds, memory_mb, file_mb }: ProcessLimits): string[] {
  const numbers = [cpu_seconds, memory_mb * 1024, file_mb * 2048]
  return ['/bin/sh', '-c', LIMITED, 'sh', ...numbers.map(String)]
}

function outcomeOf({ code, signal, timed_out, duration_ms }: ProcessEnd): string {
  if (timed_out) return `The program was stopped after ${Math.round(duration_ms / 1000)} s, its time limit.`
  if (signal !== null) return `The program was ended by ${signal}.`
  return `exit code ${code}`
}
