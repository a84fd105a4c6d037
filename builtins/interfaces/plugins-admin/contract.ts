import { z } from '#kernel'

export { mayPluginsAdd } from './may-add.ts'

export const Plugin = z.object({
  name: z.string().meta({ examples: ['office-hours'] }),
  state: z
    .enum(['live', 'suspended', 'failed', 'disabled', 'unloaded', 'replaced'])
    .describe(
      '`live` with an error: an older version keeps running, because the newest could not replace it; `unloaded`: no plugin file may run in this process, and the error says why',
    ),
  origin: z.string().describe('`builtin`, `code`, or the file that it was loaded from'),
  version: z.string(),
  description: z.string(),
  registered: z.array(z.string()).describe('Current registrations of the plugin, oldest first'),
  error: z.string().nullable().describe('Why it failed: file, line and message'),
  calls: z.int().describe('Number of calls of its code since it went live'),
  failures: z.int().describe('Number of these calls that failed'),
  last_failure: z.string().nullable().describe('Latest of these failures: file, line and message'),
  load_ms: z.number().describe('Time that loading the plugin file took, in milliseconds'),
  swaps: z.int().describe('Number of times that the plugin was replaced in this process'),
  swap_ms: z.number().nullable().describe('Duration of the latest replacement, in milliseconds'),
  swapped_at: z.string().nullable().describe('Time of the latest replacement'),
})
export type Plugin = z.infer<typeof Plugin>

export const ApplyResult = z.object({
  plugin: z.string(),
  origin: z.string(),
  outcome: z.enum(['loaded', 'reloaded', 'removed', 'failed', 'rolled_back']),
  error: z.string().nullable(),
})
export type ApplyResult = z.infer<typeof ApplyResult>
