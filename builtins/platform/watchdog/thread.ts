import { isatty } from 'node:tty'
import { parentPort, workerData } from 'node:worker_threads'
import { errorMessage } from '#kernel'
import { systemPorts } from '#lib/system-ports'
import { HELD_UP, superviseSuccessors } from './foreground.ts'
import { type Frame, type HaltedThread, haltMainThread } from './halt.ts'
import { quarantine } from './quarantine.ts'
import { CELL, isOf, type Notice, PATIENCE, STEPS, type Watch } from './shared.ts'
import { startSuccessor } from './successor.ts'

// The thread that watches the main thread. It uses nothing that depends on the main thread, not even its own standard
// error.

const { cells, step_ms, ...watch } = workerData as Watch
const ports = systemPorts()
const files = new Map<string, { plugin: string; fingerprint: string }>()
const code = new Map<number, { plugin: string; file: string; what: string }>()

/** The plugin whose code blocks the process. */
interface Offender {
  plugin: string
  file: string
  /** What the code was called for, if known. */
  what: string | undefined
  /** Position as `file:line`, if known. */
  place: string | undefined
}

parentPort!.on('message', (notice: Notice) => {
  const known = files.get(notice.file)
  if (notice.kind === 'file') files.set(notice.file, { ...notice, plugin: known?.plugin ?? notice.plugin })
  else code.set(notice.id, notice)
  // A plugin is named after its file until it is loaded.
  if (notice.kind === 'code' && known) known.plugin = notice.plugin
})
await keepWatch()

async function keepWatch(): Promise<never> {
  let round = -1
  let still = 0
  let reported = false
  for (;;) {
    await ports.clock.sleep(step_ms)
    const now = Atomics.load(cells, CELL.round)
    // Counts steps, not time: a machine that slept, or a process that was stopped, has not hung.
    if (now !== round || Atomics.load(cells, CELL.debugged) === 1) {
      if (reported) await say(40, `the process responds again, after ${seconds(still)} s`)
      round = now
      still = 0
      reported = false
    } else if (++still % STEPS === 0) {
      const halted = await haltMainThread(ports.clock)
      const { frames, resume } = halted
      const offender = find(frames)
      if (offender) await quarantineOffender(offender, still)
      if (!offender && !reported)
        await say(50, `${describeBlock(still)}, but not by the code of a plugin${describePosition(frames)}`)
      reported = true
      if (offender || still >= STEPS * PATIENCE) await restart(halted)
      resume()
    }
  }
}

/** Returns the plugin whose code is innermost on the stack, else the one whose code was entered last and has not returned. */
function find(frames: readonly Frame[]): Offender | undefined {
  const running = code.get(Atomics.load(cells, CELL.code))
  for (const frame of frames) {
    const [file, known] = [...files].find(([each]) => isOf(frame.file, each)) ?? []
    if (!file || !known) continue
    const what = running?.file === file ? running.what : undefined
    const plugin = running?.file === file ? running.plugin : known.plugin
    return { plugin, file, what, place: `${frame.file}:${frame.line}` }
  }
  return running && { ...running, place: undefined }
}

async function quarantineOffender({ plugin, file, what, place }: Offender, still: number): Promise<void> {
  const reason = `blocked the whole process for ${seconds(still)} s${what ? `, in "${what}"` : ''}, at ${place ?? file}`
  const fingerprint = files.get(file)?.fingerprint
  await say(60, `plugin "${plugin}" ${reason}`, { plugin })
  if (fingerprint === undefined) return
  const entry = { plugin, file, fingerprint, reason, at: ports.clock.now().toISOString() }
  await quarantine(ports.files, watch.quarantine, entry).catch(error =>
    say(50, `${watch.quarantine} was not written: ${errorMessage(error)}`),
  )
}

/** Kills this blocked process and starts a successor, unless the process was about to end. */
async function restart(halted: HaltedThread): Promise<void> {
  if (watch.command.length === 0) {
    await say(50, 'the process is killed')
  } else if (Atomics.load(cells, CELL.ending) === 1 || (await isToStop())) {
    await say(50, 'the process is killed, because it was about to end')
  } else if (watch.parent === 'predecessor') {
    await say(50, 'the process ends, and a new one replaces it')
    process.kill(process.pid, HELD_UP)
    await ports.clock.sleep(step_ms)
  } else if (watch.parent === 'terminal' && halted.frames.length > 0) {
    await say(50, 'the process stays halted, and a new one replaces it')
    await superviseSuccessors(ports, watch.command, halted).catch(reportStartFailure)
  } else {
    await startSuccessor(ports, watch).then(
      () => say(50, 'the process is killed, and a new one replaces it'),
      reportStartFailure,
    )
  }
  process.kill(process.pid, 'SIGKILL')
}

function reportStartFailure(error: unknown): Promise<void> {
  return say(50, `the process is killed, but could not be started again: ${errorMessage(error)}`)
}

/** Returns whether a stop was requested that the blocked process could not notice. */
async function isToStop(): Promise<boolean> {
  const pid = await ports.files.readFile(watch.stop, 'utf8').catch(() => '')
  return pid.trim() === String(process.pid)
}

function describeBlock(still: number): string {
  return `the process has been blocked for ${seconds(still)} s`
}

function describePosition([innermost]: readonly Frame[]): string {
  return innermost ? ` (it is at ${innermost.file}:${innermost.line})` : ''
}

function seconds(steps: number): number {
  return Math.round((steps * step_ms) / 100) / 10
}

/** Appends a line to the log, in the main thread's format. */
async function say(level: number, msg: string, fields: object = {}): Promise<void> {
  const line = JSON.stringify({ level, time: ports.clock.now().toISOString(), ...fields, code: 'held_up', msg })
  await ports.files.appendFile(watch.log, `${line}\n`, { mode: 0o600 }).catch(() => {})
  // Writes by system call: a thread's standard error would wait for the main thread.
  if (watch.echo) rawDebug(isatty(2) ? `svc: ${msg}` : line)
}

function rawDebug(line: string): void {
  ;(process as unknown as { _rawDebug(line: string): void })._rawDebug(line)
}
