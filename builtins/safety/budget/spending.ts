import { InvalidInputError, operation, z } from '#kernel'
import { formatCount } from '#lib/format-count'
import { idAndName } from '#lib/id-and-name'
import { formatUsd } from '#lib/usd'
import { Instant, isoTime, Store, usdOf } from '#platform/store/contract'
import { spendBy } from './repository.ts'

/** Lengths of the buckets, in milliseconds. */
const BUCKETS = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const
/** Maximum number of buckets, to refuse requests such as a year in minutes. */
const MOST_BUCKETS = 2_000
const DEFAULT_BUCKETS = 24

const Spending = z
  .object({
    at: z.iso.datetime().describe('Start of the bucket'),
    by: z.string().nullable().describe('Agent, model or kind of call, or `others`; null for calls that belong to none'),
    name: z.string().nullable().describe('Current name of the agent; null for a deleted one and for all else'),
    cost_usd: z.number(),
    tokens: z.int(),
    calls: z.int(),
  })
  .meta({ id: 'Spending' })

/** Operation that shows spending over time. */
export const budgetSpending = operation({
  name: 'budget.spending',
  summary: 'Show spending over time',
  description: 'Spending per time bucket by agent, by model or by kind of call, oldest first.',
  input: z.object({
    bucket: z.enum(['minute', 'hour', 'day']).default('hour').describe('Length of the time buckets; days are UTC'),
    by: z.enum(['agent', 'model', 'kind']).default('agent').describe('The dimension to group by'),
    since: Instant.optional().describe(
      `Start of the period, such as 2026-01-31T18:00:00Z; ${DEFAULT_BUCKETS} buckets ago by default`,
    ),
    top: z
      .int()
      .min(1)
      .max(1000)
      .optional()
      .describe(
        'Maximum number of agents, models or kinds to list by name, highest spending first; the rest is `others`',
      ),
  }),
  output: z.array(Spending),
  http: { method: 'GET', path: '/spending' },
  cli: { usage: 'spending' },
  mcp: true,
  errors: [InvalidInputError],
  async run({ bucket, by, since, top }, { svc }) {
    const now = svc.clock.ms()
    const length = BUCKETS[bucket]
    const from = since === undefined ? now - DEFAULT_BUCKETS * length : Date.parse(since)
    if (now - from > MOST_BUCKETS * length) {
      const message = `is more than ${MOST_BUCKETS} buckets ago; take longer buckets or a later time`
      throw new InvalidInputError({ what: 'The request', issues: [{ path: 'since', message }] })
    }
    const rows = await spendBy(svc.use(Store), by, length, from, top)
    return rows.map(({ at, key, name, micros, tokens, calls }) => ({
      at: isoTime(at),
      by: key,
      name,
      tokens,
      calls,
      cost_usd: usdOf(micros),
    }))
  },
  render: rows =>
    rows
      .map(
        ({ at, by, name, cost_usd, tokens }) =>
          `${at}  ${formatUsd(cost_usd)}  ${formatCount(tokens)} tokens  ${by === null ? '' : idAndName({ agent_id: by, name })}`,
      )
      .join('\n') || 'nothing was spent',
})
