import type { z } from 'zod'
import type { PluginHandle } from './handle.ts'

/** What must be provided in place of each module, by the names of its services; modules add theirs by merging. */
// biome-ignore lint/suspicious/noEmptyInterface: modules merge into it.
export interface Replaceable {}

/** The services that a plugin returns from `setup` which takes the place of this module. */
export type ServicesOf<R> = R extends keyof Replaceable ? Replaceable[R] : void

export interface PluginDefinition<C extends z.ZodObject = z.ZodObject, R extends string = string> {
  name: string
  description?: string
  version?: string
  /** The range of the public face that it was written for. */
  requires?: string
  /** Plugins that must be live before this one. */
  needs?: readonly string[]
  /** The module whose place it takes, under that one's name and before what needs it. `setup` returns that one's services. */
  replaces?: R
  /** Others keep what it holds, such as the database: it is replaced at a start only. */
  fixed?: boolean
  /** Its configuration; the values stand under `plugins.config.<name>`, for a builtin under `section`. */
  config?: C
  section?: string
  /** The shape of what `svc.handOver` gives to the next version of this plugin. What does not fit it is left behind. */
  state?: z.ZodType
  /** Declares what the plugin adds. Runs in every process; holds no resource. */
  setup(svc: PluginHandle, config: z.output<C>): ServicesOf<R>
  /** Declares what stays when another plugin takes its place: all that reaches its services by `svc.use`, such as routes. */
  base?(svc: PluginHandle, config: z.output<C>): void
}

/** Keeps the types of one plugin together: what a plugin file exports as its default. */
export function definePlugin<C extends z.ZodObject, R extends string = string>(
  definition: PluginDefinition<C, R>,
): PluginDefinition {
  return definition as unknown as PluginDefinition
}
