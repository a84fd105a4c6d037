import { InvalidInputError, operation, z } from '#kernel'
import { Instant, Store } from '#platform/store/contract'
import { renderSummary } from './render.ts'
import { Summary } from './schema.ts'
import { summarize } from './summarize.ts'

const HOUR_MS = 3_600_000

export const summaryShow = operation({
  name: 'summary.show',
  summary: 'Show what happened while you were away',
  description:
    'Goals that ended with their results, what waits for you now, what the agents cost, and failures. Covers the last 24 hours by default.',
  input: z.object({
    hours: z.number().positive().max(8760).default(24).describe('Length of the period until now, in hours'),
    since: Instant.optional().describe(
      'Start of the period, such as 2026-01-31T18:00:00Z; takes precedence over hours',
    ),
    limit: z.int().min(0).max(100).default(5).describe('Maximum number of goals of each agent (0 to 100)'),
    top: z
      .int()
      .min(1)
      .max(100)
      .optional()
      .describe(
        'Maximum number of goals of all agents (1 to 100), abandoned and unconfirmed ones first; replaces limit',
      ),
  }),
  output: Summary,
  http: { method: 'GET', path: '/summary' },
  cli: { usage: 'summary', short: { limit: 'n' } },
  mcp: true,
  errors: [InvalidInputError],
  run: ({ hours, since, limit, top }, { svc }) =>
    summarize(svc.use(Store), svc.clock, since === undefined ? svc.clock.ms() - hours * HOUR_MS : Date.parse(since), {
      limit,
      top,
    }),
  render: renderSummary,
})
