import { useState } from 'preact/hooks'
import { useAction } from '../../api/action.ts'
import { api } from '../../api/client.ts'
import { ActionForm } from '../../ui/action-form.tsx'

interface AddProps {
  id: string
  onAdded: () => Promise<void>
}

const RHYTHMS = {
  cron: 'At calendar times (cron)',
  every: 'Every N minutes',
  cycles: 'Every N cycles',
} as const
type Rhythm = keyof typeof RHYTHMS

/** Form for a recurring goal. */
export function AddSchedule({ id, onAdded }: AddProps) {
  const [rhythm, setRhythm] = useState<Rhythm>('cron')
  const add = useAction(async (element: HTMLFormElement) => {
    const form = new FormData(element)
    const often = String(form.get('often'))
    await api.schedules.add({
      id,
      objective: String(form.get('objective')),
      priority: Number(form.get('priority')),
      ...(rhythm === 'cron'
        ? { cron: often, time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone }
        : rhythm === 'every'
          ? { every: Number(often) * 60 }
          : { every_n_cycles: Number(often) }),
    })
    element.reset()
    await onAdded()
  }, 'Schedule added.')
  return (
    <details class="card">
      <summary>Recurring goal</summary>
      <ActionForm action={add} submit="Schedule" onSubmit={add.run}>
        <label>
          Objective of each run
          <textarea name="objective" rows={2} required maxLength={4000} />
        </label>
        <div class="fields">
          <label>
            Repeat
            <select value={rhythm} onChange={event => setRhythm(event.currentTarget.value as Rhythm)}>
              {Object.entries(RHYTHMS).map(([key, name]) => (
                <option key={key} value={key}>
                  {name}
                </option>
              ))}
            </select>
          </label>
          {rhythm === 'cron' ? (
            <label>
              Cron expression (minute, hour, day, month, weekday)
              <input key="cron" name="often" required placeholder="0 9 * * 1-5" />
            </label>
          ) : (
            <label>
              {rhythm === 'every' ? 'Minutes' : 'Cycles'}
              <input
                key={rhythm}
                name="often"
                type="number"
                min="1"
                max={rhythm === 'every' ? 525600 : 1000000}
                required
              />
            </label>
          )}
          <label>
            Priority (1 to 10)
            <input name="priority" type="number" min="1" max="10" defaultValue="4" required />
          </label>
        </div>
      </ActionForm>
    </details>
  )
}

/** Form for an alarm. */
export function AddAlarm({ id, onAdded }: AddProps) {
  const add = useAction(async (element: HTMLFormElement) => {
    const form = new FormData(element)
    // A time without an offset is in the reader's time zone.
    const at = new Date(String(form.get('at'))).toISOString()
    await api.alarms.set({ id, at, description: String(form.get('description')) })
    element.reset()
    await onAdded()
  }, 'Alarm set.')
  return (
    <details class="card">
      <summary>Set an alarm</summary>
      <ActionForm action={add} submit="Set alarm" onSubmit={add.run}>
        <div class="fields">
          <label>
            Message
            <input name="description" required maxLength={500} />
          </label>
          <label>
            Time
            <input name="at" type="datetime-local" required />
          </label>
        </div>
      </ActionForm>
    </details>
  )
}
