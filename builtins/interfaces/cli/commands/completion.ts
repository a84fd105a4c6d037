import { SCRIPTS, type Shell } from '../completion/scripts.ts'
import type { HandWritten } from '../context.ts'
import { print } from '../screen/printable.ts'

/** Prints a shell script that completes this program's commands. */
const completion: HandWritten = async ({ shell }, context) => {
  const script = SCRIPTS[shell as Shell]
  return print(context, { shell, script }, script)
}
export default completion
