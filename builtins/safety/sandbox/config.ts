import { z } from '#kernel'

/** Keys of section `tools` that configure the programs that agents run. */
export const SandboxConfig = z.object({
  sandbox: z
    .enum(['auto', 'required', 'off'])
    .default('auto')
    .describe('bubblewrap around the programs of agents: where it works, always (nothing runs without), or never'),
  sandbox_network: z.boolean().default(false).describe('Whether programs of agents reach the network from inside'),
  sandbox_read: z
    .array(z.string().startsWith('/'))
    .default([])
    .describe('Further files and folders that programs of agents may read inside, such as an own toolchain'),
  process_cpu_seconds: z.number().int().min(1).default(60).describe('Processor time of one process of an agent'),
  process_memory_mb: z.number().int().min(16).default(2048).describe('Memory of one process of an agent'),
  process_file_mb: z.number().int().min(1).default(512).describe('Largest file that a process of an agent writes'),
})
export type SandboxConfig = z.infer<typeof SandboxConfig>
