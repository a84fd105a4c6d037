import { z } from '#kernel'

/** Status report of the daemon. */
export const DaemonStatus = z.object({
  running: z.boolean(),
  health: z
    .enum(['healthy', 'stalled', 'dead', 'stopped'])
    .describe(
      'stalled: the process is alive, but its loop fails or has had no tick for 10 s; dead: the process ended unexpectedly',
    ),
  problem: z
    .string()
    .nullable()
    .describe('Why the loop fails: the error if the daemon itself is asked, otherwise a reference to its log'),
  pid: z.int().nullable(),
  started_at: z.iso.datetime().nullable(),
  uptime_s: z.number().nullable(),
  last_tick_at: z.iso.datetime().nullable().describe('Time of the last tick of the loop'),
  last_tick_age_s: z.number().nullable(),
  joined: z
    .array(
      z.object({
        pid: z.int(),
        health: z.enum(['healthy', 'stalled']),
        started_at: z.iso.datetime(),
        last_tick_age_s: z.number(),
      }),
    )
    .describe('Other processes that run the same agents, started with svc start --join'),
  heartbeat_s: z.number().describe("Seconds between an agent's cycles"),
  frozen: z.boolean().describe('Whether the operator has frozen the daemon: no cycle enters a phase'),
  frozen_since: z.iso.datetime().nullable(),
  in_flight: z.int().describe('Number of cycles that run now'),
  agents: z.record(z.string(), z.int()).describe('Number of agents in each status'),
  problems: z.array(z.string()).describe('Problems that modules report, such as suspended MCP servers'),
  budget: z.string().nullable().describe('Budget status, as a sentence'),
})
export type DaemonStatus = z.infer<typeof DaemonStatus>
