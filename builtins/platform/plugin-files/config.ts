import { z } from '#kernel'

/** Names of disabled plugins, in the section `plugins`. */
export const DisabledPlugins = z.object({
  disabled: z.array(z.string()).default([]).describe('Names of disabled plugins, including builtins'),
})

/** Settings of plugin files, in the same section. */
export const PluginsConfig = z.object({
  enabled: z.boolean().default(true).meta({ env: 'SVC_PLUGINS' }).describe('Whether plugin files are loaded at all'),
  allowlist: z.array(z.string()).default([]).describe('File names or stems that may be loaded; empty allows all'),
  max_failures: z
    .int()
    .min(1)
    .default(5)
    .describe('Number of failures in a row after which the code of a plugin is suspended for a while'),
})
export type PluginsConfig = z.infer<typeof PluginsConfig>
