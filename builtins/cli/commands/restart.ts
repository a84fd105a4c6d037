import type { HandWritten } from '../context.ts'
import { findProject } from '../project.ts'
import start from './start.ts'
import { stopDaemons, timeoutOf } from './stop.ts'

const restart: HandWritten = async (input, context) => {
  const seconds = timeoutOf(input.timeout)
  const root = await findProject(context.ports, context.named)
  context.terminal.out(await stopDaemons(root, seconds, context))
  return start(input, context)
}
export default restart
