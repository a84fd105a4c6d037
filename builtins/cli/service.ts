import { type Kernel, type Role, sentenceOf } from '#kernel'
import type { Context } from './context.ts'
import { tell } from './detached.ts'
import { type Journal, openJournal } from './journal.ts'
import { narrate } from './narrate.ts'

/**
 * Brings up a long-running process, and keeps it until SIGTERM or SIGINT. A second one ends it at once; SIGHUP is ignored,
 * so that a closed terminal ends nothing.
 * @param begin what it does once it is up; returns what is told on standard output
 * @returns the exit code, at the end
 */
export async function serveUntilSignal(
  root: string,
  roles: readonly Role[],
  context: Context,
  begin: (kernel: Kernel, journal: Journal) => Promise<string>,
): Promise<number> {
  const journal = await openJournal(context.ports, root, context.terminal)
  const signal = stopSignal()
  const kernel = await context.house.open({ root, roles, log: { write: line => journal.write(line) } })
  try {
    watchStrays(kernel)
    narrate(kernel)
    const told = await begin(kernel, journal)
    if (!(await tell(context.ports.env, { ready: told }))) context.terminal.out(told)
    kernel.log.info({}, `${await signal}: stopping`)
  } finally {
    await kernel.close()
    await journal.close()
  }
  return 0
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

/** An error that nobody caught, as a plugin's timer may throw it, is logged with its place; everything else goes on. */
function watchStrays({ log }: Kernel): void {
  const tell = (error: unknown) => {
    const place =
      error instanceof Error ? /\(?((?:file:\/\/)?\/[^)\s]+:\d+:\d+)\)?/.exec(error.stack ?? '')?.[1] : undefined
    log.error({ code: 'stray_error' }, `an error that nobody caught: ${sentenceOf(error)}${place ? ` (${place})` : ''}`)
  }
  process.on('uncaughtException', tell)
  process.on('unhandledRejection', tell)
}
