import { errorMessage, HostToken, type PluginHandle, type Undo } from '#kernel'
import { placesOf, traceOf } from './trace.ts'

const WHAT = 'uncaught error'

/**
 * Logs uncaught errors, such as one thrown by a plugin's timer, with their position, and counts them against the plugin
 * that caused them.
 * @param onBroken called with an error that no plugin caused: the state of the program itself is then unknown
 */
export function watchStrays(svc: PluginHandle, onBroken: (error: unknown) => void): Undo {
  const reportStray = (error: unknown): boolean => {
    const trace = traceOf(svc, error)
    // A timer that throws fifty times a second would fill the disk with logs.
    if (trace?.suspended) return true
    const place = trace?.place ?? placesOf(error)[0]
    const fields = { code: 'stray_error', ...(trace ? { plugin: trace.plugin } : {}) }
    svc.log.error(fields, `${WHAT}: ${errorMessage(error)}${place ? ` (${place})` : ''}`)
    if (trace) svc.use(HostToken).blame(trace.plugin, WHAT, error)
    return trace !== undefined
  }
  const onRejection = (error: unknown) => void reportStray(error)
  const onException = (error: unknown) => {
    if (reportStray(error) || hasPluginFiles(svc)) return
    svc.log.error(
      { code: 'stray_error' },
      'the process ends: the error was not caused by a plugin, so the state of the program is unknown',
    )
    onBroken(error)
  }
  process.on('unhandledRejection', onRejection)
  process.on('uncaughtException', onException)
  return () => {
    process.off('unhandledRejection', onRejection)
    process.off('uncaughtException', onException)
  }
}

/** Returns whether an error without a stack, such as a socket's, may come from a plugin. */
function hasPluginFiles(svc: PluginHandle): boolean {
  return svc
    .use(HostToken)
    .list()
    .some(({ origin }) => origin !== 'builtin')
}
