import { errorMessage, type Undo } from '#kernel'
import { printable } from '../screen/printable.ts'
import type { Terminal } from '../screen/terminal.ts'

/**
 * Prints uncaught errors as one message. A rejected promise of a plugin does not end the command. An exception ends it
 * with exit code 1, as it might otherwise wait for ever. Does nothing where a watchdog handles these errors.
 */
export function watchStrays(terminal: Terminal): Undo {
  const isWatched = (event: string) => process.listenerCount(event) > 1
  const onRejection = (error: unknown) => {
    if (!isWatched('unhandledRejection')) terminal.err(printable(`svc: warning: ${describeError(error)}`))
  }
  const onException = (error: unknown) => {
    if (isWatched('uncaughtException')) return
    terminal.err(`${terminal.errStyle.red('svc:')} ${printable(describeError(error))}`)
    process.exit(1)
  }
  process.on('unhandledRejection', onRejection)
  process.on('uncaughtException', onException)
  return () => {
    process.off('unhandledRejection', onRejection)
    process.off('uncaughtException', onException)
  }
}

/** Describes an error with the innermost frame of its stack, which is usually a line of a plugin. */
function describeError(error: unknown): string {
  const stack = error instanceof Error ? error.stack : undefined
  const place = /^\s+at .*?(?:file:\/\/)?(\/.*:\d+:\d+)\)?$/m.exec(stack ?? '')?.[1]
  return `uncaught error: ${errorMessage(error)}${place ? ` (${place})` : ''}`
}
