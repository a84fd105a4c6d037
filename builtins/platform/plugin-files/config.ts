import { z } from '#kernel'

/** Names of disabled plugins, in the section `plugins`. */
export const DisabledPlugins = z.object({
  disabled: z.array(z.string()).default([]).describe('Plugins, builtins too, that are switched off by name'),
})

/** Settings of plugin files, in the same section. */
export const PluginsConfig = z.object({
  enabled: z.boolean().default(true).meta({ env: 'SVC_PLUGINS' }).describe('Whether plugin files are loaded at all'),
  allowlist: z.array(z.string()).default([]).describe('File names or stems that may be loaded; empty allows all'),
  max_failures: z.int().min(1).default(5).describe('Failures in a row that suspend code of a plugin for a while'),
})
export type PluginsConfig = z.infer<typeof PluginsConfig>
