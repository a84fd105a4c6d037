import { z } from '#kernel'

/** Status report of the daemon. */
export const DaemonStatus = z.object({
  running: z.boolean(),
  health: z
    .enum(['healthy', 'stalled', 'dead', 'stopped'])
    .describe('stalled: alive, but its loop fails, or has not moved for 10 s; dead: it ended without saying so'),
  problem: z.string().nullable().describe('Why its loop fails: in its own words where it is the daemon that is asked'),
  pid: z.number().int().nullable(),
  started_at: z.iso.datetime().nullable(),
  uptime_s: z.number().nullable(),
  last_tick_at: z.iso.datetime().nullable().describe('When its loop last came round'),
  last_tick_age_s: z.number().nullable(),
  joined: z
    .array(
      z.object({
        pid: z.number().int(),
        health: z.enum(['healthy', 'stalled']),
        started_at: z.iso.datetime(),
        last_tick_age_s: z.number(),
      }),
    )
    .describe('Further processes that drive the same agents, begun with svc start --join'),
  heartbeat_s: z.number().describe("Seconds between an agent's cycles"),
  frozen: z.boolean().describe('The operator has frozen it: no cycle enters a phase'),
  frozen_since: z.iso.datetime().nullable(),
  in_flight: z.number().int().describe('Cycles that run now'),
  agents: z.record(z.string(), z.number().int()).describe('How many agents have each status'),
  budget: z.string().nullable().describe('What is spent, in a sentence'),
})
export type DaemonStatus = z.infer<typeof DaemonStatus>
