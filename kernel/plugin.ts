import type { z } from 'zod'
import type { PluginHandle } from './handle.ts'

export interface PluginDefinition<C extends z.ZodObject = z.ZodObject> {
  name: string
  description?: string
  version?: string
  /** The range of the public face that it was written for. */
  requires?: string
  /** Plugins that must be live before this one. */
  needs?: readonly string[]
  /** Its configuration; the values stand under `plugins.config.<name>`, for a builtin under `section`. */
  config?: C
  section?: string
  /** The shape of what `svc.handOver` gives to the next version of this plugin. What does not fit it is left behind. */
  state?: z.ZodType
  /** Declares what the plugin adds. Runs in every process; holds no resource. */
  setup(svc: PluginHandle, config: z.output<C>): void
}

/** Keeps the types of one plugin together: what a plugin file exports as its default. */
export function definePlugin<C extends z.ZodObject>(definition: PluginDefinition<C>): PluginDefinition {
  return definition as unknown as PluginDefinition
}
