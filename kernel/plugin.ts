import type { z } from 'zod'
import type { PluginHandle } from './handle.ts'

/** Services that a replacement of each module must provide, by name; modules add theirs by merging. */
// biome-ignore lint/suspicious/noEmptyInterface: modules merge into it.
export interface Replaceable {}

/** Services that a plugin which replaces this module returns from `setup`. */
export type ServicesOf<R> = R extends keyof Replaceable ? Replaceable[R] : void

export interface PluginDefinition<C extends z.ZodObject = z.ZodObject, R extends string = string> {
  name: string
  description?: string
  version?: string
  /** Range of versions of `svc` that it was written for. Informs readers; it is not checked. */
  requires?: string
  /** Plugins that must be live before this one. */
  needs?: readonly string[]
  /** Name of the module that it replaces. `setup` returns that module's services. */
  replaces?: R
  /** Whether it can be replaced only at a start, because others keep references to what it holds (the database, for example). */
  fixed?: boolean
  /** Schema of its configuration. Values are under `plugins.config.<name>`, those of a module under `section`. */
  config?: C
  section?: string
  /** Schema of the state that `svc.handOver` gives to the next version. State that does not match is dropped. */
  state?: z.ZodType
  /** Declares what the plugin adds. Runs in every process; holds no resource. */
  setup(svc: PluginHandle, config: z.output<C>): ServicesOf<R>
  /** Declares what stays when another plugin replaces this one, such as routes that call its services with `svc.use`. */
  base?(svc: PluginHandle, config: z.output<C>): void
}

/** Types a plugin definition, which a plugin file exports as its default. */
export function definePlugin<C extends z.ZodObject, R extends string = string>(
  definition: PluginDefinition<C, R>,
): PluginDefinition {
  return definition as unknown as PluginDefinition
}
