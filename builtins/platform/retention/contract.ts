import { point, token, z } from '#kernel'

export { type AgedRows, addRetentionRule, type RetentionRule, RetentionRules } from './rules.ts'

/** A reader of the event log, and the `seq` up to which it has read. Later events are kept for it. */
export interface EventReader {
  name: string
  seq(): Promise<number>
}
export const EventReaders = point<EventReader>('event_readers', {
  key: reader => reader.name,
  has: { name: 'text', seq: 'function' },
})

export const RetentionReport = z.object({
  dry_run: z.boolean(),
  before: z.iso.datetime().describe('Cutoff time; only data older than this is affected'),
  rows: z.record(z.string(), z.int()).describe('Number of items removed or ended, by kind'),
  total: z.int(),
  freed_bytes: z.int().describe('Bytes by which the database file shrank'),
  duration_ms: z.int(),
})
export type RetentionReport = z.infer<typeof RetentionReport>

export interface Retention {
  /** Applies all rules once, and then throws the first error of a rule. A second call meanwhile waits for the first. */
  run(options?: { dry_run?: boolean }): Promise<RetentionReport>
}
export const Retention = token<Retention>('retention', { run: 'function' })

declare module '#kernel' {
  interface Replaceable {
    retention: { retention: Retention }
  }
  interface Events {
    /** Emitted after old data was removed. */
    retention_done: Omit<RetentionReport, 'dry_run'>
  }
}
