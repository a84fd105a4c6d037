import { join, resolve } from 'node:path'
import { identityOf, type PluginHandle, replaceFile, sentenceOf, type Undo } from '#kernel'
import { Rest } from '../rest/contract.ts'
import { Store } from '../store/contract.ts'
import { DaemonStarts, HOLDER_FILE, type Holder, PID_FILE, STOP_FILE } from './contract.ts'
import { socketPlace, takeLock } from './lock.ts'

/** How often the time of the loop's last round is noted, in milliseconds. */
const NOTE_MS = 1_000

/** What makes a process the daemon, in order, and its undoing in reverse. */
export class DaemonLife {
  readonly #svc: PluginHandle
  readonly #undo: Undo[] = []
  #starting: Promise<void> | undefined

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  start(): Promise<void> {
    this.#starting ??= this.#start().catch(async error => {
      await this.stop()
      throw error
    })
    return this.#starting
  }

  async stop(): Promise<void> {
    this.#starting = undefined
    for (const undo of this.#undo.splice(0).reverse()) {
      await Promise.resolve(undo()).catch(error => this.#svc.log.error({}, sentenceOf(error)))
    }
  }

  async #start(): Promise<void> {
    const { project, heartbeat, log } = this.#svc
    const holder = await this.#describe()
    this.#undo.push(await takeLock(this.#svc, holder))
    const freed = await this.#svc.use(Store).recover()
    if (freed > 0) log.info({}, `${freed} leases of a daemon that is gone were freed`)
    for (const { begin } of this.#svc.list(DaemonStarts)) {
      const undo = await begin()
      if (undo) this.#undo.push(undo)
    }
    this.#undo.push(await this.#writeFiles(holder))
    if (this.#svc.has(Rest)) {
      const listening = await this.#svc.use(Rest).listen({ socket: resolve(project.svc, holder.socket) })
      this.#undo.push(() => listening.close())
    }
    this.#undo.push(this.#noteRounds(join(project.svc, HOLDER_FILE)))
    heartbeat.start()
    this.#undo.push(() => heartbeat.stop())
    log.info({}, `the daemon runs with PID ${process.pid}`)
  }

  async #describe(): Promise<Holder> {
    const { ports, clock } = this.#svc
    const place = await socketPlace(this.#svc, ports.ids.make('daemon', 8))
    const identity = await identityOf(ports, process.pid)
    return { pid: process.pid, process: identity ?? '', ...place, started_at: clock.ms() }
  }

  async #writeFiles(holder: Holder): Promise<Undo> {
    const { ports, project, log } = this.#svc
    // Of a stop that was itself interrupted: its PID may be this one's by now.
    await ports.files.rm(join(project.svc, STOP_FILE), { force: true }).catch(() => {})
    const files: [string, string][] = [
      [join(project.svc, HOLDER_FILE), `${JSON.stringify(holder)}\n`],
      [join(project.svc, PID_FILE), `${holder.pid}\n`],
    ]
    for (const [file, text] of files) {
      // They are hints: what lies in their place must not keep the daemon from starting.
      await replaceFile(ports.files, file, text).catch(error =>
        log.warn({}, `${file} was not written: ${sentenceOf(error)}`),
      )
    }
    return async () => {
      for (const [file] of files) await ports.files.rm(file, { force: true }).catch(() => {})
    }
  }

  /** The age of the file is the age of the loop's last round: readable without asking the daemon. */
  #noteRounds(file: string): Undo {
    const { clock, ports, heartbeat } = this.#svc
    const stop = new AbortController()
    const note = async () => {
      while (!stop.signal.aborted) {
        await clock.sleep(NOTE_MS, stop.signal)
        const seconds = heartbeat.lastTick / 1000
        if (!stop.signal.aborted && seconds > 0) await ports.files.utimes(file, seconds, seconds).catch(() => {})
      }
    }
    const noting = note()
    return () => {
      stop.abort()
      return noting
    }
  }
}
