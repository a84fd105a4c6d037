import { SCRIPTS, SHELLS } from '../completion/scripts.ts'
import type { HandWritten } from '../context.ts'
import { UsageError } from '../contract.ts'

/** Prints a shell script that completes this program's commands. */
const completion: HandWritten = async ({ shell }, { terminal, json }) => {
  const known = SHELLS.find(name => name === shell)
  if (!known) {
    const problem = `completion: the shell is one of ${SHELLS.join(', ')}, not "${shell}"`
    throw new UsageError({ problem, usage: `svc completion ${SHELLS.join('|')}` })
  }
  const script = SCRIPTS[known]
  terminal.out(json ? JSON.stringify({ shell: known, script }, null, 2) : script)
  return 0
}
export default completion
