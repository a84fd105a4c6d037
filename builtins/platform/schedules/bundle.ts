import type { BundlePart } from '#core/checkpoints/contract'
import { Acceptance } from '#core/goals/contract'
import { type Effect, type PluginHandle, z } from '#kernel'
import type { AlarmBook } from './alarms.ts'
import type { ScheduleBook } from './schedules.ts'

const MAX_ENTRIES = 1_000
const text = z.string().min(1).max(4_000)

const Packed = z.strictObject({
  objective: text,
  every_n_cycles: z.int().min(1).nullable(),
  every: z.number().min(1).max(31_536_000).nullable().describe('Interval in seconds'),
  cron: z.string().max(200).nullable(),
  time_zone: z.string().max(100).nullable(),
  priority: z.int().min(-1000).max(1000),
  missed: z.enum(['once', 'skip']).nullable(),
  acceptance: z.array(Acceptance).max(20).default([]),
})
const PackedSchedules = z.array(Packed).max(MAX_ENTRIES)
const PackedAlarms = z.array(z.strictObject({ description: text, at: z.iso.datetime() })).max(MAX_ENTRIES)

/** Enabled schedules in a bundle; they count from the beginning of the new agent. */
export function schedulesBundle(schedules: ScheduleBook): BundlePart {
  const part: BundlePart<z.infer<typeof PackedSchedules>> = {
    name: 'schedules',
    schema: PackedSchedules,
    async pack(agent_id) {
      const all = (await schedules.list(agent_id, false)).slice(0, MAX_ENTRIES)
      const packed = all.map(({ objective, every_n_cycles, every, cron, time_zone, priority, missed, acceptance }) => ({
        objective,
        every_n_cycles,
        every,
        cron,
        time_zone,
        priority,
        missed,
        acceptance,
      }))
      return packed.length > 0 ? packed : undefined
    },
    async unpack(agent_id, packed) {
      const effects: Effect[] = []
      for (const { objective, priority, acceptance, ...each } of packed) {
        const timing = {
          every_n_cycles: each.every_n_cycles ?? undefined,
          every: each.every ?? undefined,
          cron: each.cron ?? undefined,
          time_zone: each.time_zone ?? undefined,
          missed: each.missed ?? undefined,
        }
        const made = await schedules.make({
          agent_id,
          objective,
          priority,
          acceptance,
          ...timing,
          created_by: 'operator',
        })
        effects.push(...made.effects)
      }
      return { effects }
    },
  }
  return part as BundlePart
}

/** Pending alarms in a bundle. One that is overdue at the import fires at once. */
export function alarmsBundle(svc: PluginHandle, alarms: AlarmBook): BundlePart {
  const part: BundlePart<z.infer<typeof PackedAlarms>> = {
    name: 'alarms',
    schema: PackedAlarms,
    async pack(agent_id) {
      const all = (await alarms.list(agent_id)).slice(0, MAX_ENTRIES)
      return all.length > 0 ? all.map(({ description, at }) => ({ description, at })) : undefined
    },
    async unpack(agent_id, packed) {
      const effects: Effect[] = []
      for (const { description, at } of packed) {
        const time = Math.max(Date.parse(at), svc.clock.ms() + 1000)
        effects.push(...(await alarms.make({ agent_id, description, at: time, created_by: 'operator' })).effects)
      }
      return { effects }
    },
  }
  return part as BundlePart
}
