import type { Context, House } from '../context.ts'

/** The same context, whose processes apply changes of plugin files as soon as they are saved. */
export function inDevelopment(context: Context): Context {
  const { house } = context
  const open: House['open'] = options => house.open({ ...options, dev: true })
  return { ...context, house: { ...house, open } }
}
