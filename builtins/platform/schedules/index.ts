import { BundleParts } from '#core/checkpoints/contract'
import { PendingMessages, PromptSections } from '#core/goals/contract'
import { definePlugin } from '#kernel'
import { currentService } from '#lib/current-service'
import { withEarlierNames } from '#lib/earlier-names'
import type { Cycle } from '#platform/heartbeat/contract'
import { Effects, Store } from '#platform/store/contract'
import { Reminders } from '#tools/toolkits/shell/contract'
import { ALARM_EFFECTS } from './alarm-repository.ts'
import { AlarmBook, alarmMessages, OwnAlarms } from './alarms.ts'
import { alarmsBundle, schedulesBundle } from './bundle.ts'
import { SchedulesConfig } from './config.ts'
import {
  AlarmChanged,
  AlarmFired,
  Alarms,
  ScheduleChanged,
  ScheduleFired,
  ScheduleSkipped,
  Schedules,
} from './contract.ts'
import { alarmOperations, scheduleOperations } from './operations.ts'
import { agentsDueByCycle, SCHEDULE_EFFECTS } from './repository.ts'
import { schedulesForget } from './retention.ts'
import { OwnSchedules, ScheduleBook } from './schedules.ts'
import { schedulesSection } from './section.ts'
import { settleCycles } from './slots.ts'
import { scheduleWakeSource } from './wake-source.ts'

export default definePlugin({
  name: 'schedules',
  description: 'Recurring goals by cycle, interval or cron expression, and alarms that message an agent.',
  needs: ['store', 'agents', 'goals'],
  section: 'schedules',
  config: SchedulesConfig,
  setup(svc, config) {
    const schedules = new ScheduleBook(svc, config)
    const alarms = new AlarmBook(svc, config)
    svc.provide(Schedules, withEarlierNames(schedules, { made: 'make', cancelled: 'cancel' }))
    svc.provide(Alarms, withEarlierNames(alarms, { made: 'make', cancelled: 'cancel' }))
    svc.provide(Reminders, alarms)
    for (const effect of [...SCHEDULE_EFFECTS, ...ALARM_EFFECTS]) svc.add(Effects, effect.kind)
    svc.provide(OwnSchedules, currentService(svc, Schedules, schedules))
    svc.provide(OwnAlarms, currentService(svc, Alarms, alarms))
    for (const operation of [...scheduleOperations, ...alarmOperations]) svc.operation(operation)
    schedulesForget(svc)
    svc.add(BundleParts, schedulesBundle(schedules))
    svc.add(BundleParts, alarmsBundle(svc, alarms))
    svc.event('schedule_fired', ScheduleFired)
    svc.event('schedule_skipped', ScheduleSkipped)
    svc.event('schedule_changed', ScheduleChanged)
    svc.event('alarm_fired', AlarmFired)
    svc.event('alarm_changed', AlarmChanged)

    svc.add(PromptSections, schedulesSection(schedules))
    svc.add(PendingMessages, alarmMessages(svc))
    const hasWork = () => agentsDueByCycle(svc.use(Store))
    svc.tap('context_assembly', { name: 'schedules', stage: -10, hasWork }, (cycle: Cycle) => settleCycles(svc, cycle))
    const wakeSource = scheduleWakeSource(svc, config)
    svc.wakeSource(wakeSource)
    svc.on('schedule_changed', () => wakeSource.checkNow())
    svc.on('alarm_changed', () => wakeSource.checkNow())
  },
})
