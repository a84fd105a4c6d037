import { z } from '#kernel'

export const ShellConfig = z.object({
  shell_allow_dev_commands: z
    .boolean()
    .default(false)
    .describe('Whether shell_exec also runs compilers, interpreters, git and the like where there is no sandbox'),
  shell_sandboxed_programs: z
    .boolean()
    .default(true)
    .describe('Whether shell_exec runs any program where there is a sandbox: interpreters, compilers, tests'),
  shell_full: z
    .boolean()
    .default(false)
    .describe('Whether there is also shell_script, a whole shell; each script waits for approval'),
  shell_pass_env: z
    .boolean()
    .default(false)
    .describe('Whether commands get our environment, but for what is secret, and not only a few variables of it'),
  shell_timeout: z.number().positive().max(3600).default(30).describe('Seconds that a command may take'),
})
export type ShellConfig = z.infer<typeof ShellConfig>
