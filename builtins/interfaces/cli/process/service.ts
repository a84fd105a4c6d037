import { setFlagsFromString } from 'node:v8'
import type { Kernel, Role } from '#kernel'
import { DaemonStarts } from '#platform/daemon/contract'
import { Watchdog } from '#platform/watchdog/contract'
import type { Context } from '../context.ts'
import { narrate } from '../screen/narrate.ts'
import { printableJson } from '../screen/printable.ts'
import type { Announcement } from './announce.ts'
import { isDetached, sendToParent } from './detached.ts'
import { type Journal, openJournal } from './journal.ts'

/** Work specific to one kind of long-running process. */
export interface Service {
  /**
   * Runs what must succeed before the first heartbeat, such as binding a port, so that a failure costs no model call.
   */
  beforeHeartbeat?(kernel: Kernel, life: Life): Promise<void>
  /** Runs once the process is up. @returns what is announced then, if anything */
  begin(kernel: Kernel, journal: Journal): Promise<Announcement | undefined>
}

/**
 * Starts a long-running process, and keeps it until SIGTERM or SIGINT. A second signal ends it at once; SIGHUP is
 * ignored, so that closing the terminal does not end it.
 * Prints on standard output that it is ready; for programs (`--json`) a JSON line for each event: `listening`, `ready`,
 * `stopping`, `stopped`, each with `event`, `at`, `pid` and the facts known then.
 * @param ended resolves with another reason to end, when there is one
 * @returns the exit code, at the end: 1 when an error of the program itself ended it
 */
export async function serveUntilSignal(
  root: string,
  roles: readonly Role[],
  context: Context,
  service: Service,
  ended?: Promise<string>,
): Promise<number> {
  const journal = await openJournal(context.ports, root, context.terminal)
  const signal = stopSignal()
  const log = { write: (line: string) => journal.write(line) }
  const life = lifeOf(context)
  let done: Promise<void> | undefined
  const before = async (kernel: Kernel) => {
    done ??= service.beforeHeartbeat?.(kernel, life)
    await done
  }
  // The daemon drives agents as soon as it is up, so it calls this first.
  const prepare = (kernel: Kernel) => {
    const begin = () => before(kernel)
    kernel.points.add(DaemonStarts, { name: 'cli', begin, join: begin }, 'cli')
  }
  // Only the client connected to its pipes can restart an MCP process.
  const restart = roles.includes('mcp') ? [] : restartCommand(context)
  const kernel = await context.program.open({ root, roles, restart, log, prepare }).catch(async error => {
    await journal.close()
    throw error
  })
  let ended_with: number | undefined
  const watchdog = kernel.services.has(Watchdog) ? kernel.use(Watchdog) : undefined
  try {
    // By default V8 lets its heap grow to four times what is in use. A process that runs for weeks takes a third less
    // memory this way, and no measurable processor time more (docs/performance.md).
    setFlagsFromString('--heap-growing-percent=50')
    // Young objects are few after each turn; waking other threads to collect them takes longer than the collection.
    setFlagsFromString('--no-parallel-scavenge')
    narrate(kernel)
    await before(kernel)
    const ready = await service.begin(kernel, journal)
    if (ready && context.json) await life('ready', ready.facts)
    else if (ready && !(await sendToParent(context.ports.env, { ready: ready.text }))) context.terminal.out(ready.text)
    const reasons = [signal, ...(ended ? [ended] : []), ...(watchdog ? [watchdog.orphaned] : [])]
    const ends = Promise.race(reasons).then(why => ({ why, exit: 0 }))
    const breaks = watchdog?.broken.then(() => ({ why: 'an internal error', exit: 1 }))
    const { why, exit } = await Promise.race(breaks ? [ends, breaks] : [ends])
    kernel.log.info({}, `${why}: stopping`)
    await life('stopping', { reason: why })
    ended_with = exit
    return exit
  } finally {
    watchdog?.ending()
    await kernel.close()
    if (ended_with !== undefined) await life('stopped', { exit: ended_with })
    await journal.close()
  }
}

/** Reports a lifecycle event of this process to programs. */
type Life = (event: 'listening' | 'ready' | 'stopping' | 'stopped', facts: object) => Promise<void>

function lifeOf({ json, ports, terminal }: Context): Life {
  return async (event, facts) => {
    if (!json) return
    const at = ports.clock.now().toISOString()
    const line = printableJson(JSON.stringify({ event, at, pid: process.pid, ...facts }))
    // A detached process reports to the process that started it, and prints nothing.
    if (!isDetached(ports.env)) terminal.out(line)
    else if (event === 'ready') await sendToParent(ports.env, { ready: line })
  }
}

/** Returns the command that starts this process again. */
function restartCommand({ ports }: Context): string[] {
  const words = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  return isDetached(ports.env) ? [...words, '--detach'] : words
}

function stopSignal(): Promise<NodeJS.Signals> {
  process.on('SIGHUP', () => {})
  return new Promise(resolve => {
    let stopping = false
    const stop = (name: NodeJS.Signals, number: number) => {
      if (stopping) process.exit(128 + number)
      stopping = true
      resolve(name)
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
  })
}
