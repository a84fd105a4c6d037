import { type PluginHandle, z } from '#kernel'
import { keyedMutex } from '#lib/keyed-mutex'
import { Jail, type ProcessRequest, reachOf, Sandbox } from '#safety/sandbox/contract'
import { type Tool, type ToolCall, type Toolkit, tool } from '#tools/toolkits/contract'
import { type Allowed, checked } from './check.ts'
import type { ShellConfig } from './config.ts'
import { CommandError } from './errors.ts'
import { wordsOf } from './words.ts'

const cwd = z.string().min(1).default('.').describe('Folder of your workspace to run it in')

/** The tools that run programs. */
export function shellToolkit(svc: PluginHandle, config: ShellConfig): Toolkit {
  // A check holds as long as nothing of the same agent moves what was checked.
  const inTurn = keyedMutex()

  const place = async (call: ToolCall, folder: string) => {
    const jail = svc.use(Jail)
    const { real } = await jail.resolve(call, folder)
    const found = await svc.ports.files.stat(real).catch(() => undefined)
    if (!found?.isDirectory()) throw new CommandError({ problem: `${JSON.stringify(folder)} is no folder` })
    const walled = (await svc.use(Sandbox).status()).wall === 'bubblewrap'
    return { jail, reach: reachOf(call), cwd: real, walled }
  }
  const run = async (call: ToolCall, request: Pick<ProcessRequest, 'argv' | 'cwd' | 'env' | 'input'>) => {
    const sandbox = svc.use(Sandbox)
    const reach = reachOf(call)
    const pass_env = config.shell_pass_env
    const time_limit_ms = config.shell_timeout * 1000
    return sandbox.tell(
      await sandbox.run({ ...request, ...reach, signal: call.signal, pass_env, time_limit_ms }),
      reach,
    )
  }

  /** In the sandbox any; without one those that can do anything only where a person agreed, or looks at each call. */
  const allowed = ({ walled }: { walled: boolean }): Allowed => {
    if (walled && config.shell_sandboxed_programs) return 'any'
    return config.shell_allow_dev_commands || isGated(svc) ? 'development' : 'restricted'
  }

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
        const at = await place(call, cwd)
        const { argv, env } = await checked(wordsOf(command), allowed(at), at)
        return run(call, { argv, env, input, cwd: at.cwd })
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
        const at = await place(call, cwd)
        return run(call, { argv: ['sh', '-c', script], cwd: at.cwd })
      }),
  })
  return { name: 'shell', everyday: true, tools: offered(exec, script, config.shell_full) }
}

function offered(exec: Tool, script: Tool, full: boolean): Tool[] {
  return full ? [exec, script] : [exec]
}

/** Returns whether a person looks at each command before it runs. */
function isGated({ config }: PluginHandle): boolean {
  const without = config.get('approval.auto_approve') ?? []
  return config.get('approval.enabled') === true && !(without as readonly string[]).includes('shell_exec')
}

/** A whole shell is for where a person sees each script before it runs. */
function refuseUnlessGated({ config }: PluginHandle): void {
  if (config.get('approval.enabled') === true) return
  throw new CommandError({ problem: 'shell_script needs the approval of a person, and approval.enabled is off' })
}
