import { z } from '#kernel'

export const ShellConfig = z.object({
  shell_allow_dev_commands: z
    .boolean()
    .default(false)
    .describe(
      'Whether shell_exec also runs compilers, interpreters, git and similar programs where there is no sandbox',
    ),
  shell_sandboxed_programs: z
    .boolean()
    .default(true)
    .describe(
      'Whether shell_exec runs any program where there is a sandbox, such as interpreters, compilers and tests',
    ),
  shell_full: z
    .boolean()
    .default(false)
    .describe('Whether to offer shell_script, which runs a script in a full shell; each script needs approval'),
  shell_pass_env: z
    .boolean()
    .default(false)
    .describe('Whether commands get the environment of svc without its secrets, instead of only a few variables'),
  shell_timeout: z.number().positive().max(3600).default(30).describe('Time limit of a command, in seconds'),
})
export type ShellConfig = z.infer<typeof ShellConfig>
