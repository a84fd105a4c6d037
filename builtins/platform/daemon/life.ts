import { isAbsolute, join, resolve } from 'node:path'
import { errorMessage, type PluginHandle, type Undo } from '#kernel'
import { crashPoint } from '#lib/crash-point'
import { identityOf } from '#lib/identity'
import { pluralize } from '#lib/pluralize'
import { inRound, sleepToRound } from '#lib/poller'
import { replaceFile } from '#lib/yaml'
import { RestartToken } from '#platform/plugin-files/contract'
import { Store } from '#platform/store/contract'
import { DaemonListener, DaemonRunningError, DaemonStarts, type Holder, OWN_NAME, STOP_FILE } from './contract.ts'
import { holdLock, socketPlace, takePlace } from './lock.ts'
import { hasOtherNodes, listOtherNodes, registerNode, releaseDeadNodes } from './nodes.ts'
import { findUnit } from './unit.ts'

/** Interval at which the time of the loop's last round is recorded, in milliseconds. */
const NOTE_MS = 1_000
/** Interval of checks for dead daemons, in milliseconds. */
const LOOK_MS = 1_000

/** Steps that make a process the daemon, which are undone in reverse order. */
export class DaemonLife {
  readonly #svc: PluginHandle
  readonly #undo: Undo[] = []
  #starting: Promise<void> | undefined

  constructor(svc: PluginHandle) {
    this.#svc = svc
  }

