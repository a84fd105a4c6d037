import { type PluginHandle, z } from '#kernel'
import { authorEnv } from '#lib/git'
import { keyedMutex } from '#lib/keyed-mutex'
import { reachOf } from '#safety/sandbox/contract'
import { type Toolkit, tool } from '#tools/toolkits/contract'
import type { BackgroundProcesses } from './background.ts'
import type { ShellConfig } from './config.ts'
import { CommandError, PROCESS_OUTPUT } from './contract.ts'
import type { Programs } from './shell.ts'

/** Advice after a command was stopped at its time limit. */
const MORE_TIME =
  'Set background if the command needs more time, and leave out a pipe such as "| tail", which shows nothing before the end.'
const cwd = z.string().min(1).default('.').describe('Folder of your workspace to run it in')

/** The tools that run programs. */
export function shellToolkit(
  svc: PluginHandle,
  config: ShellConfig,
  programs: Programs,
  background: BackgroundProcesses,
): Toolkit {
  // Serializes calls of an agent, so that none moves files that another one has checked.
  const inTurn = keyedMutex()
  const exec = tool({
    name: 'shell_exec',
    description: `Run a command in your workspace, as in {"command": "npm test"}. In a sandbox it may be a line of sh, with pipes and redirections; without a sandbox it is a single program. It is stopped after ${config.shell_timeout} s; set background for longer ones. Without network access each command has its own 127.0.0.1: start a server and its client in one. Returns the output and the exit code.`,
    parameters: z.object({
      command: z.string().min(1).max(20_000).describe('Program and arguments, quoted as in a shell'),
      cwd,
      input: z.string().max(1_000_000).default('').describe('Text for standard input'),
      background: z.boolean().default(false).describe('Run it in the background, for process_output'),
    }),
    danger: 'runs programs',
    requires_approval: true,
    shell_arguments: ['command'],
    check: ({ command, cwd, input }, call) => programs.requestFor({ command, cwd, input }, call),
    execute: ({ command, cwd, input, background: isBackground }, call) =>
      inTurn(call.workspace, async () => {
        call.signal.throwIfAborted()
        if (isBackground) {
          const request = await programs.requestFor({ command, cwd, input }, call)
          const { shell_pass_env: pass_env } = config
          return background.start(call, command, { ...request, ...reachOf(call), pass_env })
        }
        const end = await programs.exec({ command, cwd, input }, call)
        const shown = await programs.describeEnd(end, call)
        return end.timed_out ? `${shown}\n[${MORE_TIME}]` : shown
      }),
  })
  const output = tool({
    name: PROCESS_OUTPUT,
    description:
      'Read the new output of a background process, and whether it still runs. Without process_id, your processes are listed. wait_seconds waits for its end, with until_output only for a pause after new output.',
    parameters: z.object({
      process_id: z.string().min(1).max(64).optional().describe('Id from shell_exec'),
      wait_seconds: z.coerce.number().min(0).max(3600).default(0),
      until_output: z.boolean().default(false),
    }),
    execute: ({ process_id, wait_seconds, until_output }, call) => {
      const read = process_id ?? (wait_seconds > 0 ? background.onlyRunning(call) : undefined)
      return read === undefined ? background.list(call) : background.read(call, read, wait_seconds * 1000, until_output)
    },
  })
  const stop = tool({
    name: 'process_stop',
    description: 'End a background process with all that it started, and read the rest of its output.',
    parameters: z.object({
      process_id: z.string().min(1).max(64).describe('Id from shell_exec'),
    }),
    idempotent: true,
    execute: ({ process_id }, call) => background.end(call, process_id),
  })
  const script = tool({
    name: 'shell_script',
    description:
      'Run a script of your own with sh in your workspace; pipes, redirections and loops work. A person must approve it first.',
    parameters: z.object({ script: z.string().min(1).max(20_000), cwd }),
    danger: 'runs any program',
    requires_approval: true,
    shell_arguments: ['script'],
    check: ({ cwd }, call) => programs.place(call, cwd),
    execute: ({ script, cwd }, call) =>
      inTurn(call.workspace, async () => {
        call.signal.throwIfAborted()
        refuseUnlessGated(svc)
        const { cwd: folder } = await programs.place(call, cwd)
        const request = { argv: ['sh', '-c', script] as const, cwd: folder, env: authorEnv(call.agent_id) }
        return programs.describeEnd(await programs.start(request, call), call)
      }),
  })
  return { name: 'shell', everyday: true, tools: [exec, ...(config.shell_full ? [script] : []), output, stop] }
}

/** Refuses shell scripts unless a person approves each one. */
function refuseUnlessGated({ config }: PluginHandle): void {
  if (config.get('approval.enabled') === true) return
  throw new CommandError({ problem: 'shell_script needs the approval of a person, and approval.enabled is off' })
}
