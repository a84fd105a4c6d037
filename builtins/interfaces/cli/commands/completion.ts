import { SCRIPTS, type Shell } from '../completion/scripts.ts'
import type { HandWritten } from '../context.ts'

/** Prints a shell script that completes this program's commands. */
const completion: HandWritten = async ({ shell }, { terminal, json }) => {
  const script = SCRIPTS[shell as Shell]
  terminal.out(json ? JSON.stringify({ shell, script }, null, 2) : script)
  return 0
}
export default completion