  start({ join = false } = {}): Promise<void> {
    this.#starting ??= this.#start(join).catch(async error => {
      await this.#leave()
      throw error
    })
    return this.#starting
  }

  async isDriving(): Promise<boolean> {
    await this.#starting?.catch(() => {})
    return this.#svc.heartbeat.live
  }

  async stop(): Promise<void> {
    // A start must complete before it can be undone.
    await this.#starting?.catch(() => {})
    await this.#leave()
  }

  async #leave(): Promise<void> {
    this.#starting = undefined
    for (const undo of this.#undo.splice(0).reverse()) {
      await Promise.resolve(undo()).catch(error => this.#svc.log.error({}, errorMessage(error)))
    }
  }

  async #start(beside: boolean): Promise<void> {
    const { project, heartbeat, log, ports } = this.#svc
    const id = ports.ids.make(OWN_NAME, 8)
    const { holder, joined } = await this.#place(await this.#describe(id), id, beside)
    this.#undo.push(await registerNode(this.#svc, holder))
    crashPoint?.('place taken')
    const freed = await this.#recover()
    if (freed > 0) log.info({}, `released ${freed} leases of a daemon that has ended`)
    const alone = !joined && !(await this.#svc.use(Store).hasOtherDaemons())
    for (const start of this.#svc.list(DaemonStarts)) {
      const undo = alone ? await start.begin() : await start.join?.()
      if (undo) this.#undo.push(undo)
    }
    const name = joined ? id : OWN_NAME
    crashPoint?.('daemon begun')
    this.#undo.push(await this.#writeFiles(name, holder))
    if (this.#svc.has(DaemonListener)) {
      const listening = await this.#svc.use(DaemonListener).listen({ socket: resolve(project.svc, holder.socket) })
      this.#undo.push(() => listening.close())
    }
    this.#undo.push(this.#touchRepeatedly(join(project.svc, name), holder), this.#watchOthers())
    heartbeat.start()
    this.#undo.push(() => heartbeat.stop())
    log.info({}, `the daemon runs with PID ${process.pid}${joined ? ', joined to another daemon' : ''}`)
  }

  /**
   * Takes the place of the project's daemon or, if there is one and `beside` is set, that of an additional one.
   * @throws DaemonRunningError
   */
  async #place(holder: Holder, id: string, beside: boolean): Promise<{ holder: Holder; joined: boolean }> {
    this.#undo.push(await holdLock(this.#svc, holder))
    crashPoint?.('lock held')
    try {
      this.#undo.push(await takePlace(this.#svc, holder))
      return { holder, joined: false }
    } catch (error) {
      if (!beside || !(error instanceof DaemonRunningError)) throw error
      // Sockets in a private folder of this process need no distinct names.
      const socket = isAbsolute(holder.socket) ? holder.socket : `${id}.sock`
      return { holder: { ...holder, socket }, joined: true }
    }
  }

  /** Releases leases of dead processes and makes their agents due again. Returns how many were released. */
  async #recover(): Promise<number> {
    await releaseDeadNodes(this.#svc)
    const living = await listOtherNodes(this.#svc)
    return this.#svc.use(Store).recover(living.map(({ owner }) => owner))
  }

  async #describe(id: string): Promise<Holder> {
    const { ports, clock } = this.#svc
    const place = await socketPlace(this.#svc, id)
    const identity = await identityOf(ports, process.pid)
    const words = this.#svc.has(RestartToken) ? this.#svc.use(RestartToken) : []
    const started = { detached: words.includes('--detach'), dev: words.includes('--dev') }
    const unit = await findUnit(ports)
    return {
      pid: process.pid,
      process: identity ?? '',
      ...place,
      ...started,
      ...(unit ? { unit } : {}),
      started_at: clock.ms(),
    }
  }

  async #writeFiles(name: string, holder: Holder): Promise<Undo> {
    const { ports, project, log } = this.#svc
    const [serves] = this.#svc.has(DaemonListener) ? this.#svc.use(DaemonListener).addresses() : []
    // Left over from an interrupted stop; its PID may be that of this process now.
    await ports.files.rm(join(project.svc, STOP_FILE), { force: true }).catch(() => {})
    const files: [string, string][] = [
      [join(project.svc, `${name}.json`), `${JSON.stringify({ ...holder, serves })}\n`],
      [join(project.svc, `${name}.pid`), `${holder.pid}\n`],
    ]
    for (const [file, text] of files) {
      // The files are hints: a failed write must not keep the daemon from starting.
      await replaceFile(ports.files, file, text).catch(error =>
        log.warn({}, `${file} was not written: ${errorMessage(error)}`),
      )
    }
    return async () => {
      for (const [file] of files) await ports.files.rm(file, { force: true }).catch(() => {})
    }
  }

  async #takeOverAgents(): Promise<void> {
    const freed = await releaseDeadNodes(this.#svc)
    if (freed > 0)
      this.#svc.log.warn({}, `another daemon has ended; this daemon takes over ${pluralize(freed, 'agent')}`)
  }

  /**
   * Touches `<name>.json` after each round of the loop, and `<name>.pid` too after a failed round, so that the state
   * can be read from the times of the files.
   */
  #touchRepeatedly(path: string, { started_at }: Holder): Undo {
    const { clock, ports, heartbeat } = this.#svc
    let cancel = () => {}
    const note = () => {
      const at = Math.max(heartbeat.lastTick, started_at)
      ports.touch(`${path}.json`, at)
      if (heartbeat.fault) ports.touch(`${path}.pid`, at)
      cancel = inRound(clock, NOTE_MS, note)
    }
    note()
    return () => cancel()
  }

  /**
   * Takes over the work of dead daemons. A daemon alone checks only after another process has written, as a new daemon
   * does.
   */
  #watchOthers(): Undo {
    const { clock, log } = this.#svc
    const stop = new AbortController()
    let seen = ''
    const look = async () => {
      if (await hasOtherNodes(this.#svc)) {
        await this.#takeOverAgents()
        await sleepToRound(clock, LOOK_MS, stop.signal)
      } else seen = await this.#svc.use(Store).waitForChange(seen, stop.signal)
    }
    const watch = async () => {
      while (!stop.signal.aborted) {
        await look().catch(error => {
          log.warn({}, errorMessage(error))
          return sleepToRound(clock, LOOK_MS, stop.signal)
        })
      }
    }
    const watching = watch()
    return () => {
      stop.abort()
      return watching
    }
  }
}
