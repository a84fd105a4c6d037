import type { HandWritten } from '../context.ts'
import { findProject } from '../project.ts'
import start from './start.ts'
import { inWords, stopDaemons, timeoutOf } from './stop.ts'

const restart: HandWritten = async (input, context) => {
  const seconds = timeoutOf(input.timeout)
  const root = await findProject(context.ports, context.named)
  const stopped = await stopDaemons(root, seconds, context)
  const { terminal, json, ports } = context
  if (!json) terminal.out(inWords(stopped, seconds))
  // In the form of what the daemon that comes tells of its life.
  else
    for (const each of stopped)
      terminal.out(JSON.stringify({ event: 'stopped', at: ports.clock.now().toISOString(), ...each }))
  return start(input, context)
}
export default restart
