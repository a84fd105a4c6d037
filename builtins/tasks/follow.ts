import type { PluginHandle, StreamEvent } from '#kernel'
import { Store } from '../store/contract.ts'
import { SUPPRESSED } from './contract.ts'
import type { TaskDesk } from './desk.ts'
import { type TaskRow, textAfter } from './repository.ts'
import { endOf } from './shape.ts'

/** What a reader finds at its place. */
type Found = { text: string } | 'nothing yet' | { end: TaskRow }

/**
 * A task's stream, from a place in its text: in whatever process it runs, while it runs and afterwards. It reads when it is
 * asked for the next event, so a slow reader gets fewer and larger ones. Event ids are places: UTF-16 units from the
 * beginning.
 * @param after the id of the last event that the client has seen; the beginning without it
 * @param signal ends it without a last event; without one it goes on to the end
 * @throws TaskNotFoundError when the task is removed meanwhile
 */
export async function* followTask(
  svc: PluginHandle,
  desk: TaskDesk,
  task_id: string,
  after: string | undefined,
  signal: AbortSignal | undefined,
): AsyncGenerator<StreamEvent> {
  const row = await desk.find(task_id)
  let place = after !== undefined && /^\d{1,15}$/.test(after) ? Number(after) : 0
  if (row.text === 'suppressed' && after === undefined) yield { id: '0', event: 'info', data: SUPPRESSED }
  while (!signal?.aborted) {
    const live = desk.running(task_id)?.text
    if (live) {
      // A signal that is listened to once for the whole of it costs a reader nothing for each word.
      signal?.addEventListener('abort', live.wake)
      try {
        for (let text = live.after(place); text !== undefined && !signal?.aborted; text = live.after(place)) {
          if (text !== '') {
            place += text.length
            yield { id: String(place), event: 'token', data: { text } }
          } else if (live.over) break
          else await live.changed()
        }
      } finally {
        signal?.removeEventListener('abort', live.wake)
      }
      if (signal?.aborted) return
    }
    const found = await look(svc, desk, task_id, place, signal)
    if (found === 'nothing yet') continue
    if ('end' in found) {
      yield { id: String(place), ...endOf(found.end) }
      return
    }
    place += found.text.length
    yield { id: String(place), event: 'token', data: { text: found.text } }
  }
}

/** What the database knows, of one that does not run here or whose text is not in memory any more. */
async function look(
  svc: PluginHandle,
  desk: TaskDesk,
  task_id: string,
  place: number,
  signal: AbortSignal | undefined,
): Promise<Found> {
  // First the row, then the text: what ended before was written together with its last words.
  const row = await desk.find(task_id)
  const piece = await textAfter(svc.use(Store), task_id, place)
  if (piece) return { text: piece.text.slice(place - piece.until) }
  if (row.status !== 'running') return { end: row }
  await desk.elsewhere(row, signal)
  return 'nothing yet'
}
