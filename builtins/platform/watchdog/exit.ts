import type { PluginHandle, Undo } from '#kernel'
import { traceOf } from './trace.ts'

/** Refuses `process.exit` to plugins, and logs which plugin called it where. The program's own exits still work. */
export function refuseExit(svc: PluginHandle, running: () => string | undefined): Undo {
  const own = process.exit
  const refusing = (code?: number | string | null): never => {
    const trace = traceOf(svc, new Error('called here'))
    const plugin = trace?.plugin ?? running()
    if (plugin === undefined) return own(code)
    const refused = new Error(`process.exit(${code ?? ''}) is refused: a plugin must not end the process`)
    svc.log.error({ plugin, code: 'exit_refused' }, trace ? `${trace.place}: ${refused.message}` : refused.message)
    throw refused
  }
  process.exit = refusing
  return () => {
    if (process.exit === refusing) process.exit = own
  }
}
