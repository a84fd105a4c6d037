import { useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { ofAgent, useQuery } from '../../api/query.ts'
import { to } from '../../routes.ts'
import { Card } from '../../ui/card.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import { RowButton } from '../../ui/lists/row-button.tsx'
import { Table } from '../../ui/lists/table.tsx'
import { Empty, Loaded, Trouble } from '../../ui/states.tsx'
import { Tag } from '../../ui/status.tsx'
import { duration, moment, plural, visible } from '../../ui/text/format.ts'
import { When } from '../../ui/time.tsx'
import type { Item } from '../../ui/types.ts'
import type { ViewProps } from './view.ts'
import { AddAlarm, AddSchedule } from './when-forms.tsx'

type Schedule = Item<'schedules.list'>

/** Recurring goals, and alarms. */
export function Schedules({ agent: { agent_id: id } }: ViewProps) {
  const schedules = useQuery(`schedules ${id}`, { ask: () => api.schedules.list({ id }), on: ofAgent(id) })
  const alarms = useQuery(`alarms ${id}`, { ask: () => api.alarms.list({ id }), on: ofAgent(id) })
  return (
    <div class="stack">
      <AddSchedule id={id} onAdded={schedules.reload} />
      <Loaded query={schedules}>
        {all =>
          all.length === 0 ? (
            <Empty title="No schedules.">
              A schedule gives the agent a goal at calendar times, or every few minutes or cycles.
            </Empty>
          ) : (
            <All schedules={all} onChanged={schedules.reload} />
          )
        }
      </Loaded>
      <AddAlarm id={id} onAdded={alarms.reload} />
      <Loaded query={alarms}>
        {all =>
          all.length === 0 ? (
            <Empty title="No alarms.">An alarm sends the agent a message once, at a set time.</Empty>
          ) : (
            <Alarms alarms={all} onChanged={alarms.reload} />
          )
        }
      </Loaded>
    </div>
  )
}

interface AllProps {
  schedules: readonly Schedule[]
  onChanged: () => Promise<void>
}

function All({ schedules, onChanged }: AllProps) {
  const turn = useAction(async (schedule_id: string, enabled: boolean) => {
    await api.schedules.update({ schedule_id, enabled })
    await onChanged()
  })
  const [removing, setRemoving] = useState<Schedule | undefined>(undefined)
  return (
    <Card title={plural(schedules.length, 'schedule')}>
      <Trouble fault={turn.fault} />
      <Table
        caption="Schedules"
        rows={schedules}
        keyOf={({ schedule_id }) => schedule_id}
        columns={[
          {
            name: 'Objective',
            kind: 'grow',
            cell: ({ objective, agent_id, last_goal_id }) =>
              last_goal_id ? (
                <a class="clamp" href={to('agents', [agent_id, 'goals', last_goal_id])}>
                  {visible(objective)}
                </a>
              ) : (
                <span class="clamp">{visible(objective)}</span>
              ),
          },
          { name: 'Interval', kind: 'narrow', cell: schedule => visible(rhythmOf(schedule)) },
          { name: 'Next run', kind: 'narrow', labelled: true, cell: schedule => <Next schedule={schedule} /> },
          { name: 'Runs', kind: 'number', wide: true, cell: ({ fired }) => `${fired}×` },
          {
            name: 'Created by',
            kind: 'narrow',
            wide: true,
            cell: ({ created_by }) => <Tag>{visible(created_by)}</Tag>,
          },
          {
            name: 'Action',
            kind: 'narrow',
            cell: schedule => {
              const { schedule_id, objective, enabled } = schedule
              return (
                <div class="row actions">
                  <RowButton
                    of={objective}
                    disabled={turn.running}
                    onClick={() => void turn.run(schedule_id, !enabled)}
                  >
                    {enabled ? 'Disable' : 'Enable'}
                  </RowButton>
                  <RowButton of={objective} danger onClick={() => setRemoving(schedule)}>
                    Remove…
                  </RowButton>
                </div>
              )
            },
          },
        ]}
      />
      {removing && <Remove schedule={removing} onDone={onChanged} onClose={() => setRemoving(undefined)} />}
    </Card>
  )
}

interface RemoveProps {
  schedule: Schedule
  onDone: () => Promise<void>
  onClose: () => void
}

function Remove({ schedule: { schedule_id, objective }, onDone, onClose }: RemoveProps) {
  const remove = useAction(async () => {
    await api.schedules.remove({ schedule_id })
    await onDone()
  }, 'Schedule removed.')
  return (
    <Confirm title="Remove this schedule?" label="Remove" action={remove} onClose={onClose}>
      <p class="words">{visible(objective)}</p>
      <p>The schedule is permanently removed. Goals that it has started go on.</p>
    </Confirm>
  )
}

function rhythmOf({ every_n_cycles, every, cron, time_zone }: Schedule): string {
  if (cron !== null) return time_zone ? `${cron} (${time_zone})` : cron
  if (every !== null) return `every ${duration(every * 1000)}`
  return `every ${plural(every_n_cycles ?? 1, 'cycle')}`
}

function Next({ schedule: { enabled, held_by, next_at, next_cycle } }: { schedule: Schedule }) {
  if (!enabled) return <Tag>disabled</Tag>
  if (held_by) return <span class="held">{visible(held_by)}</span>
  return <When at={next_at} none={next_cycle === null ? '–' : `cycle ${next_cycle}`} />
}

interface AlarmsProps {
  alarms: readonly Item<'alarms.list'>[]
  onChanged: () => Promise<void>
}

function Alarms({ alarms, onChanged }: AlarmsProps) {
  const cancel = useAction(async (alarm_id: string) => {
    await api.alarms.cancel({ alarm_id })
    await onChanged()
  }, 'Alarm cancelled.')
  return (
    <Card title={plural(alarms.length, 'alarm')}>
      <Trouble fault={cancel.fault} />
      <Table
        caption="Alarms"
        rows={alarms}
        keyOf={({ alarm_id }) => alarm_id}
        columns={[
          {
            name: 'Message',
            kind: 'grow',
            cell: ({ description }) => <span class="clamp">{visible(description)}</span>,
          },
          { name: 'Time', cell: ({ at }) => moment(at) },
          { name: 'Due', kind: 'narrow', cell: ({ at }) => <When at={at} /> },
          {
            name: 'Created by',
            kind: 'narrow',
            wide: true,
            cell: ({ created_by }) => <Tag>{visible(created_by)}</Tag>,
          },
          {
            name: 'Action',
            kind: 'narrow',
            cell: ({ alarm_id, description }) => (
              <RowButton of={description} danger disabled={cancel.running} onClick={() => void cancel.run(alarm_id)}>
                Cancel
              </RowButton>
            ),
          },
        ]}
      />
    </Card>
  )
}
