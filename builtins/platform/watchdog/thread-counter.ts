import { url as debuggerUrl } from 'node:inspector'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { errorMessage, type PluginHandle } from '#kernel'
import { STOP_FILE } from '#platform/daemon/contract'
import { RestartToken } from '#platform/plugin-files/contract'
import { SUCCESSOR } from './foreground.ts'
import { CELL, CELLS, type Notice, STEPS, type Watch } from './shared.ts'

const THREAD = new URL(import.meta.url.endsWith('.ts') ? './thread.ts' : './watchdog.js', import.meta.url)

/**
 * The main thread's part of the watchdog: a counter that advances with the event loop, and the plugin code that runs.
 */
export class ThreadCounter {
  readonly #svc: PluginHandle
  readonly #cells = new Int32Array(new SharedArrayBuffer(CELLS * Int32Array.BYTES_PER_ELEMENT))
  readonly #watch: Watch
  #thread: Worker | undefined
  readonly #step_ms: number
  /** Cell values by running code; `#plugins` has the plugin of each. */
  readonly #ids = new Map<string, number>()
  readonly #plugins: string[] = ['']
  /** Running code, outermost first. */
  readonly #entered: number[] = []
  #cancelRound = () => {}

  constructor(svc: PluginHandle, { limit_s, quarantine }: { limit_s: number; quarantine: string }) {
    this.#svc = svc
    this.#step_ms = (limit_s * 1000) / STEPS
    const command = svc.use(RestartToken)
    this.#watch = {
      cells: this.#cells,
      step_ms: this.#step_ms,
      quarantine,
      stop: join(svc.project.svc, STOP_FILE),
      log: join(svc.project.root, 'logs', 'svc.log'),
      command,
      parent: parentOf(command, svc.ports.env),
      // A detached process has the log as its standard error.
      echo: !command.includes('--detach'),
    }
    if (command.includes('--dev')) this.#startThread()
  }

  /**
   * Starts the watchdog thread with the first plugin file, or for developers at once: a thread takes ten megabytes, and
   * only code that is being changed has endless loops.
   */
  #startThread(): Worker {
    if (this.#thread) return this.#thread
    const thread = new Worker(THREAD, { workerData: this.#watch })
    thread.on('error', error => this.#svc.log.error({}, `endless loops are no longer detected: ${errorMessage(error)}`))
    thread.unref()
    this.#thread = thread
    this.#round()
    return thread
  }

  /** Returns the plugin whose code is running. */
  get runningPlugin(): string | undefined {
    return this.#plugins[this.#entered.at(-1) ?? 0] || undefined
  }

  /** Reports a file that is about to run, with its fingerprint. */
  admit(plugin: string, file: string, fingerprint: string): void {
    this.#notify({ kind: 'file', plugin, file, fingerprint })
  }

  enter(plugin: string, file: string, what: string): void {
    this.#entered.push(this.#idOf(plugin, file, what))
    this.#show()
  }

  leave(): void {
    this.#entered.pop()
    this.#show()
  }

  ending(): void {
    Atomics.store(this.#cells, CELL.ending, 1)
  }

  async stop(): Promise<void> {
    this.#cancelRound()
    await this.#thread?.terminate()
  }

  #round(): void {
    Atomics.add(this.#cells, CELL.round, 1)
    // A debugger at a breakpoint halts the process on purpose.
    Atomics.store(this.#cells, CELL.debugged, debuggerUrl() === undefined ? 0 : 1)
    this.#cancelRound = this.#svc.clock.after(this.#step_ms, () => this.#round())
  }

  #show(): void {
    Atomics.store(this.#cells, CELL.code, this.#entered.at(-1) ?? 0)
  }

  #idOf(plugin: string, file: string, what: string): number {
    const key = `${file}\0${plugin}\0${what}`
    const known = this.#ids.get(key)
    if (known !== undefined) return known
    const id = this.#plugins.push(plugin) - 1
    this.#ids.set(key, id)
    this.#notify({ kind: 'code', id, plugin, file, what })
    return id
  }

  #notify(notice: Notice): void {
    this.#startThread().postMessage(notice)
  }
}

/**
 * Returns what waits for this process. A container's first process gets no successor: it is restarted by the container,
 * which ends with it.
 */
function parentOf(command: readonly string[], env: PluginHandle['ports']['env']): Watch['parent'] {
  if (env[SUCCESSOR] === '1' && process.channel) return 'predecessor'
  return command.includes('--detach') || process.pid === 1 ? 'none' : 'terminal'
}
