import { z } from '#kernel'

/** Keys of section `tools` that configure the programs that agents run. */
export const SandboxConfig = z.object({
  sandbox: z
    .enum(['auto', 'required', 'off'])
    .default('auto')
    .describe(
      'When programs of agents run in bubblewrap: auto (if it works), required (always; without it nothing runs) or off (never)',
    ),
  sandbox_network: z.boolean().default(false).describe('Whether sandboxed programs of agents may use the network'),
  sandbox_read: z
    .array(z.string().startsWith('/'))
    .default([])
    .describe('Additional files and folders that sandboxed programs of agents may read, such as a toolchain'),
  process_cpu_seconds: z
    .int()
    .min(1)
    .default(60)
    .describe('Maximum processor time of one process of an agent, in seconds'),
  process_memory_mb: z
    .int()
    .min(16)
    .nullable()
    .default(null)
    .describe(
      "Maximum memory of one process of an agent, in MiB; null: half of the machine's memory, but at least 2048",
    ),
  process_file_mb: z
    .int()
    .min(1)
    .default(512)
    .describe('Maximum size of a file that a process of an agent writes, in MiB'),
})
export type SandboxConfig = z.infer<typeof SandboxConfig>
