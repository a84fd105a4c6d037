import type { CliProgram, Context } from '../../context.ts'

/** The same context, whose processes apply changes of plugin files as soon as they are saved. */
export function inDevelopment(context: Context): Context {
  const { program } = context
  const open: CliProgram['open'] = options => program.open({ ...options, dev: true })
  return { ...context, program: { ...program, open } }
}
