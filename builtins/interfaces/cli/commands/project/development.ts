import type { CliProgram, Context } from '../../context.ts'

/** Returns the context with development mode on: its processes apply changes of plugin files when these are saved. */
export function inDevelopment(context: Context): Context {
  const { program } = context
  const open: CliProgram['open'] = options => program.open({ ...options, dev: true })
  return { ...context, program: { ...program, open } }
}
