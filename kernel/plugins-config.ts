import { z } from 'zod'

/** The kernel's part of the section `plugins`. */
export const PluginsConfig = z.object({
  enabled: z.boolean().default(true).meta({ env: 'SVC_PLUGINS' }).describe('Whether plugin files are loaded at all'),
  allowlist: z.array(z.string()).default([]).describe('File names or stems that may be loaded; empty allows all'),
  disabled: z.array(z.string()).default([]).describe('Plugins, builtins too, that are switched off by name'),
  max_failures: z.int().min(1).default(5).describe('So many failures in a row suspend code of a plugin for a while'),
})
export type PluginsConfig = z.infer<typeof PluginsConfig>
