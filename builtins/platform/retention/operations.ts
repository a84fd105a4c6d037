import { operation, z } from '#kernel'
import { Retention, RetentionReport } from './contract.ts'

export const retentionRun = operation({
  name: 'retention.run',
  summary: 'Remove old records',
  description:
    'Removes data that is older than retention.days and no longer used, but nothing that is pending or active.',
  input: z.strictObject({ dry_run: z.boolean().default(false).describe('Only count what would be removed') }),
  output: RetentionReport,
  http: { method: 'POST', path: '/retention/run' },
  cli: { usage: 'retention run' },
  mcp: true,
  run: ({ dry_run }, { svc }) => svc.use(Retention).run({ dry_run }),
  render({ dry_run, before, rows, freed_bytes }) {
    const some = Object.entries(rows).filter(([, n]) => n > 0)
    const lines = some.map(([name, n]) => `${String(n).padStart(8)}  ${name.replaceAll('_', ' ')}`)
    const head = dry_run
      ? `would be removed or ended, from before ${before}:`
      : `removed or ended, from before ${before}:`
    const freed = freed_bytes > 0 ? [`${Math.round(freed_bytes / 1024)} KiB were freed`] : []
    return some.length > 0 ? [head, ...lines, ...freed].join('\n') : 'nothing is old enough'
  },
})

export const retentionOperations = [retentionRun]
