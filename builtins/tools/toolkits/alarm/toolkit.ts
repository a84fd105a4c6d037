import { type PluginHandle, z } from '#kernel'
import { Alarms } from '#platform/schedules/contract'
import { isoTime } from '#platform/store/contract'
import { type ToolCall, type Toolkit, tool } from '#tools/toolkits/contract'

const description = z.string().trim().min(1).max(500).describe('Message that you receive at that time')
const amount = (most: number) => z.coerce.number().min(0).max(most).default(0)

/** Tools for an agent's reminders. */
export function alarmToolkit(svc: PluginHandle): Toolkit {
  const set = async (call: ToolCall, text: string, at: number) => {
    const { agent_id } = call
    const { alarm_id, effects } = await svc.use(Alarms).make({ agent_id, description: text, at, created_by: 'agent' })
    for (const effect of effects) call.effect(effect)
    return `Set as ${alarm_id}: it goes off at ${isoTime(Math.round(at))}. It is ${isoTime(svc.clock.ms())} now.`
  }
  return {
    name: 'alarm',
    tools: [
      tool({
        name: 'set_alarm',
        description:
          'Set a reminder that goes off later, after a delay. Give hours, minutes or seconds; several of them add up.',
        parameters: z.object({
          description,
          hours: amount(876_000),
          minutes: amount(52_560_000),
          seconds: amount(3_153_600_000),
        }),
        execute({ description, hours, minutes, seconds }, call) {
          const after = ((hours * 60 + minutes) * 60 + seconds) * 1000
          if (after <= 0) throw new Error('say when: give hours, minutes or seconds, for instance minutes=10')
          return set(call, description, svc.clock.ms() + after)
        },
      }),
      tool({
        name: 'set_alarm_at',
        description: 'Set a reminder for a given time.',
        parameters: z.object({
          description,
          time: z
            .string()
            .min(1)
            .max(64)
            .describe('Time: 2026-01-31T18:00:00Z, 18:00 (its next occurrence), or "in 5 minutes"'),
        }),
        execute: async ({ description, time }, call) => set(call, description, await svc.use(Alarms).timeOf(time)),
      }),
      tool({
        name: 'list_alarms',
        description: 'List your pending alarms, the next one first.',
        parameters: z.object({}),
        read_only: true,
        async execute(_, { agent_id }) {
          const alarms = await svc.use(Alarms).list(agent_id)
          return (
            alarms.map(({ alarm_id, at, description }) => `${alarm_id}  ${at}  ${description}`).join('\n') ||
            '[You have no alarms.]'
          )
        },
      }),
      tool({
        name: 'cancel_alarm',
        description: 'Cancel one of your alarms.',
        parameters: z.object({
          alarm_id: z.string().min(1).max(128).describe('Id of the alarm, as list_alarms shows it'),
        }),
        idempotent: true,
        async execute({ alarm_id }, call) {
          for (const effect of await svc.use(Alarms).cancel(alarm_id, call.agent_id)) call.effect(effect)
          return `${alarm_id} is cancelled.`
        },
      }),
    ],
  }
}
