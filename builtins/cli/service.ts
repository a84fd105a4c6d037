import type { Kernel, Role } from '#kernel'
import { Watchdog } from '../watchdog/contract.ts'
import type { Context } from './context.ts'
import { isDetached, tell } from './detached.ts'
import { type Journal, openJournal } from './journal.ts'
import { narrate } from './narrate.ts'

/**
 * Brings up a long-running process, and keeps it until SIGTERM or SIGINT. A second one ends it at once; SIGHUP is ignored,
 * so that a closed terminal ends nothing.
 * @param begin what it does once it is up; returns what is told on standard output
 * @param ended resolves with the reason when there is another one to end
 * @returns the exit code, at the end: 1 when an error of the program itself ended it
 */
export async function serveUntilSignal(
  root: string,
  roles: readonly Role[],
  context: Context,
  begin: (kernel: Kernel, journal: Journal) => Promise<string>,
  ended?: Promise<string>,
): Promise<number> {
  const journal = await openJournal(context.ports, root, context.terminal)
  const signal = stopSignal()
  const log = { write: (line: string) => journal.write(line) }
  const kernel = await context.house.open({ root, roles, restart: sameAgain(context), log })
  const watchdog = kernel.services.has(Watchdog) ? kernel.use(Watchdog) : undefined
  try {
    narrate(kernel)
    const told = await begin(kernel, journal)
    if (!(await tell(context.ports.env, { ready: told }))) context.terminal.out(told)
    const ends = Promise.race(ended ? [signal, ended] : [signal]).then(why => ({ why, exit: 0 }))
    const breaks = watchdog?.broken.then(() => ({ why: 'an error of its own', exit: 1 }))
    const { why, exit } = await Promise.race(breaks ? [ends, breaks] : [ends])
    kernel.log.info({}, `${why}: stopping`)
    return exit
  } finally {
    watchdog?.ending()
    await kernel.close()
    await journal.close()
  }
}

/** The command that starts this process again. */
function sameAgain({ ports }: Context): string[] {
  const words = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  return isDetached(ports.env) ? [...words, '--detach'] : words
}

function stopSignal(): Promise<NodeJS.Signals> {
  process.on('SIGHUP', () => {})
  return new Promise(resolve => {
    let told = false
    const stop = (name: NodeJS.Signals, number: number) => {
      if (told) process.exit(128 + number)
      told = true
      resolve(name)
    }
    process.on('SIGTERM', stop)
    process.on('SIGINT', stop)
  })
}
