import { type PluginHandle, z } from '#kernel'
import { keyedMutex } from '#lib/keyed-mutex'
import { type Tool, type Toolkit, tool } from '#tools/toolkits/contract'
import type { ShellConfig } from './config.ts'
import { CommandError } from './contract.ts'
import type { Programs } from './shell.ts'

const cwd = z.string().min(1).default('.').describe('Folder of your workspace to run it in')

/** The tools that run programs. */
export function shellToolkit(svc: PluginHandle, config: ShellConfig, programs: Programs): Toolkit {
  // A check holds as long as nothing of the same agent moves what was checked.
  const inTurn = keyedMutex()

  const exec = tool({
    name: 'shell_exec',
    description:
      'Run one program in your workspace, such as: grep -rn "total" src, or npm test. No pipes, redirections, variables or wildcards. Gives what it wrote and its exit code.',
    parameters: z.object({
      command: z.string().min(1).max(20_000).describe('The program and its arguments, quoted as in a shell'),
      cwd,
      input: z.string().max(1_000_000).default('').describe('Text for its standard input'),
    }),
    danger: 'runs programs',
    requires_approval: true,
    execute: ({ command, cwd, input }, call) =>
      inTurn(call.workspace, async () => {
        call.signal.throwIfAborted()
        return programs.tell(await programs.exec({ command, cwd, input }, call), call)
      }),
  })
  const script = tool({
    name: 'shell_script',
    description:
      'Run a script of your own with sh in your workspace; pipes, redirections and loops work. A person looks at it first.',
    parameters: z.object({ script: z.string().min(1).max(20_000), cwd }),
    danger: 'runs any program',
    requires_approval: true,
    execute: ({ script, cwd }, call) =>
      inTurn(call.workspace, async () => {
        call.signal.throwIfAborted()
        refuseUnlessGated(svc)
        const { cwd: folder } = await programs.place(call, cwd)
        return programs.tell(await programs.start({ argv: ['sh', '-c', script], cwd: folder }, call), call)
      }),
  })
  return { name: 'shell', everyday: true, tools: offered(exec, script, config.shell_full) }
}

function offered(exec: Tool, script: Tool, full: boolean): Tool[] {
  return full ? [exec, script] : [exec]
}

/** A whole shell is for where a person sees each script before it runs. */
function refuseUnlessGated({ config }: PluginHandle): void {
  if (config.get('approval.enabled') === true) return
  throw new CommandError({ problem: 'shell_script needs the approval of a person, and approval.enabled is off' })
}
